//! Arguments of `cargo xtask bench`.

use std::path::PathBuf;

/// What is measured: a built-in scenario, with values of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) scenario: String,
    /// Arguments of `--set`.
    pub(super) set: Vec<String>,
    /// Whether runs may skip time in which the network only repeats a pattern.
    pub(super) fast_forward: bool,
}

/// Scenarios that are measured as they are.
const SCENARIOS: &[&str] = &[
    "perm-k4",
    "dcqcn-k4",
    "perm-k8",
    "dcqcn-k8",
    "perm-k16",
    "dcqcn-k16",
    "incast-k8",
    "ws50-k4",
    "ws50-k8",
    "ws50-k16",
    "ws50-256",
    "protected-100g",
];
const QUICK: &[&str] = &["perm-k4", "dcqcn-k4", "incast-k8", "ws50-k4", "protected-100g"];

/// Values that add a feature to a permutation: its name, and the values.
const FEATURES: &[(&str, &[&str])] = &[
    ("plain", &[]),
    ("window", &["transport.window=160"]),
    ("go-back-n,loss", &["transport.window=160", LOSS]),
    ("irn,loss", &["transport.recovery=irn", PAPER, LOSS]),
    ("buffers", &["topology.buffer=1MB"]),
    ("pfc", &[LOSSLESS]),
    ("pfc,dcqcn,loss", &[LOSSLESS, RED, "transport.congestion=dcqcn-paper", LOSS]),
    ("cubic,loss", &["transport.protocol=tcp", LOSS]),
    ("dctcp,loss", &["transport.protocol=tcp", "transport.tcp.congestion=dctcp", STEP, LOSS]),
    ("dcp", &["transport.recovery=dcp", PAPER, "switch.trim={}"]),
    ("dcp,loss", &["transport.recovery=dcp", PAPER, "switch.trim={}", HINTS, LOSS]),
    ("protected,loss", &["protect=[{links=\"switches\",by=\"linkguardian\"}]", SWITCH_LOSS]),
];
/// Each scheme's own window.
const PAPER: &str = "transport.window=paper";
const LOSS: &str = "impair=[{kind=\"frames\",links=\"all\",rate=0.001}]";
const SWITCH_LOSS: &str = "impair=[{kind=\"frames\",links=\"switches\",rate=0.001}]";
const LOSSLESS: &str = "switch.lossless={classes=[0],buffer=\"12MB\"}";
const RED: &str = "switch.ecn={kmin=\"12kB\",kmax=\"500kB\",pmax=0.01}";
const STEP: &str = "switch.ecn={kmin=\"100kB\",kmax=\"100kB\",pmax=1.0}";
const HINTS: &str = "transport.dcp={tracking=\"sums\",unit=64,allowance=32,probe=\"30us\"}";

/// Larger networks: the name, and the values that make one of `perm-k16`. Each moves about as many packets.
const SCALE: &[(&str, &[&str])] = &[
    ("perm-k24", &["topology.k=24", "workload.0.bytes=303000B"]),
    ("perm-k32", &["topology.k=32", "workload.0.bytes=128000B"]),
    ("perm-k48", &["topology.k=48", "workload.0.bytes=38000B"]),
    ("perm-k64", &["topology.k=64", "workload.0.bytes=16000B"]),
    ("leaf-spine-100k", &[LEAF_SPINE, "workload.0.bytes=16000B"]),
];
const LEAF_SPINE: &str = "topology={kind=\"leaf-spine\",leaves=1024,spines=32,hosts_per_leaf=100,\
                          rate=\"100Gbps\",delay=\"1us\"}";

/// Ring all-reduces of 128 and 1024 hosts, which are measured with and without skipped time.
const RINGS: &[&str] = &["ring-k8", "ring-k16"];

/// Features whose instructions and cache misses are checked, on 128 hosts with short messages.
const GUARDED: &[&str] =
    &["plain", "go-back-n,loss", "irn,loss", "buffers", "pfc", "cubic,loss", "dcp", "protected,loss"];

/// What to measure, how often, and the output file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(super) cases: Vec<Case>,
    pub(super) repeat: u32,
    /// Compare counts with the committed ones, or accept the measured ones.
    pub(super) check: bool,
    pub(super) accept: bool,
    /// Speeds of other simulators, to print beside ours.
    pub(super) peers: Option<PathBuf>,
    /// Another benchmark than the simulator.
    pub(super) other: Option<Other>,
    pub(super) json: Option<PathBuf>,
    /// Where to draw speed by size of the network.
    pub(super) plot: Option<PathBuf>,
}

/// Benchmarks besides the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    /// Relays on real ports.
    Relay,
    /// The explanation of a large capture.
    Capture,
    /// How often explained causes are right.
    Causes,
    /// A year of a fabric.
    Fleet,
    /// Daemons and planners.
    Monitor,
    /// The page of a large fabric.
    Page,
    /// A sweep of many short cells.
    Sweep,
}

impl Plan {
    /// Parses the arguments after `bench`.
    pub(crate) fn from_args(args: &[String]) -> Result<Self, String> {
        let mut plan = Self::default();
        let mut quick = false;
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            match arg {
                "--quick" => quick = true,
                "--check" => plan.check = true,
                "--accept" => (plan.check, plan.accept) = (true, true),
                "--peers" => plan.peers = Some(args.next().ok_or("--peers needs a file")?.into()),
                "relay" => plan.other = Some(Other::Relay),
                "causes" => plan.other = Some(Other::Causes),
                "capture" => plan.other = Some(Other::Capture),
                "fleet" => plan.other = Some(Other::Fleet),
                "monitor" => plan.other = Some(Other::Monitor),
                "serve" => plan.other = Some(Other::Page),
                "sweep" => plan.other = Some(Other::Sweep),
                "--plot" => plan.plot = Some(args.next().ok_or("--plot needs a file")?.into()),
                "--json" => plan.json = Some(args.next().ok_or("--json needs a file")?.into()),
                "--repeat" => {
                    let times = args.next().and_then(|times| times.parse().ok()).filter(|times| *times > 0);
                    plan.repeat = times.ok_or("--repeat needs a number from 1")?;
                }
                _ if arg.starts_with('-') => return Err(format!("`bench` has no option `{arg}`")),
                _ => plan.cases.extend(named(arg)?),
            }
        }
        if plan.cases.is_empty() {
            let names = if quick { QUICK } else { SCENARIOS };
            plan.cases = names.iter().map(|name| Case::built_in(name)).collect();
        }
        if plan.repeat == 0 {
            plan.repeat = if quick { 1 } else { 5 };
        }
        Ok(plan)
    }
}

impl Case {
    fn built_in(name: &str) -> Self {
        Self { name: name.to_owned(), scenario: format!("bench/{name}"), set: Vec::new(), fast_forward: true }
    }

    fn changed(name: String, scenario: &str, set: &[&str]) -> Self {
        let set = set.iter().map(|value| (*value).to_owned()).collect();
        Self { name, set, ..Self::built_in(scenario) }
    }
}

/// Returns the cases of a name: a scenario with or without its folder, `features-k8`, a single feature such as
/// `perm-k16+irn,loss`, `scale`, `rings`, or one of their networks.
fn named(name: &str) -> Result<Vec<Case>, String> {
    let short = name.strip_prefix("bench/").unwrap_or(name);
    if let Some(size) = short.strip_prefix("features-").filter(|size| ["k4", "k8", "k16"].contains(size)) {
        return Ok(features(&format!("perm-{size}")));
    }
    if short == "scale" {
        return Ok(scale());
    }
    if short == "rings" {
        return Ok(rings());
    }
    let single = short.split_once('+').map(|(base, _)| features(base)).unwrap_or_default();
    let scenarios = SCENARIOS.iter().map(|name| Case::built_in(name));
    let found = scenarios.chain(scale()).chain(rings()).chain(single).find(|case| case.name == short);
    found.map(|case| vec![case]).ok_or_else(|| {
        let scale: Vec<_> = SCALE.iter().map(|(name, _)| *name).collect();
        format!(
            "no benchmark `{name}`; there are {}, features-k4, features-k8, features-k16, scale, rings, {}",
            SCENARIOS.join(", "),
            scale.join(", ")
        )
    })
}

fn features(base: &str) -> Vec<Case> {
    let all = FEATURES.iter().map(|(name, set)| Case::changed(format!("{base}+{name}"), base, set));
    all.filter(|_| SCENARIOS.contains(&base)).collect()
}

/// Returns the cases of `--check`.
pub(super) fn guarded() -> Vec<Case> {
    let guarded = |name: &&str| FEATURES.iter().find(|(feature, _)| feature == name).expect("a feature");
    let case = |(name, set): &(&str, &[&str])| {
        let short = ["workload.0.bytes=100kB"];
        Case::changed((*name).to_owned(), "perm-k8", &[&short, *set].concat())
    };
    GUARDED.iter().map(guarded).map(case).collect()
}

/// Returns the number of hosts of a permutation without features; `None` for other cases.
pub(super) fn hosts(case: &str) -> Option<u32> {
    match case {
        "leaf-spine-100k" => Some(102_400),
        _ => case.strip_prefix("perm-k")?.parse().ok().map(|k: u32| k * k * k / 4),
    }
}

fn rings() -> Vec<Case> {
    let both = |name: &&str| {
        let off = Case { name: format!("{name},off"), fast_forward: false, ..Case::built_in(name) };
        [Case::built_in(name), off]
    };
    RINGS.iter().flat_map(both).collect()
}

fn scale() -> Vec<Case> {
    SCALE.iter().map(|(name, set)| Case::changed((*name).to_owned(), "perm-k16", set)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_scenarios_are_measured_five_times_by_default() {
        let plan = plan("").unwrap();
        assert_eq!((plan.cases.len(), plan.repeat, plan.check, plan.json), (12, 5, false, None));
    }

    #[test]
    fn options_and_names_are_parsed() {
        let plan = plan("--repeat 5 perm-k8 --json out.json bench/ws50-k4 --check").unwrap();
        assert_eq!(plan.cases, ["perm-k8", "ws50-k4"].map(Case::built_in));
        assert_eq!((plan.repeat, plan.check, plan.json), (5, true, Some("out.json".into())));
    }

    #[test]
    fn quick_runs_small_networks_once() {
        let plan = plan("--quick").unwrap();
        assert!(plan.repeat == 1 && plan.cases.iter().all(|case| !case.name.contains("k16")));
    }

    #[test]
    fn features_and_sizes_are_values_of_a_permutation() {
        let features = plan("features-k16").unwrap().cases;
        assert_eq!(features.len(), FEATURES.len());
        assert!(features.iter().all(|case| case.scenario == "bench/perm-k16"));
        assert_eq!(plan("perm-k16+irn,loss").unwrap().cases, [features[3].clone()]);
        assert_eq!(guarded().len(), GUARDED.len());
        assert_eq!(plan("scale").unwrap().cases.len(), SCALE.len());
        assert_eq!(plan("perm-k32").unwrap().cases[0].set[0], "topology.k=32");
        assert_eq!(["perm-k4", "perm-k64", "perm-k4+irn,loss"].map(hosts), [Some(16), Some(65_536), None]);
        let rings = plan("rings").unwrap().cases;
        assert_eq!(rings.len(), 2 * RINGS.len());
        assert!(rings[0].fast_forward && !rings[1].fast_forward && rings[0].scenario == rings[1].scenario);
    }

    #[test]
    fn wrong_arguments_are_refused() {
        for args in [
            "--json",
            "--plot",
            "--peers",
            "--repeat",
            "--repeat 0",
            "--repeat x",
            "--fast",
            "perm-k5",
            "perm-k16+nothing",
            "features-k5",
        ] {
            assert!(plan(args).is_err(), "{args}");
        }
    }

    fn plan(args: &str) -> Result<Plan, String> {
        Plan::from_args(&args.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }
}
