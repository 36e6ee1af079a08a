//! `wiremend trace`: the packets of one flow as a ladder diagram.

use std::io;
use std::ops::ControlFlow;

use serde_json::{Value, json};
use wiremend_measure::{Fate, FlowRow, TraceEvent, TracePacket, TraceRecord};
use wiremend_report::{Ladder, plot, write_atomic};
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
    let mut seen = Seen { wanted: Some(flow), ..Seen::default() };
    let (results, names) = simulate(&input, variant, &options, &mut seen)?;
    if results.trace.is_empty() {
        return Err(Failure::Input(seen.no_such_flow(flow)));
    }
    if results.trace_left_out > 0 {
        terminal::print_message(&format!(
            "the flow has {} more steps; only the first are shown",
            results.trace_left_out
        ));
    }
    let name = |node: NodeId| names[node.index()].clone();
    if args.json {
        let steps: Vec<_> = results.trace.iter().map(|record| step(record, &name)).collect();
        terminal::print(&format!(
            "{:#}\n",
            json!({ "flow": flow, "variant": variant.name, "steps": steps })
        ))?;
        return Ok(Answer::Yes);
    }
    let title = title(&input, variant, flow);
    let ladder = Ladder::new(&title, &results.trace, name, args.steps as usize);
    match &args.svg {
        Some(path) => {
            write_atomic(path, &plot::standalone(&ladder.svg())).map_err(|error| Failure::file(&error))?;
        }
        None => terminal::print(&ladder.text(terminal::stdout()))?,
    }
    Ok(Answer::Yes)
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
        TraceEvent::Sent { packet: sent, to, arrive, fate } => (
            "sent",
            json!({
                "packet": packet(sent),
                "to": name(*to),
                "arrive_ps": arrive.as_ps(),
                "corrupted": *fate == Fate::Corrupt,
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
        TraceEvent::Completed => ("completed", json!({})),
        TraceEvent::Failed { outcome } => ("failed", json!({ "why": outcome.reason() })),
    };
    let mut step = json!({ "time_ps": record.time.as_ps(), "node": name(record.node), "what": what });
    if let (Value::Object(step), Value::Object(details)) = (&mut step, details) {
        step.extend(details);
    }
    step
}
