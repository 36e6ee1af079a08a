//! `wiremend lab flows`: short TCP flows of this kernel and of the simulator, with the same losses.

use std::io;

use serde_json::json;
use wiremend_lab::chain::ChainConfig;
use wiremend_lab::tcp::{FLOW_KINDS, FlowKind, FlowTimes, ShortFlows};
use wiremend_measure::FlowRow;
use wiremend_report::{human, text_table};
use wiremend_runner::{Input, Runner};
use wiremend_scenario::Override;
use wiremend_sim::Observer;
use wiremend_units::{Bytes, Rate, Span};

use crate::args::lab_flows::LabFlows;
use crate::failure::{Answer, Failure};
use crate::progress;
use crate::terminal;

/// The path of the scenario, which is that of `lab tcp`, but with a queue that never overflows.
const SCENARIO: &str = "claims/kernel";
const RATE: Rate = Rate::from_bits_per_s(200_000_000);
const DELAY: Span = Span::from_us(100);
const PATH_DELAY: Span = Span::from_ms(4);
const QUEUE: Bytes = Bytes::kib(4_096);
const CONTROL: &str = "cubic";
/// Flows of the simulator start at different times within a tick: this much later than the one before.
const STEP: Span = Span::from_us(610);

pub(super) fn run(args: &LabFlows) -> Result<Answer, Failure> {
    let simulated = FLOW_KINDS
        .iter()
        .map(|kind| Ok(FlowTimes { kind: *kind, ns: simulate(kind, args)? }))
        .collect::<Result<Vec<_>, Failure>>()?;
    super::begin(None)?;
    let chain = ChainConfig {
        rate: Some(RATE),
        delay: DELAY,
        path_delay: PATH_DELAY,
        queue: QUEUE,
        seed: 1,
        mode: wiremend_dataplane::relay::ProtectionMode::Off,
        copies: None,
    };
    let flows = ShortFlows { chain, flows: args.flows, control: CONTROL.to_owned() };
    let weights = FLOW_KINDS.map(|kind| 1.0 + f64::from(kind.bytes) / 1e6);
    let measured = progress::shown(&weights, |progress| flows.run(&super::lab(), progress))?;
    let text = if args.json {
        let all = json!({ "kernel": measured, "simulator": simulated });
        format!("{}\n", serde_json::to_string_pretty(&all).expect("plain values"))
    } else {
        rendered(&measured, &simulated, args)
    };
    terminal::print(&text)?;
    Ok(Answer::Yes)
}

/// Simulates flows of a kind, each alone, and returns their completion times in nanoseconds, sorted.
fn simulate(kind: &FlowKind, args: &LabFlows) -> Result<Vec<u64>, Failure> {
    let runner = Runner::new();
    let mut times = Times::default();
    for number in 0..args.flows {
        let input = Input::load(SCENARIO, &overrides(kind, args, number))?;
        let variant = input.variants(&["corrupting".to_owned()])?[0];
        let simulation = runner.build(&input, variant, &runner.options(1))?;
        simulation.run(&mut times).map_err(|error| Failure::file(&error))?;
    }
    times.0.sort_unstable();
    Ok(times.0)
}

fn overrides(kind: &FlowKind, args: &LabFlows, number: u32) -> Vec<Override> {
    let workload = format!(
        "[{{ kind = \"flows\", bytes = \"{}B\", pattern = \"point-to-point\", src = 0, dst = \"last\", start = \"{}ps\" }}]",
        kind.bytes,
        (STEP * u64::from(number)).as_ps()
    );
    let lose = |segment: u32| {
        format!(
            "[{{ kind = \"script\", links = \"switches\", direction = \"forward\", rules = [{{ psn = {segment}, packet = \
             \"data\" }}] }}]"
        )
    };
    let values = [
        ("workload", workload),
        ("impair", kind.lost_segment().map_or("[]".to_owned(), lose)),
        ("topology.buffer", format!("{}B", QUEUE.get())),
        ("transport.qp", "per-flow".to_owned()),
        ("transport.tcp.congestion", CONTROL.to_owned()),
        ("transport.tcp.tick", format!("{}ps", args.tick.as_ps())),
    ];
    values.map(|(path, value)| Override { path: path.to_owned(), value }).to_vec()
}

/// Completion times in nanoseconds.
#[derive(Default)]
struct Times(Vec<u64>);

impl Observer for Times {
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        self.0.push((row.end_ps - row.start_ps) / 1_000);
        Ok(())
    }
}

fn rendered(measured: &[FlowTimes], simulated: &[FlowTimes], args: &LabFlows) -> String {
    let rows: Vec<Vec<String>> = measured.iter().zip(simulated).map(|(one, other)| row(one, other)).collect();
    format!(
        "{} TCP flows of each kind over a link of {} and {} with a path of {} behind it, CUBIC, RTO_min 200 ms, ticks of \
         {}.\nThe wire drops one segment of each flow, once. Times until the last byte is acknowledged.\n\n{}",
        args.flows,
        human::rate_bps(RATE.bits_per_s() as f64),
        human::time_ns(DELAY.as_ns() as f64),
        human::time_ns(PATH_DELAY.as_ns() as f64),
        human::time_ns(args.tick.as_ns() as f64),
        text_table(
            &["flow, lost segment", "kernel p50", "p90", "simulator p50", "p90", "p50, ratio", "p90, ratio"],
            &rows,
            terminal::stdout()
        )
    )
}

fn row(measured: &FlowTimes, simulated: &FlowTimes) -> Vec<String> {
    let at = |times: &FlowTimes, percent: usize| quantile(&times.ns, percent) as f64;
    let ratio = |percent| format!("{:.2}", at(simulated, percent) / at(measured, percent).max(1.0));
    let time = |times, percent| human::time_ns(at(times, percent));
    vec![
        format!("{}, {}", human::bytes(f64::from(measured.kind.bytes)), measured.kind.lost),
        time(measured, 50),
        time(measured, 90),
        time(simulated, 50),
        time(simulated, 90),
        ratio(50),
        ratio(90),
    ]
}

/// Quantile of sorted times: a measured value.
fn quantile(sorted: &[u64], percent: usize) -> u64 {
    let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each flow loses its segment once, and recovers: a lost tail costs the minimum timeout, another segment does not.
    #[test]
    fn simulated_flows_lose_the_chosen_segment() {
        let args = LabFlows { flows: 6, tick: Span::from_ms(4), json: false };
        let times = |kind: &FlowKind| simulate(kind, &args).unwrap();
        for kind in &FLOW_KINDS[..6] {
            let ns = times(kind);
            assert_eq!(ns.len(), 6, "{kind:?}");
            let waited = ns[0] > 200_000_000;
            assert_eq!(waited, matches!(kind.lost, "the only" | "last"), "{kind:?}: {ns:?}");
        }
        let [clean, first] = [2, 3].map(|kind| times(&FLOW_KINDS[kind])[0]);
        assert!(clean < first, "{clean} {first}");
    }

    #[test]
    fn quantiles_are_measured_times() {
        let times: Vec<u64> = (1..=30).collect();
        assert_eq!([50, 90, 100].map(|percent| quantile(&times, percent)), [15, 27, 30]);
        assert_eq!(quantile(&[], 50), 0);
    }
}
