//! `wiremend trace`: the packets of one flow as a ladder diagram, and where its time went.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::{Value, json};
use wiremend_measure::{
    Breakdown, DeadlockReport, Fate, FlowOutcome, FlowRow, FlowTrace, TimePart, TraceEvent, TracePacket,
    TraceRecord,
};
use wiremend_report::{
    AtomicFile, Ladder, breakdown_text, deadlock, human, perfetto_trace, plot, write_atomic,
};
use wiremend_runner::{Input, Runner};
use wiremend_scenario::Variant;
use wiremend_sim::{EndReason, Observer, Options, Progress, Results};
use wiremend_units::{FlowId, NodeId};

use crate::args::{FlowChoice, Trace};
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

pub(super) fn run(args: &Trace) -> Result<Answer, Failure> {
    signals::catch()?;
    let input = Input::load(&args.scenario.name, &args.scenario.set)?;
    let wanted: Vec<String> = args.variant.iter().cloned().collect();
    let variant = input.variants(&wanted)?[0];
    let mut options =
        Runner::new().options(args.scenario.seed.unwrap_or_else(|| variant.scenario.seed.get()));
    let flow = match args.flow {
        FlowChoice::Number(number) => number,
        FlowChoice::Slowest => slowest(&input, variant, &options)?,
    };
    options.trace = Some(FlowId(flow));
    options.trace_others = args.perfetto.is_some();
    let mut seen = Seen { wanted: Some(flow), ..Seen::default() };
    let (results, names) = simulate(&input, variant, &options, &mut seen)?;
    let trace = &results.trace;
    if trace.records.is_empty() {
        return Err(Failure::Input(seen.no_such_flow(flow)));
    }
    let name = |node: NodeId| names[node.index()].clone();
    if let Some(path) = &args.perfetto {
        write_perfetto(path, &title(&input, variant, flow), trace, &name)?;
    }
    let breakdown = Breakdown::new(trace);
    if args.json {
        let steps: Vec<_> = trace.records.iter().map(|record| step(record, &name)).collect();
        terminal::print(&format!(
            "{:#}\n",
            json!({
                "flow": flow,
                "variant": variant.name,
                "breakdown_ps": breakdown.as_ref().map(breakdown_json),
                "deadlock": stopping_deadlock(&results),
                "steps": steps,
                "steps_left_out": trace.left_out,
            })
        ))?;
        return Ok(Answer::Yes);
    }
    let title = title(&input, variant, flow);
    let ladder = Ladder::new(&title, trace, name, args.steps as usize);
    match &args.svg {
        Some(path) => {
            write_atomic(path, &plot::standalone(&ladder.svg())).map_err(|error| Failure::file(&error))?;
        }
        None => terminal::print(&ladder.text(terminal::stdout()))?,
    }
    terminal::print(&explanation(&results, variant, breakdown.as_ref()))?;
    Ok(Answer::Yes)
}

/// Writes the trace for Perfetto and says what it leaves out.
fn write_perfetto(
    path: &Path,
    title: &str,
    trace: &FlowTrace,
    name: &impl Fn(NodeId) -> String,
) -> Result<(), Failure> {
    let mut file = AtomicFile::create(path).map_err(|error| Failure::file(&error))?;
    file.write_all(&perfetto_trace(title, trace, name))
        .and_then(|()| file.finish())
        .map_err(|error| Failure::file(&error))?;
    if let Some(last) = trace.others.last().filter(|_| trace.others_left_out > 0) {
        terminal::print_message(&format!(
            "{}: holds the traffic from the start of the flow to its end; of other connections only the first {} frames \
             on links, until {}, and not {} later ones",
            path.display(),
            human::count(trace.others.len() as u64),
            human::time_ns(last.time.as_ps() as f64 / 1e3),
            human::count(trace.others_left_out),
        ));
    }
    if trace.left_out > 0 {
        terminal::print_message(&format!(
            "{}: leaves out {} steps of the flow",
            path.display(),
            human::count(trace.left_out)
        ));
    }
    Ok(())
}

/// Returns where the flow's time went, and the deadlock that stopped it.
fn explanation(results: &Results, variant: &Variant, breakdown: Option<&Breakdown>) -> String {
    let mut text = match breakdown {
        Some(breakdown) => format!("\n{}", breakdown_text(breakdown, terminal::stdout())),
        None => format!(
            "\n{} steps of the flow were not kept, so its time is not broken down\n",
            results.trace.left_out
        ),
    };
    if let Some(found) = stopping_deadlock(results) {
        let line = deadlock(&results.summary(&variant.name), found);
        let _ = writeln!(text, "\nA deadlock stopped this flow. {line}");
    }
    text
}

/// Returns the deadlock that ended the run, and so the flow.
fn stopping_deadlock(results: &Results) -> Option<&DeadlockReport> {
    let is_stopped =
        results.trace.records.last().is_some_and(|record| {
            matches!(record.event, TraceEvent::Failed { outcome: FlowOutcome::Deadlock })
        });
    results.deadlock.as_ref().filter(|_| is_stopped)
}

fn breakdown_json(breakdown: &Breakdown) -> Value {
    let parts = TimePart::ALL.map(|part| (part.key().to_owned(), breakdown.get(part).as_ps().into()));
    Value::Object(parts.into_iter().collect())
}

fn title(input: &Input, variant: &Variant, flow: u64) -> String {
    match input.file.variants.len() {
        1 => format!("flow {flow}: {}", input.title()),
        _ => format!("flow {flow}, {}: {}", variant.name, input.title()),
    }
}

/// Returns the slowest flow; a flow that did not finish is slower than any other.
fn slowest(input: &Input, variant: &Variant, options: &Options) -> Result<u64, Failure> {
    let mut seen = Seen::default();
    simulate(input, variant, options, &mut seen)?;
    let (_, flow) =
        seen.slowest.ok_or_else(|| Failure::Input(format!("{}: no flow ended", input.file.source())))?;
    Ok(flow)
}

fn simulate(
    input: &Input,
    variant: &Variant,
    options: &Options,
    seen: &mut Seen,
) -> Result<(Results, Vec<String>), Failure> {
    let simulation = Runner::new().build(input, variant, options)?;
    let graph = simulation.graph();
    let names = graph.nodes().map(|node| graph.name(node).to_owned()).collect();
    let results = simulation.run(seen).map_err(|error| Failure::file(&error))?;
    match results.end_reason {
        EndReason::MemoryLimit => Err(Failure::Environment(format!(
            "{}: not enough memory for the frames and flows in flight; limit them by transport.window",
            input.file.source()
        ))),
        // The traced flow has ended, or Ctrl-C was pressed.
        _ => signals::caught().map_or(Ok((results, names)), |signal| Err(Failure::Interrupted(signal))),
    }
}

/// Statistics of the flows of a run.
#[derive(Default)]
struct Seen {
    /// The run may stop after this flow.
    wanted: Option<u64>,
    has_ended: bool,
    slowest: Option<((bool, u64), u64)>,
    flows: u64,
    numbers: Option<(u64, u64)>,
}

impl Seen {
    fn no_such_flow(&self, flow: u64) -> String {
        match self.numbers {
            None => "--flow: this run has no flows".to_owned(),
            Some((first, last)) => {
                let count = self.flows;
                format!(
                    "--flow: no flow {flow}; this run has {count}, numbered from {first} to {last}; see flows.csv"
                )
            }
        }
    }
}

impl Observer for Seen {
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        self.flows += 1;
        let (first, last) = self.numbers.unwrap_or((row.flow, row.flow));
        self.numbers = Some((first.min(row.flow), last.max(row.flow)));
        let took = ((!row.outcome.is_finished(), row.fct().as_ps()), row.flow);
        // The first of several equally slow flows.
        if self.slowest.is_none_or(|slowest| took.0 > slowest.0) {
            self.slowest = Some(took);
        }
        self.has_ended |= self.wanted == Some(row.flow);
        Ok(())
    }

    fn on_progress(&mut self, _: &Progress) -> ControlFlow<()> {
        if self.has_ended || signals::caught().is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Renders a step as JSON.
fn step(record: &TraceRecord, name: &impl Fn(NodeId) -> String) -> Value {
    let packet = |packet: &TracePacket| json!({ "name": packet.name, "psn": packet.psn.get(), "retransmission": packet.retransmission });
    let (what, details) = match &record.event {
        TraceEvent::Posted { bytes } => ("posted", json!({ "bytes": bytes })),
        TraceEvent::Sent { packet: sent, to, arrive, wire, fate, .. } => (
            "sent",
            json!({
                "packet": packet(sent),
                "to": name(*to),
                "wire_ps": wire.as_ps(),
                "arrive_ps": arrive.as_ps(),
                "corrupted": *fate == Fate::Corrupt,
                "lost_on_failed_link": *fate == Fate::Failed,
            }),
        ),
        TraceEvent::Dropped { packet: dropped, reason } => {
            ("dropped", json!({ "packet": packet(dropped), "why": reason.describe() }))
        }
        TraceEvent::Accepted { psn } => ("accepted", json!({ "psn": psn.get() })),
        TraceEvent::Duplicate { psn } => ("duplicate", json!({ "psn": psn.get() })),
        TraceEvent::Gap { psn, expected } => ("gap", json!({ "psn": psn.get(), "expected": expected.get() })),
        TraceEvent::NakSent { expected } => ("nak", json!({ "expected": expected.get() })),
        TraceEvent::Rewound { psn } => ("rewound", json!({ "psn": psn.get() })),
        TraceEvent::TimerFired { oldest, cause } => (
            "timer",
            json!({ "oldest": oldest.get(), "cause": cause.map(wiremend_measure::TimeoutCause::key) }),
        ),
        TraceEvent::Window { packets } => ("window", json!({ "packets": packets })),
        TraceEvent::Paced { until } => ("paced", json!({ "until_ps": until.as_ps() })),
        TraceEvent::Completed => ("completed", json!({})),
        TraceEvent::Failed { outcome } => ("failed", json!({ "why": outcome.reason() })),
    };
    let mut step = json!({ "time_ps": record.time.as_ps(), "node": name(record.node), "what": what });
    if let (Value::Object(step), Value::Object(details)) = (&mut step, details) {
        step.extend(details);
    }
    step
}
