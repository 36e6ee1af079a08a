//! Arguments of `cargo xtask bench`.

use std::path::PathBuf;

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

/// What to measure, how often, and the output file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(super) scenarios: Vec<String>,
    pub(super) repeat: u32,
    pub(super) instructions: bool,
    /// Another benchmark than the simulator.
    pub(super) other: Option<Other>,
    pub(super) json: Option<PathBuf>,
}

/// Benchmarks besides the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    /// Relays on real ports.
    Relay,
    /// A year of a fabric.
    Fleet,
    /// Daemons and planners.
    Monitor,
}

impl Plan {
    /// Parses the arguments after `bench`.
    pub(crate) fn from_args(args: &[String]) -> Result<Self, String> {
        let mut plan =
            Self { scenarios: Vec::new(), repeat: 0, instructions: false, other: None, json: None };
        let mut quick = false;
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            match arg {
                "--quick" => quick = true,
                "--instructions" => plan.instructions = true,
                "relay" => plan.other = Some(Other::Relay),
                "fleet" => plan.other = Some(Other::Fleet),
                "monitor" => plan.other = Some(Other::Monitor),
                "--json" => plan.json = Some(args.next().ok_or("--json needs a file")?.into()),
                "--repeat" => {
                    let times = args.next().and_then(|times| times.parse().ok()).filter(|times| *times > 0);
                    plan.repeat = times.ok_or("--repeat needs a number from 1")?;
                }
                _ if arg.starts_with('-') => return Err(format!("`bench` has no option `{arg}`")),
                _ => plan.scenarios.push(named(arg)?),
            }
        }
        if plan.scenarios.is_empty() {
            let names = if quick { QUICK } else { SCENARIOS };
            plan.scenarios = names.iter().map(|name| format!("bench/{name}")).collect();
        }
        if plan.repeat == 0 {
            plan.repeat = if quick { 1 } else { 3 };
        }
        Ok(plan)
    }
}

/// The scenario of a name with or without its folder.
fn named(name: &str) -> Result<String, String> {
    let short = name.strip_prefix("bench/").unwrap_or(name);
    if !SCENARIOS.contains(&short) {
        return Err(format!("no benchmark `{name}`; there are {}", SCENARIOS.join(", ")));
    }
    Ok(format!("bench/{short}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_scenarios_are_measured_three_times_by_default() {
        let plan = plan("").unwrap();
        assert_eq!((plan.scenarios.len(), plan.repeat, plan.instructions, plan.json), (12, 3, false, None));
    }

    #[test]
    fn options_and_names_are_parsed() {
        let plan = plan("--repeat 5 perm-k8 --json out.json bench/ws50-k4 --instructions").unwrap();
        assert_eq!(plan.scenarios, ["bench/perm-k8", "bench/ws50-k4"]);
        assert_eq!((plan.repeat, plan.instructions, plan.json), (5, true, Some("out.json".into())));
    }

    #[test]
    fn quick_runs_small_networks_once() {
        let plan = plan("--quick").unwrap();
        assert_eq!((plan.repeat, plan.scenarios.join(" ").contains("k16")), (1, false));
    }

    #[test]
    fn wrong_arguments_are_refused() {
        for args in ["--json", "--repeat", "--repeat 0", "--repeat x", "--fast", "perm-k5"] {
            assert!(plan(args).is_err(), "{args}");
        }
    }

    fn plan(args: &str) -> Result<Plan, String> {
        Plan::from_args(&args.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }
}
