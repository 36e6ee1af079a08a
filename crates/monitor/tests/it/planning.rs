//! What a planner advises, without a store and through a real Redis.

use std::fmt::Write as _;
use std::time::Duration;

use wiremend_fabric::tiers::Shape;
use wiremend_monitor::bus::{
    Action, Advice, Board, Deed, Doing, Fault, Lease, Server, Sighting, Store, acl_rules, planner_acl_rules,
};
use wiremend_monitor::control::{
    Brake, Chair, ControlConfig, ControlEvent, Controller, End, FabricSource, Limits, Topology,
};
use wiremend_monitor::{Estimate, Mode, Name, PortName, Sample};
use wiremend_units::{LinkId, Rate, Span, Time};

use crate::redis::Redis;
use crate::world::{PROTECTS, World};

#[test]
fn a_link_goes_if_every_tor_keeps_its_ways_and_stays_otherwise() {
    let topology = leaf_spine(&[]);
    let mut controller = Controller::new(&topology, Limits::default());
    let [first, second] = uplinks(&topology);
    assert_eq!(corrupt(&mut controller, first, 1e-3), [(first, Action::Drain)]);
    assert_eq!(corrupt(&mut controller, second, 1e-3), [(second, Action::Wait)]);
    let why = controller.advice(lower(second)).why;
    assert!(why.contains("would keep 2 of 4 ways") && why.contains("needs 3"), "{why}");
    assert!(why.ends_with("no relay stands where it is sent"), "{why}");
    // The first returns: the optimizer lets the second go.
    assert_eq!(clear(&mut controller, first), [(first, Action::Nothing), (second, Action::Drain)]);
    assert_eq!(clear(&mut controller, second), [(second, Action::Nothing)]);
}

#[test]
fn links_that_stay_are_protected_where_relays_are() {
    let topology = leaf_spine(&["spine0", "spine1", "spine2"]);
    let limits = Limits { protected_per_switch_max: 1, ..Limits::default() };
    let mut controller = Controller::new(&topology, limits);
    let [first, second] = uplinks(&topology);
    corrupt(&mut controller, first, 1e-3);
    let drained = controller.advice(upper(first));
    assert_eq!((drained.action, drained.protect), (Action::Drain, true), "until it is out");
    assert!(!controller.advice(lower(first)).protect, "nothing is lost the other way");
    assert_eq!(corrupt(&mut controller, second, 1e-3), [(second, Action::Protect)]);
    assert!(controller.advice(upper(second)).protect);
    assert!(!controller.advice(upper(second)).binding, "it is advice");
}

/// The worst come first, and a switch protects no more than it may.
#[test]
fn limits_of_a_switch_and_of_the_fabric_hold() {
    let topology = leaf_spine(&["spine0"]);
    let limits = |per_switch, all| Limits {
        protected_per_switch_max: per_switch,
        protected_max: all,
        constraint: 1.0,
        ..Limits::default()
    };
    for (limits, protected) in
        [(limits(4, 256), 3), (limits(1, 256), 1), (limits(4, 2), 2), (limits(4, 0), 0)]
    {
        let mut controller = Controller::new(&topology, limits);
        let of_spine: Vec<LinkId> = topology
            .ends()
            .filter(|end| end.upper && topology.name(*end).node.as_str() == "spine0")
            .map(|end| end.link)
            .take(3)
            .collect();
        for (at, link) in of_spine.iter().enumerate() {
            corrupt(&mut controller, *link, [1e-5, 1e-3, 1e-4][at]);
        }
        let protects = |link: &LinkId| controller.advice(upper(*link)).protect;
        assert_eq!(of_spine.iter().filter(|link| protects(link)).count(), protected);
        if protected == 1 {
            assert!(protects(&of_spine[1]), "the worst");
        }
    }
}

#[test]
fn too_much_at_once_is_not_believed() {
    let topology = leaf_spine(&["spine0"]);
    let mut controller = Controller::new(&topology, Limits::default());
    let links: Vec<LinkId> = topology.tiers().links().collect();
    let [first, ..] = uplinks(&topology);
    corrupt(&mut controller, first, 1e-3);
    let before = controller.advice(upper(first));
    for link in &links[4..4 + Brake::LINKS_MIN] {
        controller.on_sight(second(1), lower(*link), Some(1e-3), true);
    }
    assert!(controller.is_halted());
    for (_, advice) in controller.decide() {
        assert_eq!(advice.action, Action::Wait);
        assert!(advice.why.contains("are the counters right"), "{}", advice.why);
    }
    assert_eq!(controller.advice(upper(first)), before, "what stood stays");
    assert_eq!(clear(&mut controller, first), [(first, Action::Nothing)], "what is well is let be");
    controller.set_halt(false);
    let after = controller.decide();
    assert!(after.iter().any(|(_, advice)| advice.action == Action::Drain), "{after:?}");
}

#[test]
fn links_that_are_down_count_as_gone() {
    let topology = leaf_spine(&[]);
    let mut controller = Controller::new(&topology, Limits::default());
    let [first, second] = uplinks(&topology);
    controller.on_carrier(lower(first), true);
    assert_eq!(corrupt(&mut controller, second, 1e-3), [(second, Action::Wait)]);
    controller.on_carrier(lower(first), false);
    assert_eq!(actions(controller.decide()), [(second, Action::Drain)]);
}

/// Links of one cable go together, and come back together.
#[test]
fn a_cable_is_drained_as_a_whole() {
    let mut text = "[redis]\naddress = \"127.0.0.1:1\"\n[[switch]]\nname = \"leaf\"\nlevel = 0\n".to_owned();
    for spine in 0..4 {
        let _ = writeln!(text, "[[switch]]\nname = \"s{spine}\"\nlevel = 1");
    }
    for (port, cable) in [(0, Some("x")), (1, Some("x")), (2, None), (3, None)] {
        let cable = cable.map_or_else(String::new, |cable| format!("cable = \"{cable}\"\n"));
        let _ = writeln!(text, "[[link]]\na = \"leaf:p{port}\"\nb = \"s{port}:p\"\n{cable}");
    }
    let FabricSource::Here(tiers) = ControlConfig::parse(&text).unwrap().fabric else { panic!("it is here") };
    let topology = Topology::new(*tiers, &[]).unwrap();
    let limits = Limits { constraint: 0.5, ..Limits::default() };
    let mut controller = Controller::new(&topology, limits);
    let (one, other) = (LinkId(0), LinkId(1));
    assert_eq!(corrupt(&mut controller, one, 1e-3), [(one, Action::Drain), (other, Action::Drain)]);
    assert_eq!(clear(&mut controller, one), [(one, Action::Nothing), (other, Action::Nothing)]);
}

/// From a sighting through Redis to advice that the sender's daemon reads; and a second planner takes over.
#[test]
fn of_two_planners_one_leads_and_the_other_goes_on_from_there() {
    let Some(redis) = Redis::start(&[]) else { return };
    let topology = leaf_spine(&["spine0", "spine1", "spine2"]);
    let [first, second_link] = uplinks(&topology);
    let mut seats = [Seat::new(&topology, "a", &redis.server()), Seat::new(&topology, "b", &redis.server())];
    assert_eq!(seats[0].turn(second(1)), [ControlEvent::Leads]);
    assert_eq!(seats[1].turn(second(1)), [ControlEvent::Follows]);
    see(&redis.server(), topology.name(lower(first)), 1e-3);
    let events = seats[0].turn(second(2));
    assert!(advises(&events, first, Action::Drain), "{events:?}");
    assert_eq!(seats[1].turn(second(2)), []);
    let advice = |link| {
        let mut board = Board::open(&redis.server()).unwrap();
        board.get::<Advice>(&[topology.name(upper(link)).clone()]).unwrap().words.remove(0).unwrap()
    };
    assert!(advice(first).word.protect && advice(first).word.binding);

    // The first hangs. Its lease runs out, and the second leads; what the first says afterwards is refused.
    redis.connection().call(&[b"HSET", b"wiremend:lead", b"until", b"0"]).unwrap();
    let version = advice(first).version;
    assert_eq!(seats[1].turn(second(7)), [ControlEvent::Leads], "nothing new is advised");
    assert_eq!(advice(first).version, version, "and nothing that stands is touched");
    see(&redis.server(), topology.name(lower(second_link)), 1e-3);
    let events = seats[0].turn(second(5));
    assert!(advises(&events, second_link, Action::Protect), "it does not know yet: {events:?}");
    assert_eq!(advice_of(&redis.server(), &topology, second_link), None, "but nobody hears it");
    let events = seats[1].turn(second(8));
    assert!(advises(&events, second_link, Action::Protect), "{events:?}");
    assert_eq!(seats[0].turn(second(12)), [ControlEvent::Follows]);
}

/// From broken frames to a relay, by way of the planner: nothing is done before it says so, nor when it only advises.
#[test]
fn daemons_that_go_by_advice_act_when_it_binds() {
    let Some(redis) = Redis::start(&[]) else { return };
    let text = "relays = [\"spine-3\"]\n[redis]\naddress = \"x:1\"\n[[switch]]\nname = \"leaf-1\"\nlevel = 0\n\
                [[switch]]\nname = \"spine-3\"\nlevel = 1\n[[link]]\na = \"leaf-1:eth0\"\nb = \"spine-3:eth7\"\n";
    let config = ControlConfig::parse(text).unwrap();
    let FabricSource::Here(tiers) = config.fabric else { panic!("it is here") };
    let topology = Topology::new(*tiers, &config.relays).unwrap();
    let mut world = World::new(&redis.server());
    world.spine.conduct.mode = Mode::Advised;
    world.spine.begin_anew();
    world.turns_losing(1_000, 3);
    assert_eq!(world.spine.machine.relay, Doing::Nothing, "nobody has said so");
    let mut advising = Seat::new(&topology, "a", &redis.server());
    advising.chair = Chair::new(&topology, Limits::default(), "a".to_owned());
    assert!(advises(&advising.turn(second(1)), LinkId(0), Action::Protect));
    world.turns(2);
    assert_eq!(world.spine.machine.relay, Doing::Nothing, "it is only advice");
    let mut binding = Seat::new(&topology, "a", &redis.server());
    binding.turn(second(2));
    world.turns(2);
    assert_eq!((&world.spine.machine.relay, world.spine.machine.acts), (&PROTECTS, 1));
    // Without a planner it stays as it is; when the link is clean the daemons see that themselves.
    world.turns(40);
    assert_eq!(world.spine.machine.acts, 1);
    world.turns_losing(0, 400);
    assert_eq!(world.spine.machine.relay, Doing::Nothing);
}

/// Killed, and started again, and the store too: advice comes to what it should be.
#[test]
fn a_planner_catches_up_with_what_it_missed() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let topology = leaf_spine(&[]);
    let [first, second_link] = uplinks(&topology);
    let mut seat = Seat::new(&topology, "a", &redis.server());
    seat.turn(second(1));
    see(&redis.server(), topology.name(lower(first)), 1e-3);
    seat.turn(second(2));
    redis.kill();
    assert!(seat.try_turn(second(3)).is_err());
    redis.restart();
    see(&redis.server(), topology.name(lower(second_link)), 1e-4);
    unsee(&redis.server(), topology.name(lower(first)));
    let mut seat = Seat::new(&topology, "a", &redis.server());
    let events = seat.turn(second(10));
    assert!(
        advises(&events, first, Action::Nothing) && advises(&events, second_link, Action::Drain),
        "{events:?}"
    );
    assert_eq!(
        advice_of(&redis.server(), &topology, first).map(|advice| advice.action),
        Some(Action::Nothing)
    );
    // Words that were never heard of are found by reading all again.
    redis.connection().call(&[b"DEL", b"wiremend:audit"]).unwrap();
    unsee(&redis.server(), topology.name(lower(second_link)));
    redis.connection().call(&[b"DEL", b"wiremend:audit"]).unwrap();
    let heard = (11..120).any(|at| advises(&seat.turn(second(at)), second_link, Action::Nothing));
    assert!(heard);
}

#[test]
fn a_halt_outlives_its_planner_until_somebody_releases_it() {
    let Some(redis) = Redis::start(&[]) else { return };
    let topology = leaf_spine(&[]);
    let mut seat = Seat::new(&topology, "a", &redis.server());
    seat.turn(second(1));
    for link in topology.tiers().links().take(Brake::LINKS_MIN + 1) {
        see(&redis.server(), topology.name(lower(link)), 1e-3);
    }
    let events = seat.turn(second(2));
    assert!(events.iter().any(|event| matches!(event, ControlEvent::Halted(_))), "{events:?}");
    let mut seat = Seat::new(&topology, "a", &redis.server());
    let events = seat.turn(second(20));
    assert!(
        seat.chair.is_halted() && !events.iter().any(|event| matches!(event, ControlEvent::Advised { .. }))
    );
    Board::open(&redis.server()).unwrap().release("test").unwrap();
    let events = seat.turn(second(21));
    assert!(events.contains(&ControlEvent::Released), "{events:?}");
    assert!(events.iter().any(|event| matches!(event, ControlEvent::Advised { action: Action::Drain, .. })));
}

/// Words of strangers and nonsense are passed over.
#[test]
fn strangers_are_not_heard() {
    let Some(redis) = Redis::start(&[]) else { return };
    let topology = leaf_spine(&[]);
    let mut seat = Seat::new(&topology, "a", &redis.server());
    seat.turn(second(1));
    see(&redis.server(), &PortName { node: name("stranger"), port: name("eth0") }, 1e-3);
    let [first, ..] = uplinks(&topology);
    let key = format!("wiremend:seen:{}", topology.name(lower(first)));
    redis.connection().call(&[b"HSET", key.as_bytes(), b"version", b"1", b"body", b"{]"]).unwrap();
    let about = topology.name(lower(first)).to_string();
    for (kind, about) in [("seen", about.as_str()), ("seen", "no port"), ("x", &"y".repeat(9_999))] {
        let words: [&[u8]; 7] =
            [b"XADD", b"wiremend:audit", b"*", b"kind", kind.as_bytes(), b"about", about.as_bytes()];
        redis.connection().call(&words).unwrap();
    }
    assert_eq!(seat.turn(second(2)), []);
    assert_eq!(seat.chair.senseless(), 1);
}

#[test]
fn a_planner_writes_advice_and_nothing_else() {
    let Some(redis) = Redis::start(&[]) else { return };
    let as_planner = user(&redis, "planner", &planner_acl_rules());
    let as_leaf = user(&redis, "leaf0", &acl_rules(&name("leaf0")));
    let topology = leaf_spine(&[]);
    let [first, ..] = uplinks(&topology);
    let mut seat = Seat::new(&topology, "a", &as_planner);
    seat.turn(second(1));
    see(&as_leaf, topology.name(lower(first)), 1e-3);
    assert!(advises(&seat.turn(second(2)), first, Action::Drain));
    let mut forger = Store::open(&as_planner, name("leaf0")).unwrap();
    assert!(matches!(forger.lease("x", Duration::from_mins(1)), Err(Fault::Refused(_))));
    // Nor does a node advise itself.
    let mut forger = Board::open(&as_leaf);
    assert!(forger.as_mut().map_or(true, |board| board.lead("x", Duration::from_mins(1)).is_err()));
    let mut leaf = Store::open(&as_leaf, name("leaf0")).unwrap();
    let lease: Lease = leaf.lease("test", Duration::from_mins(1)).unwrap().unwrap();
    let deed = Deed { answers: 1, doing: Doing::Nothing };
    assert!(leaf.put(lease, &name("0"), &deed, &name("spine0")).is_ok());
    let advice = Advice { action: Action::Protect, protect: true, binding: true, why: String::new() };
    assert!(matches!(leaf.put(lease, &name("0"), &advice, &name("spine0")), Err(Fault::Refused(_))));
}

struct Seat<'a> {
    chair: Chair<'a>,
    board: Board,
}

impl<'a> Seat<'a> {
    fn new(topology: &'a Topology, holder: &str, server: &Server) -> Self {
        let limits = Limits { binding: true, ..Limits::default() };
        Self { chair: Chair::new(topology, limits, holder.to_owned()), board: Board::open(server).unwrap() }
    }

    fn try_turn(&mut self, now: Time) -> Result<Vec<ControlEvent>, Fault> {
        self.chair.turn(now, &mut self.board, Duration::from_millis(20))
    }

    fn turn(&mut self, now: Time) -> Vec<ControlEvent> {
        self.try_turn(now).unwrap()
    }
}

fn advises(events: &[ControlEvent], about: LinkId, what: Action) -> bool {
    events.iter().any(
        |event| matches!(event, ControlEvent::Advised { link, action, .. } if *link == about && *action == what),
    )
}

fn advice_of(server: &Server, topology: &Topology, link: LinkId) -> Option<Advice> {
    let mut board = Board::open(server).unwrap();
    let mut words = board.get::<Advice>(&[topology.name(lower(link)).clone()]).unwrap().words;
    words.remove(0).map(|stored| stored.word)
}

fn see(server: &Server, port: &PortName, loss: f64) {
    let estimate = Estimate::of(Sample { frames: 1_000_000_000, errors: (loss * 1e9) as u64 });
    put(server, port, &Sighting { corrupting: Some(estimate), ..Sighting::default() });
}

fn unsee(server: &Server, port: &PortName) {
    put(server, port, &Sighting::default());
}

fn put(server: &Server, port: &PortName, sighting: &Sighting) {
    let mut store = Store::open(server, port.node.clone()).unwrap();
    let lease = store.lease("test", Duration::from_mins(1)).unwrap().unwrap();
    store.put(lease, &port.port, sighting, &port.node).unwrap();
}

fn user(redis: &Redis, name: &str, rules: &[String]) -> Server {
    let mut words: Vec<&[u8]> = vec![b"ACL", b"SETUSER", name.as_bytes()];
    words.extend(rules.iter().map(String::as_bytes));
    words.push(b">secret");
    redis.connection().call(&words).unwrap();
    Server { login: Some((name.into(), "secret".into())), ..redis.server() }
}

/// Four leaves with four spines above; each leaf has four ways to the top.
fn leaf_spine(relays: &[&str]) -> Topology {
    let tiers = Shape::LeafSpine { leaves: 4, spines: 4 }.build(Rate::gbps(100)).unwrap();
    let relays: Vec<String> = relays.iter().map(|&relay| relay.to_owned()).collect();
    Topology::new(tiers, &relays).unwrap()
}

/// Two links of the first leaf, to the first two spines.
fn uplinks(topology: &Topology) -> [LinkId; 2] {
    let tor = topology.tiers().tors()[0];
    let links = topology.tiers().links_above(tor);
    [links[0], links[1]]
}

fn corrupt(controller: &mut Controller<'_>, link: LinkId, loss: f64) -> Vec<(LinkId, Action)> {
    controller.on_sight(second(0), lower(link), Some(loss), true);
    actions(controller.decide())
}

fn clear(controller: &mut Controller<'_>, link: LinkId) -> Vec<(LinkId, Action)> {
    controller.on_sight(second(0), lower(link), None, true);
    actions(controller.decide())
}

/// Each link once.
fn actions(changes: Vec<(End, Advice)>) -> Vec<(LinkId, Action)> {
    changes.into_iter().filter(|(end, _)| !end.upper).map(|(end, advice)| (end.link, advice.action)).collect()
}

fn lower(link: LinkId) -> End {
    End { link, upper: false }
}

fn upper(link: LinkId) -> End {
    End { link, upper: true }
}

fn second(second: u64) -> Time {
    Time::ZERO.saturating_add(Span::from_ms(second * 1_000))
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}
