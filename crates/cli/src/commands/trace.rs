//! `wiremend trace`: the packets of one flow as a ladder diagram, and where its time went.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use serde_json::json;
use wiremend_measure::{Breakdown, DeadlockReport, FlowOutcome, FlowTrace, TraceEvent};
use wiremend_report::{
    AtomicFile, Ladder, breakdown_json, breakdown_text, deadlock, human, perfetto_trace, plot, trace_steps,
    write_atomic,
};
use wiremend_runner::{Input, Runner, TracedFlow};
use wiremend_scenario::Variant;
use wiremend_sim::Results;
use wiremend_units::NodeId;

use crate::args::{FlowChoice, Trace};
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

pub(super) fn run(args: &Trace) -> Result<Answer, Failure> {
    signals::catch()?;
    let input = Input::load(&args.scenario.name, &args.scenario.set)?;
    let wanted: Vec<String> = args.variant.iter().cloned().collect();
    let variant = input.variants(&wanted)?[0];
    let stop = signals::stop();
    let runner = Runner::new().stop(&stop);
    let mut options = runner.options(args.scenario.seed.unwrap_or_else(|| variant.scenario.seed.get()));
    let flow = match args.flow {
        FlowChoice::Number(number) => number,
        FlowChoice::Slowest => runner
            .slowest_flow(&input, variant, &options)?
            .ok_or_else(|| Failure::Input(format!("{}: no flow ended", input.file.source())))?,
    };
    options.trace_others = args.perfetto.is_some();
    let TracedFlow { results, names, flows } = runner.trace(&input, variant, flow, options)?;
    let trace = &results.trace;
    if trace.records.is_empty() {
        return Err(Failure::Input(format!("--flow: no flow {flow}; {}", flows.known_flows())));
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
