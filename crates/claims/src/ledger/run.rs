//! A simulation that a claim needs.

use std::collections::BTreeSet;
use std::fmt::Display;

use wiremend_scenario::Override;

use wiremend_report::shell_quoted;

/// One variant of a built-in scenario with one seed. Claims that need the same run share it.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    scenario: &'static str,
    variant: Option<String>,
    sets: Vec<Override>,
    seed: Option<u64>,
    seconds: f64,
    traced: bool,
}

impl Run {
    /// A run of the first variant of a built-in scenario, without changes.
    pub(crate) fn new(scenario: &'static str) -> Self {
        Self { scenario, variant: None, sets: Vec::new(), seed: None, seconds: 1.0, traced: false }
    }

    /// Selects a variant.
    pub(crate) fn variant(self, name: impl Into<String>) -> Self {
        Self { variant: Some(name.into()), ..self }
    }

    /// Changes a value of the scenario.
    pub(crate) fn set(mut self, path: &str, value: impl Display) -> Self {
        self.sets.push(Override { path: path.to_owned(), value: value.to_string() });
        self
    }

    /// Replaces the seed of the scenario.
    pub(crate) fn seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// Keeps the steps of the first flow.
    pub(crate) fn traced(self) -> Self {
        Self { traced: true, ..self }
    }

    /// Sets the expected computing time of an optimised build on one core. Long runs start first.
    pub(crate) fn seconds(self, seconds: f64) -> Self {
        Self { seconds, ..self }
    }

    pub(crate) fn scenario(&self) -> &'static str {
        self.scenario
    }

    pub(crate) fn chosen_variant(&self) -> Option<&str> {
        self.variant.as_deref()
    }

    pub(crate) fn chosen_seed(&self) -> Option<u64> {
        self.seed
    }

    pub(crate) fn is_traced(&self) -> bool {
        self.traced
    }

    pub(crate) fn expected_s(&self) -> f64 {
        self.seconds
    }

    /// The changes of this run, followed by those of the user, which take precedence.
    pub(crate) fn sets(&self, user: &[Override]) -> Vec<Override> {
        [self.sets.as_slice(), user].concat()
    }

    /// The command of this run. It identifies the run.
    pub(crate) fn command(&self, user: &[Override]) -> String {
        let command = if self.traced { "wiremend trace" } else { "wiremend run" };
        let mut words = vec![command.to_owned(), shell_quoted(self.scenario)];
        words.extend(self.variant.iter().map(|name| format!("--variant {}", shell_quoted(name))));
        let set = |set: Override| format!("--set {}", shell_quoted(&format!("{}={}", set.path, set.value)));
        words.extend(self.sets(user).into_iter().map(set));
        words.extend(self.seed.map(|seed| format!("--seed {seed}")));
        words.join(" ")
    }
}

/// The commands of these runs, without repetition. Runs that differ only in consecutive seeds share a
/// command.
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
    let with_seeds = |(command, seeds): &(String, BTreeSet<Option<u64>>)| {
        let own = seeds.contains(&None).then(|| command.clone());
        let seeds: Vec<_> = seeds.iter().copied().flatten().collect();
        let ranges = seeds.chunk_by(|seed, next| seed + 1 == *next);
        let range = |seeds: &[u64]| match seeds {
            [seed] => format!("{command} --seed {seed}"),
            seeds => format!("{command} --seed {} --seeds {}", seeds[0], seeds.len()),
        };
        own.into_iter().chain(ranges.map(range)).collect::<Vec<_>>()
    };
    series.iter().flat_map(with_seeds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_identifies_a_run_and_the_cost_does_not() {
        let run = Run::new("claims/livelock").variant("go-back-0 READ").set("stop.after", "30ms").seed(7);
        let user = ["topology.rate=10Gbps".parse().unwrap()];
        assert_eq!(
            run.command(&user),
            "wiremend run claims/livelock --variant 'go-back-0 READ' --set stop.after=30ms --set topology.rate=10Gbps \
             --seed 7"
        );
        assert_eq!(run.clone().seconds(90.0).command(&[]), run.command(&[]));
        assert_eq!(Run::new("nak").traced().command(&[]), "wiremend trace nak");
    }

    #[test]
    fn consecutive_seeds_share_a_command() {
        let run = |seed| Run::new("nak").seed(seed);
        let runs =
            [run(2), Run::new("tour"), run(1), run(7), run(3), run(2), Run::new("nak"), Run::new("tour")];
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
