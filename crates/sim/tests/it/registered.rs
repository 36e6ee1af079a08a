//! What a program brings of its own: a congestion control that sees everything, a recovery policy, an application and an impairment, each
//! by its name in a scenario, with the same digits on any number of threads and refusals that point at their place.

use std::sync::{Arc, Mutex};

use crate::common::{NoFiles, rows_of};
use wiremend_impair::{CorruptionModel, FrameFacts, FrameKind};
use wiremend_proto::cc::{Ack, Algorithm, Controller, Echo, Needs, Path, Sent};
use wiremend_proto::sr::{Board, Config, Heard, OtherScheme, RecoveryPolicy};
use wiremend_scenario::{Scenario, load_with};
use wiremend_sim::{Action, Application, Options, Plan, Post, Registry, Results, Simulation, Site};
use wiremend_units::{BadSetting, FlowId, HostId, Settings, Span, Time};

/// What a congestion control was told, over all connections and in the order of each.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
struct Told {
    sent: u64,
    acks: u64,
    marks: u64,
    naks: u64,
    cnps: u64,
    hops: Vec<usize>,
    round_trip_min: Option<Span>,
}

#[derive(Clone, Debug)]
struct Watching {
    window: u32,
    told: Arc<Mutex<Told>>,
}

impl Algorithm for Watching {
    fn start(&self, path: &Path) -> Box<dyn Controller> {
        assert!(path.round_trip > Span::ZERO && path.hops > 0);
        Box::new(self.clone())
    }

    fn needs(&self) -> Needs {
        let cnp_interval = Some(Span::from_us(5));
        Needs { acks: true, path: true, cnp_interval, echo: Echo::Telemetry }
    }
}

impl Controller for Watching {
    fn on_transmit(&mut self, _: Time, _: Sent) {
        self.told.lock().unwrap().sent += 1;
    }

    fn eligible(&self) -> Time {
        Time::ZERO
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        let feedback = ack.feedback.expect("each acknowledgement brings something back");
        let mut told = self.told.lock().unwrap();
        told.acks += 1;
        told.marks += u64::from(feedback.is_marked);
        let hops = feedback.hops();
        if !told.hops.contains(&hops.len()) {
            told.hops.push(hops.len());
        }
        for pair in hops.windows(2) {
            assert!(pair[0].at < pair[1].at, "switches are passed in order");
        }
        assert!(hops.iter().all(|hop| hop.at > feedback.sent_at && hop.at < now && hop.sent.get() > 0));
        let round_trip = feedback.round_trip(now);
        told.round_trip_min = Some(told.round_trip_min.map_or(round_trip, |least| least.min(round_trip)));
    }

    fn on_nak(&mut self, _: Time) {
        self.told.lock().unwrap().naks += 1;
    }

    fn on_cnp(&mut self, _: Time) {
        self.told.lock().unwrap().cnps += 1;
    }

    fn window(&self) -> u32 {
        self.window
    }
}

/// Sends what is oldest and missing again when a NAK comes or the timer expires.
#[derive(Debug)]
struct OldestFirst;

#[derive(Debug, Default)]
struct Oldest {
    lost: Option<u64>,
}

impl OtherScheme for OldestFirst {
    fn name(&self) -> &'static str {
        "oldest-first"
    }

    fn start(&self, _: &Config) -> Box<dyn RecoveryPolicy> {
        Box::<Oldest>::default()
    }

    fn naks_gaps(&self) -> bool {
        true
    }
}

impl RecoveryPolicy for Oldest {
    fn on_sent(&mut self, _: &Board, _: Time, _: u64, again: bool) {
        if again {
            self.lost = None;
        }
    }

    fn on_heard(&mut self, _: &Config, board: &Board, _: Time, heard: &Heard) {
        self.lost =
            if heard.nak { Some(board.una) } else { self.lost.filter(|lost| !board.has_arrived(*lost)) };
    }

    fn on_expiry(&mut self, _: &Config, board: &Board, _: Time) {
        self.lost = Some(board.una);
    }

    fn again(&self, board: &Board) -> Option<u64> {
        self.lost.filter(|lost| *lost < board.next)
    }
}

/// One message, and when it is done the next, to host 0.
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

    fn on_completion(&mut self, _: Time, _: wiremend_sim::Done, actions: &mut Vec<Action>) {
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

fn sequences(settings: &mut Settings, site: Site) -> Result<wiremend_sim::Applications, BadSetting> {
    let count = settings.within("count", 1..=1_000, 10_u64)?;
    let bytes = settings.require::<wiremend_units::Bytes>("bytes")?.get() as u32;
    let app = |host: u32| {
        let next = FlowId(site.first_flow.0 + u64::from(host) * count);
        let app: Box<dyn Application> = Box::new(Sequence { left: count, next, bytes, begun: false });
        (HostId(host), app)
    };
    Ok((1..site.hosts).map(app).collect())
}

/// Hits one data frame in so many.
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

fn registry(told: &Arc<Mutex<Told>>) -> Registry {
    let told = Arc::clone(told);
    let mut registry = Registry::default();
    registry
        .congestion("watching", move |settings| {
            let window = settings.within("window", 1..=1_000, 10_u64)? as u32;
            Ok(Watching { window, told: Arc::clone(&told) })
        })
        .recovery("oldest-first", |_| Ok(OldestFirst))
        .workload("sequences", sequences)
        .impairment("one-in", |settings, _| Ok(OneIn(settings.require("n")?, 0)));
    registry
}

fn read(text: &str, registry: &Registry) -> Result<Scenario, String> {
    let file = load_with("mine.toml", text, &[], &registry.names()).map_err(|error| error.to_string())?;
    let options = Options { registry: registry.clone(), ..Options::new(1) };
    match Plan::new(&file.scenario, &NoFiles, &options) {
        Ok(_) => Ok(file.scenario),
        Err(error) => Err(file.error(error.place, error.what).to_string()),
    }
}

fn run(text: &str, threads: usize, scheduled: bool) -> (Results, Told) {
    let told = Arc::default();
    let registry = registry(&told);
    let scenario = read(text, &registry).unwrap();
    let options = Options { registry, threads, scheduled, ..Options::new(1) };
    let simulation = Simulation::build(&scenario, &NoFiles, &options).unwrap();
    let (results, _) = rows_of(simulation);
    let mut told = told.lock().unwrap().clone();
    told.hops.sort_unstable();
    (results, told)
}

/// All of it at once: flows finish, losses are mended, and the controller hears of everything.
#[test]
fn what_others_bring_works_as_if_it_were_ours() {
    let (results, told) = run(TEXT, 1, false);
    let flows = results.collector.summary("", &results.counters);
    assert_eq!((flows.flows, flows.finished), (55, 55));
    assert!(results.lanes.iter().any(|lane| lane.corrupted > 0) && told.naks > 0, "{told:?}");
    assert!(told.marks > 0 && told.cnps > 0 && told.acks > told.marks, "{told:?}");
    // A packet passes one switch to hosts of its own leaf, and three to others.
    assert_eq!(told.hops, [1, 3]);
    for (threads, scheduled) in [(2, false), (3, false), (1, true)] {
        let (other, other_told) = run(TEXT, threads, scheduled);
        assert_eq!(other.collector.digest(), results.collector.digest(), "{threads} threads");
        assert_eq!(other_told, told, "{threads} threads");
    }
}

/// Telemetry survives a link that sends frames again and a fabric that stops its neighbours.
#[test]
fn telemetry_crosses_protected_and_lossless_links() {
    for more in [
        "[[protect]]\nlinks = \"leaf1-spine0\"\nby = \"linkguardian\"\n",
        "[switch.lossless]\nclasses = [0]\n",
    ] {
        let text = format!("{TEXT}{more}");
        let (results, told) = run(&text, 1, false);
        assert_eq!(told.hops, [1, 3], "{more}");
        assert!(told.acks > 5_000, "{more} {told:?}");
        let (other, other_told) = run(&text, 2, false);
        assert_eq!((other.collector.digest(), other_told), (results.collector.digest(), told), "{more}");
    }
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
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
            "`go-back-n` takes no values here",
        ),
    ] {
        let error = read(&TEXT.replace(from, to), &registry).unwrap_err();
        assert!(error.contains(expected), "{error}\n{expected}");
    }
    let unknown = read(TEXT, &Registry::default()).unwrap_err();
    assert!(unknown.starts_with("mine.toml:16:8: unknown kind `sequences`"), "{unknown}");
}
