//! Operators and unreliable peers: what daemons in mode `act` leave alone.

use std::time::Duration;

use wiremend_monitor::redis::{HoldRecord, LinkAction, Observation, Store};
use wiremend_monitor::{DaemonEvent, FrameSample, LossEstimate, Name};
use wiremend_units::{Span, Time};

use crate::test_redis::TestRedis;
use crate::two_nodes::{PROTECTED, TwoNodes};

/// `relay activate`, `relay deactivate` and `relay set` by hand stand for an hour, also after a restart of
/// the daemon.
#[test]
fn changes_by_hand_stand() {
    for by_hand in [LinkAction::Nothing, LinkAction::Protect { copies: 4 }] {
        let Some((_redis, mut nodes)) = TwoNodes::start() else { return };
        nodes.turns_losing(1_000, 3);
        assert_eq!(nodes.spine.machine.relay, PROTECTED);
        nodes.spine.machine.relay = by_hand.clone();
        nodes.turns(60);
        assert_eq!(
            (&nodes.spine.machine.relay, nodes.spine.machine.acts),
            (&by_hand, 1),
            "{:?}",
            nodes.events
        );
        let told =
            nodes.events.iter().filter(|event| matches!(event, DaemonEvent::ChangedByHand { .. })).count();
        assert_eq!(told, 1, "{:?}", nodes.events);
        nodes.spine.begin_anew();
        nodes.turns(60);
        assert_eq!((&nodes.spine.machine.relay, nodes.spine.machine.acts), (&by_hand, 1), "after a restart");
        // A second change by hand within the hold stands too.
        nodes.spine.machine.relay = LinkAction::Protect { copies: 3 };
        nodes.turns(60);
        assert_eq!(nodes.spine.machine.acts, 1);
        // `wiremend monitor unhold`.
        put_hold(&mut nodes, &HoldRecord::ended());
        nodes.turns(2);
        assert_eq!(
            (&nodes.spine.machine.relay, nodes.spine.machine.acts),
            (&PROTECTED, 2),
            "{:?}",
            nodes.events
        );
    }
}

/// The hold could not be stored at first.
#[test]
fn a_change_by_hand_stands_while_redis_is_full() {
    let Some((redis, mut nodes)) = TwoNodes::start() else { return };
    let set_memory =
        |bytes: &[u8]| redis.connection().call(&[b"CONFIG", b"SET", b"maxmemory", bytes]).unwrap();
    nodes.turns_losing(1_000, 7);
    assert_eq!(nodes.spine.machine.relay, PROTECTED);
    set_memory(b"1");
    nodes.spine.machine.relay = LinkAction::Nothing;
    nodes.turns(10);
    set_memory(b"0");
    nodes.turns(60);
    assert_eq!(
        (&nodes.spine.machine.relay, nodes.spine.machine.acts),
        (&LinkAction::Nothing, 1),
        "{:?}",
        nodes.events
    );
    nodes.spine.begin_anew();
    nodes.turns(5);
    assert_eq!(nodes.spine.machine.acts, 1, "the hold was stored");
}

/// Protection of a healthy link that was activated by hand.
#[test]
fn protection_by_hand_of_a_healthy_link_stands() {
    let Some((_redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.turns(3);
    nodes.spine.machine.relay = LinkAction::Protect { copies: 1 };
    nodes.turns(60);
    assert_eq!(
        (&nodes.spine.machine.relay, nodes.spine.machine.acts),
        (&LinkAction::Protect { copies: 1 }, 0)
    );
}

#[test]
fn a_held_link_is_left_alone_until_the_hold_ends() {
    let Some((_redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.turns(2);
    hold(&mut nodes, 3_600_000);
    nodes.turns_losing(1_000, 30);
    assert_eq!(nodes.spine.machine.acts, 0, "{:?}", nodes.events);
    assert!(nodes.spine.daemon.is_held(0));
    let action = nodes.spine.daemon.action(0).unwrap();
    assert!(matches!(action, LinkAction::Decline { reason } if reason == "held: new optics"), "{action:?}");
    // The server's clock decides when it ends.
    hold(&mut nodes, 1);
    let has_ended = (0..10_000).any(|_| {
        nodes.turns(1);
        nodes.spine.machine.relay == PROTECTED
    });
    assert!(has_ended && nodes.spine.machine.acts == 1, "{:?}", nodes.events);
    let ended = DaemonEvent::HoldChanged { link: 0, why: None };
    assert!(nodes.events.contains(&ended), "{:?}", nodes.events);
}

/// A hold of a year is a mistake, or the clock of the server was set back.
#[test]
fn a_hold_without_end_does_not_count() {
    let Some((_redis, mut nodes)) = TwoNodes::start() else { return };
    hold(&mut nodes, 365 * 86_400_000);
    nodes.turns_losing(1_000, 3);
    assert_eq!((&nodes.spine.machine.relay, nodes.spine.machine.acts), (&PROTECTED, 1));
}

/// The view of the other end flips every 250 ms: three changes, then none for seconds.
#[test]
fn a_flapping_peer_does_not_toggle_the_relay() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let mut nodes = TwoNodes::new(&redis.server());
    let mut liar = Store::open(&redis.server(), name("leaf-1")).unwrap();
    let lease = liar.lease("liar", Duration::from_mins(10)).unwrap().unwrap();
    for quarter in 0..20_u64 {
        let loss = LossEstimate::from_sample(FrameSample { frames: 1_000_000, errors: 1_000 });
        let corrupting = Some(loss).filter(|_| quarter % 2 == 0);
        // It also claims that the link was repaired.
        let observation = Observation { corrupting, last_repair: quarter, ..Observation::default() };
        liar.put(lease, &name("eth0"), &observation, &name("spine-3")).unwrap();
        let now = Time::ZERO.saturating_add(Span::from_ms(250 * quarter + 250));
        nodes.events.extend(nodes.spine.turn(now, true));
    }
    assert_eq!(nodes.spine.machine.relay, PROTECTED, "{:?}", nodes.events);
    assert!(nodes.spine.machine.acts <= 5, "{} changes", nodes.spine.machine.acts);
}

/// The daemon at the other end died: its observation has expired, and protection stays.
#[test]
fn the_observation_of_a_silent_peer_expires() {
    let Some((redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.turns_losing(1_000, 3);
    assert_eq!(nodes.spine.machine.relay, PROTECTED);
    let mut admin = redis.connection();
    // The peer stored that the link is healthy and died a long time ago. Nobody has read that yet.
    let record = [
        &b"HSET"[..],
        b"wiremend:observation:leaf-1:eth0",
        b"version",
        b"9",
        b"body",
        br#"{"corrupting":null}"#,
    ];
    admin.call(&record).unwrap();
    admin.call(&[b"HSET", b"wiremend:lease:leaf-1", b"until", b"1000"]).unwrap();
    let mut events = Vec::new();
    for second in 40..80 {
        events.extend(nodes.spine.turn(Time::ZERO.saturating_add(Span::from_ms(1_000 * second)), true));
    }
    assert!(events.contains(&DaemonEvent::PeerSilent { link: 0, silent: true }), "{events:?}");
    assert_eq!(nodes.spine.machine.relay, PROTECTED, "an expired view ends no protection");
    nodes.second = 80;
    nodes.turns(60);
    assert!(nodes.events.contains(&DaemonEvent::PeerSilent { link: 0, silent: false }), "{:?}", nodes.events);
}

/// A port that was never read is not reported as healthy.
#[test]
fn a_port_that_cannot_be_read_is_reported_and_not_published() {
    let Some((redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.leaf.machine.unreadable = true;
    nodes.turns(5);
    let stored = || redis.connection().call(&[b"EXISTS", b"wiremend:observation:leaf-1:eth0"]).unwrap();
    assert_eq!(stored(), wiremend_monitor::redis::resp::Reply::Integer(0));
    let unread = |unread| DaemonEvent::PortUnread { link: 0, unread };
    assert!(nodes.events.contains(&unread(true)) && nodes.leaf.daemon.is_unread(0), "{:?}", nodes.events);
    nodes.leaf.machine.unreadable = false;
    nodes.turns(2);
    assert!(nodes.events.contains(&unread(false)), "{:?}", nodes.events);
    assert_eq!(stored(), wiremend_monitor::redis::resp::Reply::Integer(1));
}

fn hold(nodes: &mut TwoNodes, length_ms: u64) {
    let now_ms = nodes.operator().time_ms().unwrap();
    let record =
        HoldRecord { until_ms: now_ms + length_ms, why: "new optics".to_owned(), maintenance: false };
    put_hold(nodes, &record);
}

fn put_hold(nodes: &mut TwoNodes, record: &HoldRecord) {
    nodes.operator().put_hold(&name("eth7"), record, None).unwrap();
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}
