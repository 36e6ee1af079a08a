//! W4: TCP of Linux and TCP of the simulator over the same path.

use serde_json::Value;
use wiremend_measure::median;
use wiremend_report::lab::LinkState;

use super::joshi::source;
use crate::prelude::*;

pub(super) const CLAIMS: &[Claim] = &[CLAIM];

const CLAIM: Claim = Claim {
    id: "W4",
    title: "TCP of Linux and TCP of the simulator",
    source: source("not in the paper, which measured kernels"),
    paper: "The paper measured TCP of Linux over a corrupting link. The simulator must give the same results in the \
           same setting",
    method: "wiremend lab tcp runs the kernel of this machine over a link of 200 Mb/s and 100 µs that corrupts \
             frames in both directions, with a queue of 256 KiB, a path of 4 ms each way behind it, and real relays. \
             The scenario claims/kernel simulates the same path with the timers and the clock tick of the kernel. \
             CUBIC and BBR at loss rates 1e-4, 1e-3 and 1e-2 (quick: only 1e-2), corrupting and protected: transfers \
             of 2 s, 7 rounds in the lab and 10 seeds in the simulator (quick: 3 rounds, 4 seeds). Goodput, counted \
             from the first byte, is given as a share of the same congestion control's goodput over the clean link, \
             which is protected too",
    note: "Kernel and simulator have the same algorithms, delays and queue. CUBIC of RFC 9438 would reach 1.4 times \
           the goodput at 1e-2. Linux counts whole segments, and while the window stays the same it evaluates its \
           curve only 32 times per second, less often than once per round trip of 8.4 ms; the simulator does so too \
           for hosts with a clock tick. The remaining difference is the processing time in each round trip of the \
           lab, where four processes share the processor with the kernel",
    // The lab may fail before the judgement asks for a run.
    runs,
    judge,
};

const CONTROLS: [&str; 2] = ["cubic", "bbr"];
const MEASURED: [LinkState; 2] = [LinkState::Corrupting, LinkState::Protected];
/// Below this share the result depends on few losses, and the tolerance is wider.
const LOW_SHARE: f64 = 0.5;

fn losses(effort: Effort) -> &'static [f64] {
    effort.choose(&[1e-2], &[1e-4, 1e-3, 1e-2])
}

fn seeds(effort: Effort) -> std::ops::RangeInclusive<u64> {
    1..=effort.choose(4, 10)
}

/// Duration of a transfer in seconds.
const SECONDS: u32 = 2;

fn run(control: &str, loss: f64, state: LinkState, seed: u64) -> Run {
    let run = Run::new("claims/kernel")
        .variant(state.name())
        .set("transport.tcp.congestion", control)
        .set("stop.after", format!("{SECONDS}s"))
        .seed(seed)
        .seconds(0.06);
    if state == LinkState::Clean { run } else { run.set("impair.0.rate", loss) }
}

fn runs(effort: Effort) -> Vec<Run> {
    let at = |control, loss| {
        let runs_in = move |state| seeds(effort).map(move |seed| run(control, loss, state, seed));
        LinkState::ALL.into_iter().flat_map(runs_in)
    };
    let runs_with = |control| losses(effort).iter().flat_map(move |&loss| at(control, loss));
    CONTROLS.into_iter().flat_map(runs_with).collect()
}

/// Goodput as a share of that over the clean link, from several trials.
struct Share {
    median: f64,
    least: f64,
    most: f64,
}

impl Share {
    fn from_samples(shares: &[f64]) -> Option<Self> {
        let least = shares.iter().copied().reduce(f64::min)?;
        let most = shares.iter().copied().reduce(f64::max)?;
        Some(Self { median: median(shares), least, most })
    }

    fn text(&self) -> String {
        let [median, least, most] = [self.median, self.least, self.most].map(human::percent);
        format!("{median} % ({least} to {most})")
    }
}

/// Kernel and simulator in one state of the link.
struct Pair {
    control: &'static str,
    loss: f64,
    state: LinkState,
    kernel: Share,
    simulator: Share,
}

impl Pair {
    fn name(&self) -> String {
        format!("{} at {:e}, {}", self.control, self.loss, self.state.name())
    }

    fn ratio(&self) -> f64 {
        self.simulator.median / self.kernel.median
    }

    /// Factor by which the shares may differ.
    fn factor_max(&self, effort: Effort) -> f64 {
        if self.kernel.median < LOW_SHARE { effort.choose(1.6, 1.5) } else { effort.choose(1.3, 1.15) }
    }

    fn row(&self) -> Vec<String> {
        vec![self.name(), self.kernel.text(), self.simulator.text(), shown(self.ratio())]
    }
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let losses = losses(results.effort());
    let labs: Vec<_> = losses.iter().filter_map(|&loss| Some((loss, lab(results, loss)?))).collect();
    judgement.must("completed lab runs", number(labs.len() as f64).at_least(losses.len() as f64));
    let mut pairs = Vec::new();
    for control in CONTROLS {
        for (loss, lab) in &labs {
            let of = |&state: &LinkState| pair(results, lab, control, *loss, state);
            pairs.extend(MEASURED.iter().filter_map(of));
        }
    }
    let wanted = labs.len() * CONTROLS.len() * MEASURED.len();
    judgement.must(
        "states measured in the lab and in the simulator",
        number(pairs.len() as f64).at_least(wanted as f64),
    );
    for pair in &pairs {
        let factor_max = pair.factor_max(results.effort());
        let what = format!("share of the simulator divided by that of the kernel, {}", pair.name());
        judgement.must(what, number(pair.ratio()).between(1.0 / factor_max, factor_max));
    }
    judgement.table("| kernel | simulator | ratio", pairs.iter().map(Pair::row).collect());
    judgement.plot("w4", &figure(&pairs));
}

fn pair(
    results: &Results<'_>,
    lab: &Value,
    control: &'static str,
    loss: f64,
    state: LinkState,
) -> Option<Pair> {
    let effort = results.effort();
    let goodput =
        |state, seed| results.outcome(&run(control, loss, state, seed)).summary.whole_run_goodput_bps as f64;
    let simulated: Vec<_> =
        seeds(effort).map(|seed| goodput(state, seed) / goodput(LinkState::Clean, seed)).collect();
    let kernel = Share::from_samples(&shares_of_clean(lab, control, state)?)?;
    Some(Pair { control, loss, state, kernel, simulator: Share::from_samples(&simulated)? })
}

/// Shares by round: other load on the machine affects all states of a round.
fn shares_of_clean(lab: &Value, control: &str, state: LinkState) -> Option<Vec<f64>> {
    let all = lab["goodputs"].as_array()?.iter().find(|goodput| goodput["control"] == control)?;
    let rounds = |state: LinkState| all["states"][state as usize]["tenths"].as_array();
    let bytes = |tenths: &Value| Some(tenths.as_array()?.iter().filter_map(Value::as_f64).sum::<f64>());
    let shares = rounds(state)?.iter().zip(rounds(LinkState::Clean)?);
    shares.map(|(tenths, clean)| Some(bytes(tenths)? / bytes(clean)?)).collect()
}

fn lab(results: &Results<'_>, loss: f64) -> Option<Value> {
    let rounds = results.effort().choose("3", "7");
    let (loss, controls, seconds) = (loss.to_string(), CONTROLS.join(","), SECONDS.to_string());
    let link = ["tcp", "--json", "--bulk", "--rate", "200Mbps", "--loss", &loss, "--cc", &controls];
    results.lab(&[&link[..], &["--rounds", rounds, "--seconds", &seconds]].concat())
}

fn figure(pairs: &[Pair]) -> Plot {
    let curves = CONTROLS.into_iter().flat_map(|control| {
        let curve = move |who: &str, share: fn(&Pair) -> &Share| {
            let is_corrupting = |pair: &&Pair| pair.control == control && pair.state == LinkState::Corrupting;
            let points = pairs.iter().filter(is_corrupting).map(|pair| (pair.loss, share(pair).median));
            Curve::marked(format!("{control}, {who}"), points)
        };
        [curve("kernel", |pair| &pair.kernel), curve("simulator", |pair| &pair.simulator)]
    });
    Plot::new(
        "Goodput of TCP over a corrupting link",
        "Goodput of a kernel and of the simulator, as a share of that over the clean link, against the share of \
             corrupted frames.",
        Axis::new("frames corrupted", Scale::Log, Unit::Number),
        Axis::new("goodput as a share of clean", Scale::Linear, Unit::Percent),
        curves.collect(),
    )
}
