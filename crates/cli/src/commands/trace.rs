//! `wiremend trace`: the packets of one flow as a ladder diagram, and where its time went.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::json;
use wiremend_measure::{Breakdown, DeadlockReport, FlowOutcome, FlowRow, FlowSearch, FlowTrace, TraceEvent};
use wiremend_report::{
    AtomicFile, Ladder, breakdown_json, breakdown_text, deadlock, human, perfetto_trace, plot, trace_steps,
    write_atomic,
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
    let mut seen = Seen(FlowSearch::new(Some(flow)));
    let (results, names) = simulate(&input, variant, &options, &mut seen)?;
    let trace = &results.trace;
    if trace.records.is_empty() {
        return Err(Failure::Input(format!("--flow: no flow {flow}; {}", seen.0.known_flows())));
    }
    let name = |node: NodeId| names[node.index()].clone();
    if let Some(path) = &args.perfetto {
        write_perfetto(path, &title(&input, variant, flow), trace, &name)?;
    }
    let breakdown = Breakdown::new(trace);
    if args.json {
        terminal::print(&format!(
            "{:#}\n",
            json!({
                "flow": flow,
                "variant": variant.name,
                "breakdown_ps": breakdown.as_ref().map(breakdown_json),
                "deadlock": stopping_deadlock(&results),
                "steps": trace_steps(trace, name),
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

fn title(input: &Input, variant: &Variant, flow: u64) -> String {
    match input.file.variants.len() {
        1 => format!("flow {flow}: {}", input.title()),
        _ => format!("flow {flow}, {}: {}", variant.name, input.title()),
    }
}

/// Returns the slowest flow; a flow that did not finish is slower than any other.
fn slowest(input: &Input, variant: &Variant, options: &Options) -> Result<u64, Failure> {
    let mut seen = Seen(FlowSearch::default());
    simulate(input, variant, options, &mut seen)?;
    seen.0.slowest().ok_or_else(|| Failure::Input(format!("{}: no flow ended", input.file.source())))
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

/// Looks for a flow while a run goes on.
struct Seen(FlowSearch);

impl Observer for Seen {
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        self.0.add(row);
        Ok(())
    }

    fn on_progress(&mut self, _: &Progress) -> ControlFlow<()> {
        if self.0.has_ended() || signals::caught().is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
