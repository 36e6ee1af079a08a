//! A simulation that a claim needs.

use std::collections::BTreeSet;
use std::fmt::Display;

use wiremend_scenario::Override;

use wiremend_report::quoted;

/// One variant of a scenario of the library, with one seed. Two claims that ask for the same run share it.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    scenario: &'static str,
    variant: Option<String>,
    sets: Vec<Override>,
    seed: Option<u64>,
    seconds: f64,
}

impl Run {
    /// A run of a scenario of the library, without changes.
    pub(crate) fn of(scenario: &'static str) -> Self {
        Self { scenario, variant: None, sets: Vec::new(), seed: None, seconds: 1.0 }
    }

    /// The same of this variant, instead of the first.
    pub(crate) fn variant(self, name: impl Into<String>) -> Self {
        Self { variant: Some(name.into()), ..self }
    }

    /// The same with a value changed.
    pub(crate) fn set(mut self, path: &str, value: impl Display) -> Self {
        self.sets.push(Override { path: path.to_owned(), value: value.to_string() });
        self
    }

    /// The same from another seed than the scenario's.
    pub(crate) fn seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// About how long it takes on one core, optimised: long runs start first.
    pub(crate) fn seconds(self, seconds: f64) -> Self {
        Self { seconds, ..self }
    }

    pub(crate) fn scenario(&self) -> &'static str {
        self.scenario
    }

    pub(crate) fn wanted_variant(&self) -> Option<&str> {
        self.variant.as_deref()
    }

    pub(crate) fn wanted_seed(&self) -> Option<u64> {
        self.seed
    }

    pub(crate) fn expected_s(&self) -> f64 {
        self.seconds
    }

    /// Its own changes, and then those of the user, which win.
    pub(crate) fn sets(&self, user: &[Override]) -> Vec<Override> {
        [self.sets.as_slice(), user].concat()
    }

    /// The command that runs it: what tells it from every other.
    pub(crate) fn command(&self, user: &[Override]) -> String {
        let mut words = vec!["wiremend run".to_owned(), quoted(self.scenario)];
        words.extend(self.variant.iter().map(|name| format!("--variant {}", quoted(name))));
        let set = |set: Override| format!("--set {}", quoted(&format!("{}={}", set.path, set.value)));
        words.extend(self.sets(user).into_iter().map(set));
        words.extend(self.seed.map(|seed| format!("--seed {seed}")));
        words.join(" ")
    }
}

/// The commands that run all of these, each once: runs which differ only in seeds that follow each other have one command.
pub(crate) fn commands(runs: &[Run], user: &[Override]) -> Vec<String> {
    let mut series: Vec<(String, BTreeSet<Option<u64>>)> = Vec::new();
    for run in runs {
        let command = Run { seed: None, ..run.clone() }.command(user);
        let place = series.iter().position(|(known, _)| *known == command).unwrap_or_else(|| {
            series.push((command, BTreeSet::new()));
            series.len() - 1
        });
        series[place].1.insert(run.seed);
    }
    let told = |(command, seeds): &(String, BTreeSet<Option<u64>>)| {
        let own = seeds.contains(&None).then(|| command.clone());
        let seeds: Vec<_> = seeds.iter().copied().flatten().collect();
        let ranges = seeds.chunk_by(|seed, next| seed + 1 == *next);
        let range = |seeds: &[u64]| match seeds {
            [seed] => format!("{command} --seed {seed}"),
            seeds => format!("{command} --seed {} --seeds {}", seeds[0], seeds.len()),
        };
        own.into_iter().chain(ranges.map(range)).collect::<Vec<_>>()
    };
    series.iter().flat_map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_by_its_command_and_not_by_its_cost() {
        let run = Run::of("claims/livelock").variant("go-back-0 READ").set("stop.after", "30ms").seed(7);
        let user = ["topology.rate=10Gbps".parse().unwrap()];
        assert_eq!(
            run.command(&user),
            "wiremend run claims/livelock --variant 'go-back-0 READ' --set stop.after=30ms --set topology.rate=10Gbps \
             --seed 7"
        );
        assert_eq!(run.clone().seconds(90.0).command(&[]), run.command(&[]));
    }

    #[test]
    fn seeds_that_follow_each_other_are_one_command() {
        let run = |seed| Run::of("nak").seed(seed);
        let runs = [run(2), Run::of("tour"), run(1), run(7), run(3), run(2), Run::of("nak"), Run::of("tour")];
        assert_eq!(
            commands(&runs, &[]),
            [
                "wiremend run nak",
                "wiremend run nak --seed 1 --seeds 3",
                "wiremend run nak --seed 7",
                "wiremend run tour"
            ]
        );
    }
}
