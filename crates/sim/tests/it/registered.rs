//! Registered entries: a congestion control with all inputs, a recovery policy, an application and an
//! impairment, each by its name in a scenario, with equal results on any number of threads and errors with
//! their place.

use std::sync::{Arc, Mutex};

use crate::common::{NoFiles, rows_of};
use wiremend_impair::{CorruptionModel, FrameFacts, FrameKind};
use wiremend_proto::cc::{Ack, AckFeedback, Algorithm, Controller, Needs, PathProperties, SentPacket};
use wiremend_proto::sr::{AckEvent, Config, CustomScheme, RecoveryPolicy, Scoreboard};
use wiremend_scenario::{Scenario, load_with};
use wiremend_sim::{
    Action, Application, Options, Post, Registry, Results, Simulation, SimulationPlan, WorkloadContext,
};
use wiremend_units::{BadSetting, FlowId, HostId, Settings, Span, Time};

/// Inputs of a congestion control, over all connections.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
struct Inputs {
    sent: u64,
    acks: u64,
    marks: u64,
    naks: u64,
    cnps: u64,
    hops: Vec<usize>,
    round_trip_min: Option<Span>,
}

#[derive(Clone, Debug)]
struct Recording {
    window: u32,
    inputs: Arc<Mutex<Inputs>>,
}

impl Algorithm for Recording {
    fn new_controller(&self, path: &PathProperties) -> Box<dyn Controller> {
        assert!(path.round_trip > Span::ZERO && path.hops > 0);
        Box::new(self.clone())
    }

    fn needs(&self) -> Needs {
        let cnp_interval = Some(Span::from_us(5));
        Needs { acks: true, path: true, cnp_interval, ack_feedback: AckFeedback::Telemetry }
    }
}

impl Controller for Recording {
    fn on_transmit(&mut self, _: Time, _: SentPacket) {
        self.inputs.lock().unwrap().sent += 1;
    }

    fn eligible(&self) -> Time {
        Time::ZERO
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        let feedback = ack.feedback.expect("each acknowledgement brings something back");
        let mut inputs = self.inputs.lock().unwrap();
        inputs.acks += 1;
        inputs.marks += u64::from(feedback.is_marked);
        let hops = feedback.hops();
        if !inputs.hops.contains(&hops.len()) {
            inputs.hops.push(hops.len());
        }
        for pair in hops.windows(2) {
            assert!(pair[0].departed_at < pair[1].departed_at, "switches are passed in order");
        }
        assert!(hops.iter().all(|hop| hop.departed_at > feedback.sent_at
            && hop.departed_at < now
            && hop.sent_bytes.get() > 0));
        let round_trip = feedback.round_trip(now);
        inputs.round_trip_min = Some(inputs.round_trip_min.map_or(round_trip, |least| least.min(round_trip)));
    }

    fn on_nak(&mut self, _: Time) {
        self.inputs.lock().unwrap().naks += 1;
    }

    fn on_cnp(&mut self, _: Time) {
        self.inputs.lock().unwrap().cnps += 1;
    }

    fn window(&self) -> u32 {
        self.window
    }
}

/// Retransmits the oldest missing packet after a NAK or a timeout.
#[derive(Debug)]
struct OldestFirst;

#[derive(Debug, Default)]
struct Oldest {
    lost: Option<u64>,
}

impl CustomScheme for OldestFirst {
    fn name(&self) -> &'static str {
        "oldest-first"
    }

    fn new_policy(&self, _: &Config) -> Box<dyn RecoveryPolicy> {
        Box::<Oldest>::default()
    }

    fn naks_gaps(&self) -> bool {
        true
    }
}

impl RecoveryPolicy for Oldest {
    fn on_sent(&mut self, _: &Scoreboard, _: Time, _: u64, retransmission: bool) {
        if retransmission {
            self.lost = None;
        }
    }

    fn on_ack(&mut self, _: &Config, scoreboard: &Scoreboard, _: Time, event: &AckEvent) {
        self.lost = if event.nak {
            Some(scoreboard.una)
        } else {
            self.lost.filter(|lost| !scoreboard.has_arrived(*lost))
        };
    }

    fn on_expiry(&mut self, _: &Config, scoreboard: &Scoreboard, _: Time) {
        self.lost = Some(scoreboard.una);
    }

    fn next_retransmission(&self, scoreboard: &Scoreboard) -> Option<u64> {
        self.lost.filter(|lost| *lost < scoreboard.next)
    }
}

/// A sequence of messages to host 0, each after the completion of the one before.
struct Sequence {
    left: u64,
    next: FlowId,
    bytes: u32,
    begun: bool,
}

impl Application for Sequence {
    fn next_poll(&self) -> Time {
        if self.begun { Time::MAX } else { Time::ZERO }
    }

    fn poll(&mut self, _: Time, actions: &mut Vec<Action>) {
        self.begun = true;
        self.post(actions);
    }

    fn is_done(&self) -> bool {
        self.left == 0
    }

    fn on_completion(&mut self, _: Time, _: wiremend_sim::MessageResult, actions: &mut Vec<Action>) {
        self.post(actions);
    }
}

impl Sequence {
    fn post(&mut self, actions: &mut Vec<Action>) {
        if self.left > 0 {
            self.left -= 1;
            let post = Post { dst: HostId(0), bytes: self.bytes, flow: Some(self.next), ends_flow: true };
            actions.push(Action::Post(post));
            self.next.0 += 1;
        }
    }
}

fn sequences(
    settings: &mut Settings,
    site: WorkloadContext,
) -> Result<wiremend_sim::Applications, BadSetting> {
    let count = settings.take_within("count", 1..=1_000, 10_u64)?;
    let bytes = settings.require::<wiremend_units::Bytes>("bytes")?.get() as u32;
    let app = |host: u32| {
        let next = FlowId(site.first_flow.0 + u64::from(host) * count);
        let app: Box<dyn Application> = Box::new(Sequence { left: count, next, bytes, begun: false });
        (HostId(host), app)
    };
    Ok((1..site.hosts).map(app).collect())
}

/// Corrupts every n-th data frame.
#[derive(Debug)]
struct OneIn(u64, u64);

impl CorruptionModel for OneIn {
    fn corrupts(&mut self, frame: &FrameFacts) -> bool {
        self.1 += u64::from(frame.kind == FrameKind::Data);
        frame.kind == FrameKind::Data && self.1.is_multiple_of(self.0)
    }
}

const TEXT: &str = r#"
title = "what others bring"
[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 4
[transport]
congestion = { kind = "watching", window = 40 }
recovery = "oldest-first"
[switch.ecn]
kmin = "5kB"
kmax = "50kB"
pmax = 0.5
[[workload]]
kind = "sequences"
count = 5
bytes = "100kB"
[[impair]]
kind = "one-in"
links = "leaf1-spine0"
n = 40
"#;

fn registry(inputs: &Arc<Mutex<Inputs>>) -> Registry {
    let inputs = Arc::clone(inputs);
    let mut registry = Registry::default();
    registry
        .congestion("watching", move |settings| {
            let window = settings.take_within("window", 1..=1_000, 10_u64)? as u32;
            Ok(Recording { window, inputs: Arc::clone(&inputs) })
        })
        .recovery("oldest-first", |_| Ok(OldestFirst))
        .workload("sequences", sequences)
        .impairment("one-in", |settings, _| Ok(OneIn(settings.require("n")?, 0)));
    registry
}

fn read(text: &str, registry: &Registry) -> Result<Scenario, String> {
    let file = load_with("mine.toml", text, &[], &registry.names()).map_err(|error| error.to_string())?;
    let options = Options { registry: registry.clone(), ..Options::new(1) };
    match SimulationPlan::new(&file.scenario, &NoFiles, &options) {
        Ok(_) => Ok(file.scenario),
        Err(error) => Err(file.error(error.place, error.what).to_string()),
    }
}

fn run(text: &str, threads: usize, scheduled_ports: bool) -> (Results, Inputs) {
    let inputs = Arc::default();
    let registry = registry(&inputs);
    let scenario = read(text, &registry).unwrap();
    let options = Options { registry, threads, scheduled_ports, ..Options::new(1) };
    let simulation = Simulation::build(&scenario, &NoFiles, &options).unwrap();
    let (results, _) = rows_of(simulation);
    let mut inputs = inputs.lock().unwrap().clone();
    inputs.hops.sort_unstable();
    (results, inputs)
}

/// All entries together: flows finish, losses are recovered, and the controller gets all inputs.
#[test]
fn registered_entries_work_like_built_in_ones() {
    let (results, inputs) = run(TEXT, 1, false);
    let flows = results.collector.summary("", &results.counters);
    assert_eq!((flows.flows, flows.finished), (55, 55));
    assert!(results.lanes.iter().any(|lane| lane.corrupted > 0) && inputs.naks > 0, "{inputs:?}");
    assert!(inputs.marks > 0 && inputs.cnps > 0 && inputs.acks > inputs.marks, "{inputs:?}");
    // A packet passes one switch to hosts of its own leaf, and three to others.
    assert_eq!(inputs.hops, [1, 3]);
    for (threads, scheduled) in [(2, false), (3, false), (1, true)] {
        let (other, other_inputs) = run(TEXT, threads, scheduled);
        assert_eq!(other.collector.digest(), results.collector.digest(), "{threads} threads");
        assert_eq!(other_inputs, inputs, "{threads} threads");
    }
}

/// Telemetry crosses a link that retransmits and a fabric with PFC.
#[test]
fn telemetry_crosses_protected_and_lossless_links() {
    for more in [
        "[[protect]]\nlinks = \"leaf1-spine0\"\nby = \"linkguardian\"\n",
        "[switch.lossless]\nclasses = [0]\n",
    ] {
        let text = format!("{TEXT}{more}");
        let (results, inputs) = run(&text, 1, false);
        assert_eq!(inputs.hops, [1, 3], "{more}");
        assert!(inputs.acks > 5_000, "{more} {inputs:?}");
        let (other, other_inputs) = run(&text, 2, false);
        assert_eq!((other.collector.digest(), other_inputs), (results.collector.digest(), inputs), "{more}");
    }
}

#[test]
fn errors_have_their_place() {
    let registry = registry(&Arc::default());
    for (from, to, expected) in [
        (
            "\"watching\"",
            "\"wotching\"",
            "mine.toml:9:14: unknown value `wotching`; did you mean `watching`?",
        ),
        ("window = 40", "window = 0", "mine.toml:9:44: `window` is 0; it must lie between 1 and 1000"),
        ("window = 40", "widow = 40", "mine.toml:9:43: unknown field `widow`; did you mean `window`?"),
        ("\"oldest-first\"", "\"oldest\"", "mine.toml:10:12: unknown value `oldest`"),
        (
            "\"sequences\"",
            "\"sequence\"",
            "mine.toml:16:8: unknown kind `sequence`; did you mean `sequences`?",
        ),
        ("bytes = \"100kB\"", "", "mine.toml:16:8: `sequences` needs `bytes`: a size such as \"64KiB\""),
        ("n = 40", "n = -1", "mine.toml:22:5: `n` must be a whole number from 0"),
        (
            "recovery = \"oldest-first\"",
            "recovery = { kind = \"go-back-n\", x = 1 }",
            "`go-back-n` takes no settings here",
        ),
    ] {
        let error = read(&TEXT.replace(from, to), &registry).unwrap_err();
        assert!(error.contains(expected), "{error}\n{expected}");
    }
    let unknown = read(TEXT, &Registry::default()).unwrap_err();
    assert!(unknown.starts_with("mine.toml:16:8: unknown kind `sequences`"), "{unknown}");
}
