//! `wiremend trace`: one flow as a ladder.

use std::io;
use std::ops::ControlFlow;

use serde_json::{Value, json};
use wiremend_measure::{Fate, FlowRow, TracePacket, TraceRecord, TraceWhat};
use wiremend_report::{Ladder, plot, write_whole};
use wiremend_runner::{Input, Runner};
use wiremend_scenario::Variant;
use wiremend_sim::{Ending, Observer, Options, Progress, Results};
use wiremend_units::{FlowId, NodeId};

use crate::args::{FlowChoice, Trace};
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

pub(super) fn run(asked: &Trace) -> Result<Answer, Failure> {
    signals::catch()?;
    let input = Input::load(&asked.scenario.name, &asked.scenario.set)?;
    let wanted: Vec<String> = asked.variant.iter().cloned().collect();
    let variant = input.variants(&wanted)?[0];
    let mut options =
        Runner::new().options(asked.scenario.seed.unwrap_or_else(|| variant.scenario.seed.get()));
    let flow = match asked.flow {
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
        terminal::say(&format!("the flow has {} more steps; the first are kept", results.trace_left_out));
    }
    let name = |node: NodeId| names[node.index()].clone();
    if asked.json {
        let steps: Vec<_> = results.trace.iter().map(|record| step(record, &name)).collect();
        terminal::print(&format!(
            "{:#}\n",
            json!({ "flow": flow, "variant": variant.name, "steps": steps })
        ))?;
        return Ok(Answer::Yes);
    }
    let title = title(&input, variant, flow);
    let ladder = Ladder::new(&title, &results.trace, name, asked.steps as usize);
    match &asked.svg {
        Some(path) => {
            write_whole(path, &plot::standalone(&ladder.svg())).map_err(|error| Failure::file(&error))?;
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

/// The flow that took longest; one that never finished takes longer than any other.
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
    match results.ending {
        Ending::Memory => Err(Failure::Environment(format!(
            "{}: the frames and flows under way need more memory than is free; bound them by transport.window",
            input.file.source()
        ))),
        // The traced flow has ended and nothing else matters, or somebody pressed Ctrl-C.
        _ => signals::caught().map_or(Ok((results, names)), |signal| Err(Failure::Interrupted(signal))),
    }
}

/// What is remembered of the flows of a run.
#[derive(Default)]
struct Seen {
    /// The run may end with this flow.
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
        // Of several that took as long, the first.
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

/// A step for programs.
fn step(record: &TraceRecord, name: &impl Fn(NodeId) -> String) -> Value {
    let packet = |packet: &TracePacket| json!({ "name": packet.name, "psn": packet.psn.get(), "again": packet.retransmission });
    let (what, details) = match &record.what {
        TraceWhat::Posted { bytes } => ("posted", json!({ "bytes": bytes })),
        TraceWhat::Sent { packet: sent, to, arrive, fate } => (
            "sent",
            json!({
                "packet": packet(sent),
                "to": name(*to),
                "arrive_ps": arrive.as_ps(),
                "corrupted": *fate == Fate::Corrupt,
            }),
        ),
        TraceWhat::Dropped { packet: dropped, why } => {
            ("dropped", json!({ "packet": packet(dropped), "why": why.reason() }))
        }
        TraceWhat::Accepted { psn } => ("accepted", json!({ "psn": psn.get() })),
        TraceWhat::Duplicate { psn } => ("duplicate", json!({ "psn": psn.get() })),
        TraceWhat::Gap { psn, expected } => ("gap", json!({ "psn": psn.get(), "expected": expected.get() })),
        TraceWhat::NakSent { expected } => ("nak", json!({ "expected": expected.get() })),
        TraceWhat::Rewound { psn } => ("rewound", json!({ "psn": psn.get() })),
        TraceWhat::TimerFired { oldest, cause } => (
            "timer",
            json!({ "oldest": oldest.get(), "cause": cause.map(wiremend_measure::TimeoutCause::key) }),
        ),
        TraceWhat::Completed => ("completed", json!({})),
        TraceWhat::Failed { outcome } => ("failed", json!({ "why": outcome.reason() })),
    };
    let mut step = json!({ "time_ps": record.time.as_ps(), "node": name(record.node), "what": what });
    if let (Value::Object(step), Value::Object(details)) = (&mut step, details) {
        step.extend(details);
    }
    step
}
