//! Runs a variant, or traces one of its flows.

use std::io;
use std::ops::ControlFlow;

use serde_json::{Value, json};
use wiremend_measure::{Breakdown, FlowRow, FlowSearch, GoodputMeter, TimePart, VariantSummary};
use wiremend_report::{Ladder, trace_steps};
use wiremend_scenario::{File, Variant};
use wiremend_sim::{EndReason, Observer, Options, Progress, Results, Simulation};
use wiremend_units::{FlowId, NodeId, Span};

use crate::library_files::LibraryFiles;

/// Events after which a run looks for a pattern that repeats, as `wiremend run` does.
const FAST_FORWARD_EVENTS: u64 = 8;
/// Memory of a run: half of what a 32-bit program has.
const MEMORY_BYTES_MAX: u64 = 2 << 30;
/// Most steps of an answer.
const STEPS_MAX: usize = 30_000;

/// Runs a variant to its end.
pub(crate) fn run(
    file: &File,
    variant: &Variant,
    seed: Option<u64>,
    report: &mut dyn FnMut(&Progress),
) -> Result<Value, String> {
    let options = options(variant, seed);
    let window = variant.scenario.measure.as_ref();
    let goodput = GoodputMeter::new(window.map(|window| (window.from.as_ps(), window.until.as_ps())));
    let mut seen = Seen { goodput, ..Seen::new(report, None) };
    let (results, _) = simulate(file, variant, &options, &mut seen)?;
    let summary = VariantSummary { goodput: seen.goodput.goodput(), ..results.summary(&variant.name) };
    let slowest = seen.search.slowest();
    Ok(json!({ "seed": options.seed, "slowest": slowest, "flows": seen.slow_first(), "summary": summary }))
}

/// Traces a flow, or the slowest one, and draws at most `records` of its steps.
pub(crate) fn trace(
    file: &File,
    variant: &Variant,
    seed: Option<u64>,
    (flow, records): (Option<u64>, usize),
    report: &mut dyn FnMut(&Progress),
) -> Result<Value, String> {
    let mut options = options(variant, seed);
    let flow = if let Some(flow) = flow {
        flow
    } else {
        let mut seen = Seen::new(report, None);
        simulate(file, variant, &options, &mut seen)?;
        seen.search.slowest().ok_or_else(|| format!("{}: no flow ended", file.source()))?
    };
    options.trace = Some(FlowId(flow));
    options.trace_others = true;
    let mut seen = Seen::new(report, Some(flow));
    let (results, names) = simulate(file, variant, &options, &mut seen)?;
    let trace = &results.trace;
    if trace.records.is_empty() {
        return Err(format!("no flow {flow}; {}", seen.search.known_flows()));
    }
    let name = |node: NodeId| names[node.index()].clone();
    let title = format!("flow {flow}, {}", variant.name);
    let breakdown = Breakdown::new(trace);
    let part = |(part, span): (TimePart, Span)| json!({ "part": part.key(), "ps": span.as_ps() });
    let parts: Option<Vec<Value>> =
        breakdown.map(|breakdown| breakdown.longest_first().into_iter().map(part).collect());
    let mut steps = trace_steps(trace, name);
    let left_out = trace.left_out + steps.len().saturating_sub(STEPS_MAX) as u64;
    steps.truncate(STEPS_MAX);
    Ok(json!({
        "flow": flow,
        "svg": Ladder::new(&title, trace, name, records).svg(),
        "parts": parts,
        "steps": steps,
        "steps_left_out": left_out,
    }))
}

fn options(variant: &Variant, seed: Option<u64>) -> Options {
    let mut options = Options::new(seed.unwrap_or_else(|| variant.scenario.seed.get()));
    options.fast_forward_events = Some(FAST_FORWARD_EVENTS);
    options.memory_bytes_max = Some(MEMORY_BYTES_MAX);
    options
}

fn simulate(
    file: &File,
    variant: &Variant,
    options: &Options,
    seen: &mut Seen<'_>,
) -> Result<(Results, Vec<String>), String> {
    let simulation = Simulation::build(&variant.scenario, &LibraryFiles, options)
        .map_err(|error| file.error(error.place, error.what.as_str()).to_string())?;
    let graph = simulation.graph();
    let names = graph.nodes().map(|node| graph.name(node).to_owned()).collect();
    let results = simulation.run(seen).map_err(|error| error.to_string())?;
    if results.end_reason == EndReason::MemoryLimit {
        return Err(format!("{}: not enough memory in a page; use `wiremend run`", file.source()));
    }
    Ok((results, names))
}

/// Most flows of an answer.
const FLOWS_MAX: usize = 200;

/// What a run shows while it goes on.
struct Seen<'a> {
    report: &'a mut dyn FnMut(&Progress),
    goodput: GoodputMeter,
    search: FlowSearch,
    /// The slowest flows, in no order: a few more than [`FLOWS_MAX`].
    flows: Vec<FlowRow>,
}

impl<'a> Seen<'a> {
    fn new(report: &'a mut dyn FnMut(&Progress), wanted: Option<u64>) -> Self {
        Self { report, goodput: GoodputMeter::new(None), search: FlowSearch::new(wanted), flows: Vec::new() }
    }

    fn sort_flows(&mut self) {
        self.flows
            .sort_by_key(|row| (row.outcome.is_finished(), std::cmp::Reverse(row.fct().as_ps()), row.flow));
        self.flows.truncate(FLOWS_MAX);
    }

    /// The slowest flows, so that a reader can choose one.
    fn slow_first(&mut self) -> Vec<Value> {
        self.sort_flows();
        let flow = |row: &FlowRow| {
            json!({
                "flow": row.flow,
                "src": row.src,
                "dst": row.dst,
                "bytes": row.bytes,
                "fct_ps": row.fct().as_ps(),
                "outcome": row.outcome.key(),
                "timeouts": row.timeouts,
            })
        };
        self.flows.iter().map(flow).collect()
    }
}

impl Observer for Seen<'_> {
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        self.goodput.add(row);
        self.search.add(row);
        self.flows.push(*row);
        if self.flows.len() == 8 * FLOWS_MAX {
            self.sort_flows();
        }
        Ok(())
    }

    fn on_progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        (self.report)(progress);
        if self.search.has_ended() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
