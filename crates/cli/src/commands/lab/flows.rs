//! `wiremend lab flows`: short TCP flows of this kernel and of the simulator, with the same losses.

use std::io;

use serde_json::json;
use wiremend_lab::chain::ChainConfig;
use wiremend_lab::tcp::{FLOW_KINDS, FlowKind, FlowTimes, ShortFlows, host_delays};
use wiremend_measure::FlowRow;
use wiremend_report::{human, text_table, write_atomic};
use wiremend_runner::{Input, Runner};
use wiremend_scenario::{HostDelayQuantiles, Override};
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
    let (quantiles, median_ns) =
        HostDelayQuantiles::of_sorted(&host_delays(&super::lab())?).ok_or_else(|| {
            Failure::Environment("this machine's clock is too coarse for delays of hosts".to_owned())
        })?;
    if let Some(file) = &args.host_delay_out {
        write_atomic(file, &table(&quantiles, median_ns)).map_err(|error| Failure::file(&error))?;
        return Ok(Answer::Yes);
    }
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
    let hosts = Hosts { quantiles, median_ns: 0 };
    let hosts = Hosts { median_ns: chosen_median(&hosts, args, quantile(&measured[0].ns, 500))?, ..hosts };
    let simulated = FLOW_KINDS
        .iter()
        .map(|kind| Ok(FlowTimes { kind: *kind, ns: simulate(kind, args, &hosts)? }))
        .collect::<Result<Vec<_>, Failure>>()?;
    let text = if args.json {
        let delays = json!({
            "quantiles": quantiles, "loopback_median_ns": median_ns, "simulator_median_ns": hosts.median_ns
        });
        let all = json!({ "kernel": measured, "simulator": simulated, "host_delay": delays });
        format!("{}\n", serde_json::to_string_pretty(&all).expect("plain values"))
    } else {
        rendered(&measured, &simulated, args, [median_ns, hosts.median_ns])
    };
    terminal::print(&text)?;
    Ok(Answer::Yes)
}

/// The table of a scenario.
fn table(quantiles: &HostDelayQuantiles, median_ns: u64) -> String {
    let percent = quantiles.percent().map(|percent| percent.to_string()).join(", ");
    format!("[transport.host-delay]\nmedian = \"{median_ns}ns\"\nquantiles = [{percent}]\n")
}

/// Delays of the simulated hosts. A median of 0: none.
#[derive(Clone, Copy)]
struct Hosts {
    quantiles: HostDelayQuantiles,
    median_ns: u64,
}

/// Chooses the median of the hosts' delay by which flows of one packet take `wanted_ns` at the median; 0 if they take
/// longer without delays.
fn chosen_median(hosts: &Hosts, args: &LabFlows, wanted_ns: u64) -> Result<u64, Failure> {
    let takes = |median_ns| {
        Ok::<_, Failure>(quantile(&simulate(&FLOW_KINDS[0], args, &Hosts { median_ns, ..*hosts })?, 500))
    };
    let mut low = 0;
    let mut high = wanted_ns.saturating_sub(takes(0)?);
    while high - low > 1_000 {
        let middle = low.midpoint(high);
        if takes(middle)? < wanted_ns {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(high)
}

/// Simulates flows of a kind, each alone, and returns their completion times in nanoseconds, sorted.
fn simulate(kind: &FlowKind, args: &LabFlows, hosts: &Hosts) -> Result<Vec<u64>, Failure> {
    let runner = Runner::new();
    let mut times = Times::default();
    for number in 0..args.flows {
        let input = Input::load(SCENARIO, &overrides(kind, args, hosts, number))?;
        let variant = input.variants(&["corrupting".to_owned()])?[0];
        let simulation = runner.build(&input, variant, &runner.options(u64::from(number) + 1))?;
        simulation.run(&mut times).map_err(|error| Failure::file(&error))?;
    }
    times.0.sort_unstable();
    Ok(times.0)
}

fn overrides(kind: &FlowKind, args: &LabFlows, hosts: &Hosts, number: u32) -> Vec<Override> {
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
    let percent = hosts.quantiles.percent().map(|percent| percent.to_string()).join(", ");
    let delay = (hosts.median_ns > 0)
        .then(|| format!("{{ median = \"{}ns\", quantiles = [{percent}] }}", hosts.median_ns));
    let values = [
        ("workload", workload),
        ("impair", kind.lost_segment().map_or("[]".to_owned(), lose)),
        ("topology.buffer", format!("{}B", QUEUE.get())),
        ("transport.qp", "per-flow".to_owned()),
        ("transport.tcp.congestion", CONTROL.to_owned()),
        ("transport.tcp.tick", format!("{}ps", args.tick.as_ps())),
    ];
    let values = values.into_iter().chain(delay.map(|delay| ("transport.host-delay", delay)));
    values.map(|(path, value)| Override { path: path.to_owned(), value }).collect()
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

fn rendered(
    measured: &[FlowTimes],
    simulated: &[FlowTimes],
    args: &LabFlows,
    [loopback_ns, chosen_ns]: [u64; 2],
) -> String {
    let tail = tail(args.flows);
    let rows: Vec<Vec<String>> =
        measured.iter().zip(simulated).map(|(one, other)| row(one, other, tail.0)).collect();
    let [of_tail, ratio] = [tail.1.to_owned(), format!("{}, ratio", tail.1)];
    format!(
        "{} TCP flows of each kind over a link of {} and {} with a path of {} behind it, CUBIC, RTO_min 200 ms, ticks of \
         {}.\nThe wire drops one segment of each flow, once. Times until the last byte is acknowledged.\nDelay of hosts, \
         median: {} over loopback; {} in the simulator, for equal medians of the first row.\n\n{}",
        args.flows,
        human::rate_bps(RATE.bits_per_s() as f64),
        human::time_ns(DELAY.as_ns() as f64),
        human::time_ns(PATH_DELAY.as_ns() as f64),
        human::time_ns(args.tick.as_ns() as f64),
        human::time_ns(loopback_ns as f64),
        human::time_ns(chosen_ns as f64),
        text_table(
            &["flow, lost segment", "kernel p50", &of_tail, "simulator p50", &of_tail, "p50, ratio", &ratio],
            &rows,
            terminal::stdout()
        )
    )
}

/// The highest quantile of which this many flows say something, in thousandths, and its name.
fn tail(flows: u32) -> (usize, &'static str) {
    if flows >= 100 { (990, "p99") } else { (900, "p90") }
}

fn row(measured: &FlowTimes, simulated: &FlowTimes, tail: usize) -> Vec<String> {
    let at = |times: &FlowTimes, thousandths: usize| quantile(&times.ns, thousandths) as f64;
    let ratio =
        |thousandths| format!("{:.2}", at(simulated, thousandths) / at(measured, thousandths).max(1.0));
    let time = |times, thousandths| human::time_ns(at(times, thousandths));
    vec![
        format!("{}, {}", human::bytes(f64::from(measured.kind.bytes)), measured.kind.lost),
        time(measured, 500),
        time(measured, tail),
        time(simulated, 500),
        time(simulated, tail),
        ratio(500),
        ratio(tail),
    ]
}

/// Quantile of sorted times: a measured value.
fn quantile(sorted: &[u64], thousandths: usize) -> u64 {
    let place = (sorted.len() * thousandths).div_ceil(1_000).saturating_sub(1);
    sorted.get(place).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_DELAY: Hosts = Hosts { quantiles: HostDelayQuantiles::MEASURED, median_ns: 0 };

    fn args() -> LabFlows {
        LabFlows { flows: 6, tick: Span::from_ms(4), host_delay_out: None, json: false }
    }

    /// The delay of hosts by which flows of one packet take a given time at the median is found again.
    #[test]
    fn the_delay_of_hosts_is_found_by_its_effect() {
        let args = args();
        let hosts = Hosts { median_ns: 50_000, ..NO_DELAY };
        let [clean, slower] =
            [NO_DELAY, hosts].map(|hosts| quantile(&simulate(&FLOW_KINDS[0], &args, &hosts).unwrap(), 500));
        assert!(slower > clean + 50_000, "{clean} {slower}");
        let found = chosen_median(&NO_DELAY, &args, slower).unwrap();
        assert!((49_000..51_000).contains(&found), "{found}");
        assert_eq!(chosen_median(&NO_DELAY, &args, clean - 1).unwrap(), 0);
    }

    #[test]
    fn the_table_is_that_of_a_scenario() {
        let written = table(&NO_DELAY.quantiles, 1_500);
        let values = Override { path: "transport.host-delay.median".to_owned(), value: "1500ns".to_owned() };
        let defaults = Input::load(SCENARIO, &[values]).unwrap();
        let text = defaults.file.scenario.to_toml();
        assert!(text.contains(written.trim()), "{written}{text}");
    }

    /// Each flow loses its segment once, and recovers: a lost tail costs the minimum timeout, another segment does not.
    #[test]
    fn simulated_flows_lose_the_chosen_segment() {
        let args = args();
        let times = |kind: &FlowKind| simulate(kind, &args, &NO_DELAY).unwrap();
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
        assert_eq!([500, 900, 1_000].map(|thousandths| quantile(&times, thousandths)), [15, 27, 30]);
        assert_eq!(quantile(&[], 500), 0);
    }
}
