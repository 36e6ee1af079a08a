//! Advice of a planner, without Redis and with a real one.

use std::fmt::Write as _;
use std::time::Duration;

use wiremend_fabric::tiers::FabricShape;
use wiremend_monitor::planner::{
    Advisor, FabricSource, FailureBrake, LinkEnd, NamedFabric, PlannerConfig, PlannerEvent, PlannerLeader,
    PlannerLimits,
};
use wiremend_monitor::redis::{
    ActionRecord, Advice, AdvisedAction, HoldRecord, Lease, LinkAction, Observation, PlannerStore,
    RedisError, RedisServer, Store, acl_rules, planner_acl_rules,
};
use wiremend_monitor::{DaemonMode, FrameSample, LossEstimate, Name, PortName};
use wiremend_units::{LinkId, Rate, Span, Time};

use crate::test_redis::TestRedis;
use crate::two_nodes::{PROTECTED, TwoNodes};

#[test]
fn a_link_is_drained_only_if_every_tor_keeps_its_paths() {
    let fabric = leaf_spine(&[]);
    let mut advisor = Advisor::new(&fabric, PlannerLimits::default());
    let [first, second] = uplinks(&fabric);
    assert_eq!(corrupt(&mut advisor, first, 1e-3), [(first, AdvisedAction::Drain)]);
    assert_eq!(corrupt(&mut advisor, second, 1e-3), [(second, AdvisedAction::Wait)]);
    let reason = advisor.advice(lower(second)).reason;
    assert!(reason.contains("would keep 200 of 400 Gb/s to the top tier, and needs 300 Gb/s"), "{reason}");
    assert!(reason.ends_with("no relay runs on the sending port"), "{reason}");
    // The first link returns, and the optimizer drains the second.
    assert_eq!(clear(&mut advisor, first), [(first, AdvisedAction::Nothing), (second, AdvisedAction::Drain)]);
    assert_eq!(clear(&mut advisor, second), [(second, AdvisedAction::Nothing)]);
}

#[test]
fn links_in_service_are_protected_where_relays_run() {
    let fabric = leaf_spine(&["spine0", "spine1", "spine2"]);
    let limits = PlannerLimits { protected_per_switch_max: 1, ..PlannerLimits::default() };
    let mut advisor = Advisor::new(&fabric, limits);
    let [first, second] = uplinks(&fabric);
    corrupt(&mut advisor, first, 1e-3);
    let drained = advisor.advice(upper(first));
    assert_eq!((drained.action, drained.protect), (AdvisedAction::Drain, true), "until it is out");
    assert!(!advisor.advice(lower(first)).protect, "the other direction loses nothing");
    assert_eq!(corrupt(&mut advisor, second, 1e-3), [(second, AdvisedAction::Protect)]);
    assert!(advisor.advice(upper(second)).protect);
    assert!(!advisor.advice(upper(second)).binding, "advice is not binding by default");
}

/// Links with the highest loss are protected first, within the limits.
#[test]
fn limits_of_a_switch_and_of_the_fabric_are_respected() {
    let fabric = leaf_spine(&["spine0"]);
    let limits = |per_switch, all| PlannerLimits {
        protected_per_switch_max: per_switch,
        protected_max: all,
        constraint: 1.0,
        ..PlannerLimits::default()
    };
    for (limits, protected) in
        [(limits(4, 256), 3), (limits(1, 256), 1), (limits(4, 2), 2), (limits(4, 0), 0)]
    {
        let mut advisor = Advisor::new(&fabric, limits);
        let of_spine: Vec<LinkId> = fabric
            .ends()
            .filter(|end| end.upper && fabric.name(*end).node.as_str() == "spine0")
            .map(|end| end.link)
            .take(3)
            .collect();
        for (at, link) in of_spine.iter().enumerate() {
            corrupt(&mut advisor, *link, [1e-5, 1e-3, 1e-4][at]);
        }
        let protects = |link: &LinkId| advisor.advice(upper(*link)).protect;
        assert_eq!(of_spine.iter().filter(|link| protects(link)).count(), protected);
        if protected == 1 {
            assert!(protects(&of_spine[1]), "the link with the highest loss");
        }
    }
}

#[test]
fn many_failures_at_once_halt_the_planner() {
    let fabric = leaf_spine(&["spine0"]);
    let mut advisor = Advisor::new(&fabric, PlannerLimits::default());
    let links: Vec<LinkId> = fabric.tiers().links().collect();
    let [first, ..] = uplinks(&fabric);
    corrupt(&mut advisor, first, 1e-3);
    let before = advisor.advice(upper(first));
    // The first links of the other leaves.
    for link in links.iter().step_by(4).skip(1).take(FailureBrake::NODES_MIN) {
        advisor.on_observation(second(1), lower(*link), Some(1e-3), true);
    }
    assert!(advisor.is_halted());
    for (_, advice) in advisor.decide() {
        assert_eq!(advice.action, AdvisedAction::Wait);
        assert!(advice.reason.contains("check the counters"), "{}", advice.reason);
    }
    assert_eq!(advisor.advice(upper(first)), before, "existing advice stays");
    assert_eq!(clear(&mut advisor, first), [(first, AdvisedAction::Nothing)], "healthy links are cleared");
    advisor.set_halt(false, &[]);
    let after = advisor.decide();
    assert!(after.iter().any(|(_, advice)| advice.action == AdvisedAction::Drain), "{after:?}");
}

#[test]
fn links_without_carrier_count_as_out() {
    let fabric = leaf_spine(&[]);
    let mut advisor = Advisor::new(&fabric, PlannerLimits::default());
    let [first, second] = uplinks(&fabric);
    advisor.on_carrier(lower(first), true);
    assert_eq!(corrupt(&mut advisor, second, 1e-3), [(second, AdvisedAction::Wait)]);
    advisor.on_carrier(lower(first), false);
    assert_eq!(actions(advisor.decide()), [(second, AdvisedAction::Drain)]);
}

/// Links of one cable are drained together and return together.
#[test]
fn all_links_of_a_cable_are_drained_together() {
    let mut text = "[redis]\naddress = \"127.0.0.1:1\"\n[[switch]]\nname = \"leaf\"\nlevel = 0\n".to_owned();
    for spine in 0..4 {
        let _ = writeln!(text, "[[switch]]\nname = \"s{spine}\"\nlevel = 1");
    }
    for (port, cable) in [(0, Some("x")), (1, Some("x")), (2, None), (3, None)] {
        let cable = cable.map_or_else(String::new, |cable| format!("cable = \"{cable}\"\n"));
        let _ = writeln!(text, "[[link]]\na = \"leaf:p{port}\"\nb = \"s{port}:p\"\n{cable}");
    }
    let FabricSource::Inline(tiers) = PlannerConfig::parse(&text).unwrap().fabric else {
        panic!("the fabric is inline")
    };
    let fabric = NamedFabric::new(*tiers, &[]).unwrap();
    let limits = PlannerLimits { constraint: 0.5, ..PlannerLimits::default() };
    let mut advisor = Advisor::new(&fabric, limits);
    let (one, other) = (LinkId(0), LinkId(1));
    assert_eq!(
        corrupt(&mut advisor, one, 1e-3),
        [(one, AdvisedAction::Drain), (other, AdvisedAction::Drain)]
    );
    assert_eq!(clear(&mut advisor, one), [(one, AdvisedAction::Nothing), (other, AdvisedAction::Nothing)]);
}

/// From an observation in Redis to advice that the sending daemon reads; then a second planner takes over.
#[test]
fn a_second_planner_continues_from_the_stored_advice() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let fabric = leaf_spine(&["spine0", "spine1", "spine2"]);
    let [first, second_link] = uplinks(&fabric);
    let mut sessions =
        [Session::new(&fabric, "a", &redis.server()), Session::new(&fabric, "b", &redis.server())];
    assert_eq!(sessions[0].turn(second(1)), [PlannerEvent::Leading]);
    assert_eq!(sessions[1].turn(second(1)), [PlannerEvent::Following]);
    see(&redis.server(), fabric.name(lower(first)), 1e-3);
    let events = sessions[0].turn(second(2));
    assert!(advises(&events, first, AdvisedAction::Drain), "{events:?}");
    assert_eq!(sessions[1].turn(second(2)), []);
    let advice = |link| {
        let mut store = PlannerStore::open(&redis.server()).unwrap();
        store.get::<Advice>(&[fabric.name(upper(link)).clone()]).unwrap().records.remove(0).unwrap()
    };
    assert!(advice(first).record.protect && advice(first).record.binding);

    // The first planner hangs and its lease expires. The second leads, and the first one's writes are rejected.
    redis.connection().call(&[b"HSET", b"wiremend:planner-lease", b"until", b"0"]).unwrap();
    let version = advice(first).version;
    assert_eq!(sessions[1].turn(second(7)), [PlannerEvent::Leading], "no new advice");
    assert_eq!(advice(first).version, version, "stored advice is unchanged");
    see(&redis.server(), fabric.name(lower(second_link)), 1e-3);
    let events = sessions[0].turn(second(5));
    assert!(advises(&events, second_link, AdvisedAction::Protect), "it still decides: {events:?}");
    assert_eq!(advice_of(&redis.server(), &fabric, second_link), None, "but its write is rejected");
    let events = sessions[1].turn(second(8));
    assert!(advises(&events, second_link, AdvisedAction::Protect), "{events:?}");
    assert_eq!(sessions[0].turn(second(12)), [PlannerEvent::Following]);
}

/// From corrupted frames to a relay through the planner: only binding advice causes an action.
#[test]
fn advised_daemons_act_only_on_binding_advice() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let text = "relays = [\"spine-3\"]\n[redis]\naddress = \"x:1\"\n[[switch]]\nname = \"leaf-1\"\nlevel = 0\n\
                [[switch]]\nname = \"spine-3\"\nlevel = 1\n[[link]]\na = \"leaf-1:eth0\"\nb = \"spine-3:eth7\"\n";
    let config = PlannerConfig::parse(text).unwrap();
    let FabricSource::Inline(tiers) = config.fabric else { panic!("the fabric is inline") };
    let fabric = NamedFabric::new(*tiers, &config.relays).unwrap();
    let mut nodes = TwoNodes::new(&redis.server());
    nodes.spine.act.mode = DaemonMode::Advised;
    nodes.spine.begin_anew();
    nodes.turns_losing(1_000, 3);
    assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing, "no advice yet");
    let mut advising = Session::new(&fabric, "a", &redis.server());
    advising.leader = PlannerLeader::new(&fabric, PlannerLimits::default(), "a".to_owned());
    assert!(advises(&advising.turn(second(1)), LinkId(0), AdvisedAction::Protect));
    nodes.turns(2);
    assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing, "the advice is not binding");
    let mut binding = Session::new(&fabric, "a", &redis.server());
    binding.turn(second(2));
    nodes.turns(2);
    assert_eq!((&nodes.spine.machine.relay, nodes.spine.machine.acts), (&PROTECTED, 1));
    // Without a planner protection stays. The daemons detect a clean link themselves.
    nodes.turns(40);
    assert_eq!(nodes.spine.machine.acts, 1);
    nodes.turns_losing(0, 400);
    assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing);
}

/// The planner and Redis are killed and restarted; the advice converges.
#[test]
fn a_restarted_planner_catches_up() {
    let Some(mut redis) = TestRedis::start(&[]) else { return };
    let fabric = leaf_spine(&[]);
    let [first, second_link] = uplinks(&fabric);
    let mut session = Session::new(&fabric, "a", &redis.server());
    session.turn(second(1));
    see(&redis.server(), fabric.name(lower(first)), 1e-3);
    session.turn(second(2));
    redis.kill();
    // Messages that have arrived before are still there.
    assert!((3..6).any(|at| session.try_turn(second(at)).is_err()));
    redis.restart();
    see(&redis.server(), fabric.name(lower(second_link)), 1e-4);
    unsee(&redis.server(), fabric.name(lower(first)));
    let mut session = Session::new(&fabric, "a", &redis.server());
    let events = session.turn(second(10));
    assert!(
        advises(&events, first, AdvisedAction::Nothing)
            && advises(&events, second_link, AdvisedAction::Drain),
        "{events:?}"
    );
    assert_eq!(
        advice_of(&redis.server(), &fabric, first).map(|advice| advice.action),
        Some(AdvisedAction::Nothing)
    );
    // The sweep finds observations whose message was lost.
    unsee(&redis.server(), fabric.name(lower(second_link)));
    session.store.changed_ports(Duration::from_mins(1)).unwrap();
    let heard = (11..120).any(|at| advises(&session.turn(second(at)), second_link, AdvisedAction::Nothing));
    assert!(heard);
}

#[test]
fn a_halt_survives_restarts_until_released() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let fabric = leaf_spine(&[]);
    let mut session = Session::new(&fabric, "a", &redis.server());
    session.turn(second(1));
    for link in fabric.tiers().links().step_by(4).take(FailureBrake::NODES_MIN + 1) {
        see(&redis.server(), fabric.name(lower(link)), 1e-3);
    }
    let events = session.turn(second(2));
    assert!(events.iter().any(|event| matches!(event, PlannerEvent::Halted(_))), "{events:?}");
    let mut session = Session::new(&fabric, "a", &redis.server());
    let events = session.turn(second(20));
    assert!(
        session.leader.is_halted()
            && !events.iter().any(|event| matches!(event, PlannerEvent::Advised { .. }))
    );
    PlannerStore::open(&redis.server()).unwrap().release("test").unwrap();
    let events = session.turn(second(21));
    assert!(events.contains(&PlannerEvent::Released), "{events:?}");
    assert!(
        events
            .iter()
            .any(|event| matches!(event, PlannerEvent::Advised { action: AdvisedAction::Drain, .. }))
    );
}

/// A compromised node reports loss on all its links: only its reports stop counting, also for the next
/// leader, and until an operator releases it.
#[test]
fn four_lies_of_one_node_do_not_stop_the_fabric() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let fabric = leaf_spine(&[]);
    let mut session = Session::new(&fabric, "a", &redis.server());
    session.turn(second(1));
    let links: Vec<LinkId> = fabric.tiers().links().collect();
    for link in &links[..4] {
        see(&redis.server(), fabric.name(lower(*link)), 1e-3);
    }
    let events = session.turn(second(2));
    let distrusted = PlannerEvent::Distrusted(name("leaf0"));
    assert!(events.contains(&distrusted) && !session.leader.is_halted(), "{events:?}");
    assert!(advises(&events, links[3], AdvisedAction::Wait), "{events:?}");
    let reason = session.leader.advisor().advice(lower(links[3])).reason;
    assert!(reason.contains("leaf0 reported more than 3 failures"), "{reason}");
    see(&redis.server(), fabric.name(lower(links[4])), 1e-3);
    let events = session.turn(second(3));
    assert!(advises(&events, links[4], AdvisedAction::Drain), "others are believed: {events:?}");
    let mut session = Session::new(&fabric, "a", &redis.server());
    session.turn(second(20));
    let advice = session.leader.advisor().advice(lower(links[3]));
    assert_eq!(advice.action, AdvisedAction::Wait, "the next leader distrusts it too");
    // The other end of the link sees the loss as well: now it is believed.
    see(&redis.server(), fabric.name(upper(links[3])), 1e-3);
    let events = session.turn(second(21));
    assert!(
        !session.leader.advisor().advice(lower(links[3])).reason.contains("leaf0 reported"),
        "{events:?}"
    );
    PlannerStore::open(&redis.server()).unwrap().release("test").unwrap();
    assert!(session.turn(second(22)).contains(&PlannerEvent::Released));
}

/// Links that an operator holds keep their advice; links under maintenance count as out.
#[test]
fn held_links_are_left_alone() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let fabric = leaf_spine(&["spine0", "spine1", "spine2", "spine3"]);
    let [first, second_link] = uplinks(&fabric);
    let mut session = Session::new(&fabric, "a", &redis.server());
    session.turn(second(1));
    let mut operator = PlannerStore::open(&redis.server()).unwrap();
    let mut hold = |link, record: HoldRecord| {
        operator.put_holds(&[(fabric.name(upper(link)).clone(), record)], "alice").unwrap();
    };
    let until_ms = PlannerStore::open(&redis.server()).unwrap().time_ms().unwrap() + 3_600_000;
    let record = |maintenance| HoldRecord { until_ms, why: "recabling".to_owned(), maintenance };
    hold(first, record(false));
    see(&redis.server(), fabric.name(lower(first)), 1e-3);
    assert_eq!(session.turn(second(2)), [], "a held link gets no advice");
    hold(first, record(true));
    see(&redis.server(), fabric.name(lower(second_link)), 1e-3);
    let events = session.turn(second(3));
    assert!(advises(&events, second_link, AdvisedAction::Protect), "one path is out already: {events:?}");
    assert_eq!(session.leader.summary(second(3)).held, 1);
    // The next leader knows the hold.
    let mut session = Session::new(&fabric, "a", &redis.server());
    session.turn(second(20));
    assert_eq!(advice_of(&redis.server(), &fabric, first), None);
    // Its end lets the optimizer decide on both links.
    unsee(&redis.server(), fabric.name(lower(first)));
    session.turn(second(21));
    hold(first, HoldRecord::ended());
    let events = session.turn(second(22));
    assert!(advises(&events, second_link, AdvisedAction::Drain), "{events:?}");
    assert_eq!(session.leader.summary(second(22)).held, 0);
}

#[test]
fn operators_name_links_nodes_and_pods() {
    let fabric = leaf_spine(&[]);
    let first = fabric.name(lower(LinkId(0))).to_string();
    assert_eq!(fabric.ports_of(&first).unwrap().len(), 2, "both ends of the link");
    assert_eq!(fabric.ports_of("spine1").unwrap().len(), 8);
    let unknown = fabric.ports_of("pod:9").unwrap_err().to_string();
    assert!(unknown.contains("neither a NODE:PORT, nor a node, nor a pod:NAME"), "{unknown}");
}

/// A daemon that died is reported, and its last words give no new advice.
#[test]
fn silent_nodes_are_reported_and_their_observations_expire() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let fabric = leaf_spine(&[]);
    let [first, second_link] = uplinks(&fabric);
    see(&redis.server(), fabric.name(lower(first)), 1e-3);
    let mut session = Session::new(&fabric, "a", &redis.server());
    session.turn(second(1));
    assert_eq!((session.leader.silent().len(), session.leader.unmonitored()), (0, 7));
    see(&redis.server(), fabric.name(lower(second_link)), 1e-3);
    redis.connection().call(&[b"HSET", b"wiremend:lease:leaf0", b"until", b"1000"]).unwrap();
    let mut session = Session::new(&fabric, "a", &redis.server());
    let events = session.turn(second(2));
    assert!(events.contains(&PlannerEvent::NodeSilent { node: name("leaf0"), silent: true }), "{events:?}");
    assert!(advice_of(&redis.server(), &fabric, first).is_some(), "advice stays");
    assert_eq!(
        advice_of(&redis.server(), &fabric, second_link),
        None,
        "no advice from an expired observation"
    );
    put(&redis.server(), fabric.name(lower(second_link)), &Observation::default());
    let events = session.turn(second(40));
    assert!(events.contains(&PlannerEvent::NodeSilent { node: name("leaf0"), silent: false }), "{events:?}");
}

/// What another constraint would change, without changing it.
#[test]
fn a_dry_run_lists_the_difference_and_writes_nothing() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let fabric = leaf_spine(&[]);
    let [first, second_link] = uplinks(&fabric);
    let mut session = Session::new(&fabric, "a", &redis.server());
    session.turn(second(1));
    see(&redis.server(), fabric.name(lower(first)), 1e-3);
    session.turn(second(2));
    see(&redis.server(), fabric.name(lower(second_link)), 1e-3);
    let limits = PlannerLimits { binding: true, constraint: 0.5, ..PlannerLimits::default() };
    let mut store = PlannerStore::open(&redis.server()).unwrap();
    let changes = PlannerLeader::dry_run(&fabric, limits, &mut store).unwrap();
    let [change] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!((change.link, change.before.action), (second_link, AdvisedAction::Nothing));
    assert_eq!(change.after.action, AdvisedAction::Drain, "half of the paths suffice");
    assert_eq!(advice_of(&redis.server(), &fabric, second_link), None);
    assert!(advises(&session.turn(second(3)), second_link, AdvisedAction::Wait), "the planner leads on");
}

/// Records of unknown ports and invalid records are ignored.
#[test]
fn unknown_ports_and_invalid_records_are_ignored() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let fabric = leaf_spine(&[]);
    let mut session = Session::new(&fabric, "a", &redis.server());
    session.turn(second(1));
    see(&redis.server(), &PortName { node: name("stranger"), port: name("eth0") }, 1e-3);
    let [first, ..] = uplinks(&fabric);
    let key = format!("wiremend:observation:{}", fabric.name(lower(first)));
    redis.connection().call(&[b"HSET", key.as_bytes(), b"version", b"1", b"body", b"{]"]).unwrap();
    let about = fabric.name(lower(first)).to_string();
    let channel = format!("wiremend:notify:{}:x", fabric.name(lower(first)).node);
    for (kind, about) in
        [("observation", about.as_str()), ("observation", "no port"), ("x", &"y".repeat(9_999))]
    {
        let message = format!("{kind} {about}");
        redis.connection().call(&[b"PUBLISH", channel.as_bytes(), message.as_bytes()]).unwrap();
    }
    assert_eq!(session.turn(second(2)), []);
    assert_eq!(session.leader.invalid_records(), 1);
}

#[test]
fn a_planner_user_writes_only_advice() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let as_planner = user(&redis, "planner", &planner_acl_rules());
    let as_leaf = user(&redis, "leaf0", &acl_rules(&name("leaf0")));
    let fabric = leaf_spine(&[]);
    let [first, ..] = uplinks(&fabric);
    let mut session = Session::new(&fabric, "a", &as_planner);
    session.turn(second(1));
    see(&as_leaf, fabric.name(lower(first)), 1e-3);
    assert!(advises(&session.turn(second(2)), first, AdvisedAction::Drain));
    let mut forger = Store::open(&as_planner, name("leaf0")).unwrap();
    assert!(!matches!(forger.lease("x", Duration::from_mins(1)), Ok(Some(_))));
    // A node's user cannot write advice.
    let mut forger = PlannerStore::open(&as_leaf);
    assert!(forger.as_mut().map_or(true, |store| store.lease("x", Duration::from_mins(1)).is_err()));
    let mut leaf = Store::open(&as_leaf, name("leaf0")).unwrap();
    let lease: Lease = leaf.lease("test", Duration::from_mins(1)).unwrap().unwrap();
    let action_record = ActionRecord { observation_version: 1, action: LinkAction::Nothing };
    assert!(leaf.put(lease, &name("0"), &action_record, &name("spine0")).is_ok());
    let advice =
        Advice { action: AdvisedAction::Protect, protect: true, binding: true, reason: String::new() };
    assert!(matches!(leaf.put(lease, &name("0"), &advice, &name("spine0")), Err(RedisError::Refused(_))));
}

struct Session<'a> {
    leader: PlannerLeader<'a>,
    store: PlannerStore,
}

impl<'a> Session<'a> {
    fn new(fabric: &'a NamedFabric, holder: &str, server: &RedisServer) -> Self {
        let limits = PlannerLimits { binding: true, ..PlannerLimits::default() };
        Self {
            leader: PlannerLeader::new(fabric, limits, holder.to_owned()),
            store: PlannerStore::open(server).unwrap(),
        }
    }

    fn try_turn(&mut self, now: Time) -> Result<Vec<PlannerEvent>, RedisError> {
        self.leader.run_once(now, &mut self.store, Duration::from_millis(20))
    }

    fn turn(&mut self, now: Time) -> Vec<PlannerEvent> {
        self.try_turn(now).unwrap()
    }
}

fn advises(events: &[PlannerEvent], about: LinkId, what: AdvisedAction) -> bool {
    events.iter().any(
        |event| matches!(event, PlannerEvent::Advised { link, action, .. } if *link == about && *action == what),
    )
}

fn advice_of(server: &RedisServer, fabric: &NamedFabric, link: LinkId) -> Option<Advice> {
    let mut store = PlannerStore::open(server).unwrap();
    let mut records = store.get::<Advice>(&[fabric.name(lower(link)).clone()]).unwrap().records;
    records.remove(0).map(|stored| stored.record)
}

fn see(server: &RedisServer, port: &PortName, loss: f64) {
    let estimate =
        LossEstimate::from_sample(FrameSample { frames: 1_000_000_000, errors: (loss * 1e9) as u64 });
    put(server, port, &Observation { corrupting: Some(estimate), ..Observation::default() });
}

fn unsee(server: &RedisServer, port: &PortName) {
    put(server, port, &Observation::default());
}

fn put(server: &RedisServer, port: &PortName, observation: &Observation) {
    let mut store = Store::open(server, port.node.clone()).unwrap();
    let lease = store.lease("test", Duration::from_mins(1)).unwrap().unwrap();
    store.put(lease, &port.port, observation, &port.node).unwrap();
}

fn user(redis: &TestRedis, name: &str, rules: &[String]) -> RedisServer {
    let mut records: Vec<&[u8]> = vec![b"ACL", b"SETUSER", name.as_bytes()];
    records.extend(rules.iter().map(String::as_bytes));
    records.push(b">secret");
    redis.connection().call(&records).unwrap();
    RedisServer { login: Some((name.into(), "secret".into())), ..redis.server() }
}

/// Four leaves and four spines; each leaf has four paths to the top.
fn leaf_spine(relays: &[&str]) -> NamedFabric {
    let tiers = FabricShape::LeafSpine { leaves: 4, spines: 4 }.build(Rate::gbps(100)).unwrap();
    let relays: Vec<String> = relays.iter().map(|&relay| relay.to_owned()).collect();
    NamedFabric::new(tiers, &relays).unwrap()
}

/// Two links of the first leaf, to the first two spines.
fn uplinks(fabric: &NamedFabric) -> [LinkId; 2] {
    let tor = fabric.tiers().tors()[0];
    let links = fabric.tiers().links_above(tor);
    [links[0], links[1]]
}

fn corrupt(advisor: &mut Advisor<'_>, link: LinkId, loss: f64) -> Vec<(LinkId, AdvisedAction)> {
    advisor.on_observation(second(0), lower(link), Some(loss), true);
    actions(advisor.decide())
}

fn clear(advisor: &mut Advisor<'_>, link: LinkId) -> Vec<(LinkId, AdvisedAction)> {
    advisor.on_observation(second(0), lower(link), None, true);
    actions(advisor.decide())
}

/// Actions by link, taken from the lower end.
fn actions(changes: Vec<(LinkEnd, Advice)>) -> Vec<(LinkId, AdvisedAction)> {
    changes.into_iter().filter(|(end, _)| !end.upper).map(|(end, advice)| (end.link, advice.action)).collect()
}

fn lower(link: LinkId) -> LinkEnd {
    LinkEnd { link, upper: false }
}

fn upper(link: LinkId) -> LinkEnd {
    LinkEnd { link, upper: true }
}

fn second(second: u64) -> Time {
    Time::ZERO.saturating_add(Span::from_ms(second * 1_000))
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}
