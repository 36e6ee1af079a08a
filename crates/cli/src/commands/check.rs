//! `wiremend check`: possible deadlocks of a lossless network.

use std::fmt::Write as _;

use serde_json::{Value, json};
use wiremend_fabric::deadlock::{
    CheckError, DeadlockCheck, DeadlockVerdict, Destination, FailureCase, FailureCases, FailureSurvey,
    LaneCycle, LaneOrder, Reroute, RouteOverride,
};
use wiremend_fabric::{Graph, Node, Topology};
use wiremend_report::human;
use wiremend_runner::Input;
use wiremend_sim::ForwardingPhase;
use wiremend_units::{NodeId, Rate, Span, Time};

use crate::args::explain::Check as CheckArgs;
use crate::commands::lossless_buffers::Buffers;
use crate::failure::{Answer, Failure};
use crate::terminal;

/// Maximum number of printed cycles; JSON has more.
const SHOWN_MAX: usize = 8;
/// Maximum number of printed names in a list.
const NAMES_MAX: usize = 6;

pub(super) fn run(args: &CheckArgs) -> Result<Answer, Failure> {
    let input = Input::load(&args.scenario, &args.set)?;
    let variant = input.variants(args.variant.as_slice())?[0];
    let (graph, topology) =
        wiremend_sim::build_graph(&variant.scenario).map_err(|error| input.build_error(&error))?;
    let overrides = args.overrides.iter().map(|text| parse_override(&graph, text));
    let overrides = overrides.collect::<Result<Vec<_>, _>>()?;
    let refused = |error: CheckError| Failure::Input(described(&graph, &error));
    let phases = wiremend_sim::forwarding_phases(&variant.scenario, &graph)
        .map_err(|error| input.build_error(&error))?;
    let (phase, check, verdict) = worst(&graph, phases, &overrides).map_err(refused)?;
    let as_built = overrides.is_empty() && phase.overrides.is_empty();
    let failures = failures(args.fail, topology.as_ref().filter(|_| as_built), &graph);
    let failures = failures.map_err(refused)?;
    let survey = failures.and_then(|failures| check.survey(&failures));
    let buffers = Buffers::new(args, &input, &variant.scenario)?;
    let report = Report {
        args,
        buffers: &buffers,
        graph: &graph,
        phase: &phase,
        check: &check,
        verdict: &verdict,
        survey: survey.as_ref(),
    };
    terminal::print(&if args.json { format!("{:#}\n", report.json()) } else { report.text() })?;
    let is_cyclic = |survey: &FailureSurvey| survey.cyclic_everywhere + survey.cyclic_at_the_link > 0;
    let is_free = verdict.order.is_some() && !survey.as_ref().is_some_and(is_cyclic);
    Ok(if is_free { Answer::Yes } else { Answer::No })
}

/// Returns the first phase whose routes have cycles, or else the last phase with entries of the scenario, or the only one.
fn worst<'g>(
    graph: &'g Graph,
    phases: Vec<ForwardingPhase>,
    overrides: &[RouteOverride],
) -> Result<(ForwardingPhase, DeadlockCheck<'g>, DeadlockVerdict), CheckError> {
    let mut worst = None;
    for phase in phases {
        // Overrides of the command line replace those of the scenario.
        let is_new = |one: &&RouteOverride| {
            !overrides.iter().any(|args| (args.switch, args.to) == (one.switch, one.to))
        };
        let all: Vec<_> = overrides.iter().chain(phase.overrides.iter().filter(is_new)).copied().collect();
        let check = DeadlockCheck::new(graph, &all)?;
        let verdict = check.verdict();
        let is_cyclic = verdict.order.is_none();
        if worst.is_none() || is_cyclic || !phase.overrides.is_empty() {
            worst = Some((phase, check, verdict));
        }
        if is_cyclic {
            break;
        }
    }
    Ok(worst.expect("time has a phase"))
}

fn failures(
    count: u32,
    topology: Option<&Topology>,
    graph: &Graph,
) -> Result<Option<FailureCases>, CheckError> {
    let alike =
        topology.filter(|_| count == 1).and_then(|shape| FailureCases::one_of_each_kind(shape, graph));
    match (count, alike) {
        (0, _) => Ok(None),
        (_, Some(alike)) => Ok(Some(alike)),
        _ => FailureCases::up_to(count, graph).map(Some),
    }
}

/// Parses `SWITCH:DEST:NEXT`. Names may contain colons: the split with three known names is used.
fn parse_override(graph: &Graph, text: &str) -> Result<RouteOverride, Failure> {
    let node = |name: &str| graph.node_by_name(name);
    let colons: Vec<usize> = text.match_indices(':').map(|(at, _)| at).collect();
    for (place, first) in colons.iter().enumerate() {
        for second in &colons[place + 1..] {
            let names = (node(&text[..*first]), node(&text[first + 1..*second]), node(&text[second + 1..]));
            if let (Some(at), Some(to), Some(next)) = names
                && let Node::Switch(switch) = graph.node(at)
            {
                return Ok(RouteOverride { switch, to, next });
            }
        }
    }
    Err(Failure::Input(format!("--override {text}: {}", override_error(graph, text))))
}

fn override_error(graph: &Graph, text: &str) -> String {
    let parts: Vec<&str> = text.split(':').collect();
    let [at, to, next] = parts[..] else {
        return "write SWITCH:DEST:NEXT, such as edge0-0:h3:agg0-1".to_owned();
    };
    let switches: Vec<&str> = graph.switches().map(|switch| graph.name(graph.switch_node(switch))).collect();
    match graph.node_by_name(at).map(|node| graph.node(node)) {
        None => return wiremend_units::unknown_name("switch", at, &switches),
        Some(Node::Host(_)) => return format!("`{at}` is a host, not a switch"),
        Some(Node::Switch(_)) => {}
    }
    let all: Vec<&str> = graph.nodes().map(|node| graph.name(node)).collect();
    let (what, name) =
        if graph.node_by_name(to).is_none() { ("destination", to) } else { ("neighbour", next) };
    wiremend_units::unknown_name(what, name, &all)
}

fn described(graph: &Graph, error: &CheckError) -> String {
    let option = match error {
        CheckError::TooManyCases { .. } => "--fail: ",
        CheckError::TooDense { .. } => "",
        _ => "--override: ",
    };
    format!("{option}{}", error.describe(graph))
}

/// The result to render.
struct Report<'a> {
    args: &'a CheckArgs,
    buffers: &'a Buffers,
    graph: &'a Graph,
    /// The phase of the checked routes.
    phase: &'a ForwardingPhase,
    check: &'a DeadlockCheck<'a>,
    verdict: &'a DeadlockVerdict,
    survey: Option<&'a FailureSurvey>,
}

impl Report<'_> {
    fn text(&self) -> String {
        let count = |count: usize| human::count(count as u64);
        let mut text = format!(
            "Checked    {} switches, {} lanes between them, {} destination classes, {} dependencies\n",
            count(self.graph.switch_count() as usize),
            count(self.check.lane_count()),
            count(self.check.class_count()),
            human::count(self.verdict.dependencies)
        );
        if !self.phase.overrides.is_empty() {
            text.push_str(&labelled("Routes", &self.when()));
        }
        text.push_str(&labelled("Classes", &self.buffers.describe()));
        if let Some(order) = self.verdict.order {
            text.push_str(&labelled("Verdict", "no deadlock: no buffer can wait for itself on these routes"));
            text.push_str(&labelled("Reason", &reason(order)));
        } else {
            let lanes: u32 = self.verdict.components.iter().map(|component| component.lanes).sum();
            let cycles = format!("{} lanes can wait for each other in cycles", human::count(lanes.into()));
            text.push_str(&labelled("Verdict", &cycles));
        }
        text.push_str(&self.cycles(self.verdict, SHOWN_MAX));
        match self.survey {
            Some(survey) => text.push_str(&self.surveyed(survey)),
            None if self.args.fail > 0 => {
                text.push_str(&labelled(
                    "Failures",
                    "not checked, because the routes have cycles without any failure",
                ));
            }
            None => {}
        }
        text
    }

    /// Describes when the entries of the scenario are active.
    fn when(&self) -> String {
        let ForwardingPhase { start, stop, overrides } = self.phase;
        let until = stop.map_or("on".to_owned(), |stop| format!("to {stop}"));
        let entries = match overrides.len() {
            1 => "an entry".to_owned(),
            many => format!("{} entries", human::count(many as u64)),
        };
        format!("from {start} {until}, with {entries} of the scenario")
    }

    fn cycles(&self, verdict: &DeadlockVerdict, max: usize) -> String {
        let (mut text, mut figures) = (String::new(), String::new());
        let all: Vec<&LaneCycle> =
            verdict.components.iter().flat_map(|component| &component.cycles).collect();
        for cycle in all.iter().take(max) {
            let lanes = some(cycle.lanes.iter().map(|lane| self.graph.lane_name(*lane)), " → ");
            if cycle.looping.is_empty() {
                let what = format!("{} lanes, without a routing loop: {lanes}", cycle.lanes.len());
                text.push_str(&labelled("Cycle", &what));
                continue;
            }
            let whose = some(cycle.looping.iter().map(|whose| self.destination(*whose)), ", ");
            let what = format!("of {} switches, for {whose}: {lanes}", cycle.lanes.len());
            text.push_str(&labelled("Loop", &what));
            // Equivalent loops have the same figures, which are printed once.
            if figures != self.filling(cycle) {
                figures = self.filling(cycle);
                text.push_str(&labelled("", &figures));
            }
        }
        if all.len() > max {
            let more = format!("and {} more; --json has them", all.len() - max);
            text.push_str(&labelled("", &more));
        }
        text
    }

    fn filling(&self, cycle: &LaneCycle) -> String {
        let Some(figures) = self.figures(cycle) else { return String::new() };
        let Buffers { ttl, alpha, shared: buffer, .. } = self.buffers;
        let mut text = format!(
            "deadlock above {} at TTL {ttl} (B/⌈TTL/n⌉; as a fluid, nB/TTL, {}); ",
            figures.exact, figures.fluid
        );
        let _ = match figures.fill {
            Some(fill) => {
                write!(text, "at {} in about {fill} (α = {alpha}, {buffer} shared)", figures.injected)
            }
            None => write!(text, "no deadlock at {}", figures.injected),
        };
        text
    }

    fn figures(&self, cycle: &LaneCycle) -> Option<Figures> {
        let Buffers { ttl, alpha, shared: buffer, .. } = *self.buffers;
        let found = cycle.routing_loop(self.graph)?;
        let injected = self.args.rate.unwrap_or(found.rate);
        Some(Figures {
            exact: found.exact_rate(ttl),
            fluid: found.fluid_rate(ttl),
            injected,
            fill: found.time_to_fill(injected, ttl, alpha, buffer),
        })
    }

    fn surveyed(&self, survey: &FailureSurvey) -> String {
        let how = if survey.by_symmetry {
            format!(" ({} checked, which represent all equivalent ones)", survey.examined)
        } else {
            String::new()
        };
        let cases = human::count(survey.cases);
        let combinations = if survey.cases == 1 { "combination" } else { "combinations" };
        let none_or = |count: u64| if count == 0 { "none".to_owned() } else { human::count(count) };
        let what = format!(
            "{cases} {combinations} of up to {}{how}: {} with cycles while only the switches at the link have rerouted, {} \
             after all have rerouted",
            if self.args.fail == 1 {
                "1 failed link".to_owned()
            } else {
                format!("{} failed links", self.args.fail)
            },
            none_or(survey.cyclic_at_the_link),
            none_or(survey.cyclic_everywhere),
        );
        let mut text = labelled("Failures", &what);
        for case in survey.examples.iter().take(SHOWN_MAX / 2) {
            let links = some(case.links.iter().map(|link| self.graph.link_name(*link)), ", ");
            text.push_str(&labelled("Without", &format!("{links}, {}", in_words(case.reroute))));
            text.push_str(&self.cycles(&case.verdict, 1));
        }
        text
    }

    fn destination(&self, destination: Destination) -> String {
        match destination.host {
            Some(host) => self.name(self.graph.host_node(host)),
            None => format!("hosts of {}", self.name(self.graph.switch_node(destination.tor))),
        }
    }

    fn name(&self, node: NodeId) -> String {
        self.graph.name(node).to_owned()
    }

    fn json(&self) -> Value {
        let mut value = self.verdict_json(self.verdict);
        value["scenario"] = json!(self.args.scenario);
        value["switches"] = json!(self.graph.switch_count());
        value["lanes"] = json!(self.check.lane_count());
        let ForwardingPhase { start, stop, overrides } = self.phase;
        value["routes"] = json!({
            "entries": overrides.len(),
            "start_s": start.since(Time::ZERO).as_secs_f64(),
            "stop_s": stop.map(|stop| stop.since(Time::ZERO).as_secs_f64()),
        });
        value["classes"] = json!(self.check.class_count());
        value["buffers"] = self.buffers.json();
        value["failures"] = json!(self.survey.map(|survey| {
            let case = |case: &FailureCase| {
                let mut value = self.verdict_json(&case.verdict);
                let links: Vec<_> = case.links.iter().map(|link| self.graph.link_name(*link)).collect();
                value["links"] = json!(links);
                value["stands_for"] = json!(case.stands_for);
                value["rerouted"] = json!(match case.reroute {
                    Reroute::Everywhere => "everywhere",
                    Reroute::AtTheLink => "at-the-link",
                });
                value
            };
            json!({
                "cases": survey.cases,
                "examined": survey.examined,
                "by_symmetry": survey.by_symmetry,
                "cyclic_at_the_link": survey.cyclic_at_the_link,
                "cyclic_everywhere": survey.cyclic_everywhere,
                "examples": survey.examples.iter().map(case).collect::<Vec<_>>(),
            })
        }));
        value
    }

    fn verdict_json(&self, verdict: &DeadlockVerdict) -> Value {
        let components = verdict.components.iter().map(|component| {
            let cycles: Vec<_> = component.cycles.iter().map(|cycle| self.cycle_json(cycle)).collect();
            json!({ "lanes": component.lanes, "cycles": cycles })
        });
        json!({
            "deadlock_free": verdict.order.is_some(),
            "dependencies": verdict.dependencies,
            "order": verdict.order.map(|order| json!({ "ranks": order.ranks, "up_down": order.up_down })),
            "components": components.collect::<Vec<_>>(),
        })
    }

    fn cycle_json(&self, cycle: &LaneCycle) -> Value {
        let switch = |lane: &wiremend_units::LaneId| self.name(self.graph.lane_from(*lane));
        let mut value = json!({
            "kind": if cycle.looping.is_empty() { "dependency" } else { "loop" },
            "lanes": cycle.lanes.iter().map(|lane| self.graph.lane_name(*lane)).collect::<Vec<_>>(),
            "switches": cycle.lanes.iter().map(switch).collect::<Vec<_>>(),
            "destinations": cycle.looping.iter().map(|whose| self.destination(*whose)).collect::<Vec<_>>(),
        });
        if let Some(figures) = self.figures(cycle) {
            value["least_rate_bps"] = json!(figures.exact.bits_per_s());
            value["least_rate_fluid_bps"] = json!(figures.fluid.bits_per_s());
            value["rate_bps"] = json!(figures.injected.bits_per_s());
            value["time_to_fill_s"] = json!(figures.fill.map(Span::as_secs_f64));
        }
        value
    }
}

/// When a loop becomes a deadlock.
struct Figures {
    exact: Rate,
    fluid: Rate,
    injected: Rate,
    fill: Option<Span>,
}

/// Explains why there is no cycle.
fn reason(order: LaneOrder) -> String {
    let up_down = if order.up_down {
        "every route goes up, away from the hosts, and then down: no downward lane waits for an upward one. "
    } else {
        ""
    };
    let ranks = order.ranks;
    format!("{up_down}The lanes have {ranks} ranks, and each waits only for lanes of a higher rank")
}

fn in_words(reroute: Reroute) -> &'static str {
    match reroute {
        Reroute::Everywhere => "after all switches have rerouted",
        Reroute::AtTheLink => "while only the switches at the link have rerouted",
    }
}

/// Joins the first names and counts the rest.
fn some(names: impl ExactSizeIterator<Item = String>, between: &str) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let mut text = names.take(NAMES_MAX).collect::<Vec<_>>().join(between);
    if more > 0 {
        let _ = write!(text, "{between}{more} more");
    }
    text
}

/// Renders a label and text wrapped to the width of the terminal.
fn labelled(label: &str, text: &str) -> String {
    const INDENT: usize = 11;
    let lines = wiremend_report::terminal::wrap(text, terminal::stdout().width.saturating_sub(INDENT));
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    lines.lines().zip(labels).fold(String::new(), |mut all, (line, label)| {
        let _ = writeln!(all, "{label:<INDENT$}{line}");
        all
    })
}
