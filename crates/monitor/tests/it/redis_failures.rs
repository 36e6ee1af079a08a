//! Failures of Redis, messages, daemons and relays: protection converges without extra relay requests.

use wiremend_monitor::redis::{LinkAction, RedisConnection, RedisServer, Store, UnusableServer};
use wiremend_monitor::{DaemonEvent, Name};

use crate::test_redis::TestRedis;
use crate::two_nodes::{PROTECTED, TwoNodes};

/// Commands to a hanging Redis server time out, so daemons still read their ports. They publish when it continues.
#[test]
fn a_hanging_server_does_not_stop_port_readings() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let mut nodes = TwoNodes::new(&redis.hasty());
    nodes.turns(2);
    redis.hang(true);
    nodes.turns_losing(1_000, 2);
    assert!(
        nodes.events.iter().any(|event| matches!(event, DaemonEvent::VerdictChanged { .. })),
        "{:?}",
        nodes.events
    );
    assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing);
    redis.hang(false);
    nodes.turns(3);
    assert_eq!((&nodes.spine.machine.relay, nodes.spine.machine.acts), (&PROTECTED, 1));
}

#[test]
fn daemons_catch_up_after_the_server_was_full() {
    let Some((redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.turns(2);
    set(&redis, "maxmemory", "1");
    nodes.turns_losing(1_000, 5);
    assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing, "no observation could be published");
    set(&redis, "maxmemory", "0");
    nodes.turns(2);
    assert_eq!((&nodes.spine.machine.relay, nodes.spine.machine.acts), (&PROTECTED, 1));
    // The server is full while the link is protected: protection stays, and the end is published later.
    set(&redis, "maxmemory", "1");
    nodes.turns_losing(0, 400);
    assert_eq!(nodes.spine.machine.relay, PROTECTED);
    set(&redis, "maxmemory", "0");
    nodes.turns(2);
    assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing);
}

/// Every write is refused, as by a server that lost its replicas.
#[test]
fn a_server_that_refuses_writes_is_retried() {
    let Some((redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.turns(1);
    set(&redis, "min-replicas-to-write", "1");
    nodes.turns_losing(1_000, 5);
    assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing);
    set(&redis, "min-replicas-to-write", "0");
    nodes.turns(2);
    assert_eq!((&nodes.spine.machine.relay, nodes.spine.machine.acts), (&PROTECTED, 1));
}

#[test]
fn a_wrong_password_is_refused_until_corrected() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    set(&redis, "requirepass", "right");
    let with =
        |password: &str| RedisServer { login: Some(("default".into(), password.into())), ..redis.server() };
    let mut nodes = TwoNodes::new(&with("wrong"));
    nodes.turns_losing(1_000, 3);
    assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing);
    let refused = Store::open(&with("wrong"), name("leaf-1")).err();
    assert!(
        matches!(&refused, Some(UnusableServer::Redis(fault)) if fault.to_string().contains("WRONGPASS")),
        "{refused:?}"
    );
    (nodes.leaf.server, nodes.spine.server) = (with("right"), with("right"));
    nodes.turns(2);
    assert_eq!((&nodes.spine.machine.relay, nodes.spine.machine.acts), (&PROTECTED, 1));
}

/// Notifications are repeated, early, reordered and unfounded: only stored records count.
#[test]
fn repeated_and_forged_notifications_change_nothing() {
    let Some((redis, mut nodes)) = TwoNodes::start() else { return };
    let mut stranger = redis.connection();
    let ring = |stranger: &mut RedisConnection, times| {
        for _ in 0..times {
            for channel in ["wiremend:notify:spine-3:leaf-1", "wiremend:notify:leaf-1:spine-3"] {
                stranger.call(&[b"PUBLISH", channel.as_bytes(), b"spine-9:x"]).unwrap();
            }
        }
    };
    ring(&mut stranger, 500);
    nodes.turns(2);
    nodes.loss_to_leaf = 1_000;
    for _ in 0..5 {
        ring(&mut stranger, 100);
        nodes.turns(1);
    }
    assert_eq!((&nodes.spine.machine.relay, nodes.spine.machine.acts), (&PROTECTED, 1));
}

/// A client replaces a record by invalid, huge, old or differently typed data.
#[test]
fn damaged_records_are_written_again() {
    let Some((redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.turns_losing(1_000, 3);
    assert_eq!(nodes.spine.machine.relay, PROTECTED);
    let huge = vec![b'['; 900_000];
    let key = b"wiremend:observation:leaf-1:eth0";
    for spoil in [
        &[&b"HSET"[..], key, b"body", b"{"][..],
        &[b"HSET", key, b"body", &huge],
        &[b"HSET", key, b"version", b"minus one"],
        &[b"DEL", key],
        &[b"SET", key, b"no hash"],
    ] {
        redis.connection().call(&[b"DEL", b"wiremend:observation:leaf-1:eth0"]).unwrap();
        redis.connection().call(spoil).unwrap();
        nodes.turns(3);
        assert_eq!(
            nodes.spine.machine.relay, PROTECTED,
            "an invalid record changes nothing: {:?}",
            nodes.events
        );
        if spoil[0] == b"SET" {
            // Only an operator can remove a key of another type.
            redis.connection().call(&[b"DEL", key]).unwrap();
        }
        nodes.turns(32);
        let stands = redis.connection().call(&[b"HGET", key, b"body"]).unwrap();
        assert!(format!("{stands:?}").len() > 100, "written again within half a minute: {stands:?}");
    }
    assert_eq!(nodes.spine.machine.acts, 1, "{:?}", nodes.events);
    nodes.turns_losing(0, 400);
    assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing);
}

/// The relay is activated, but the action is not published yet.
#[test]
fn a_daemon_killed_after_activation_reaches_the_same_state() {
    let Some((redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.turns(2);
    let server = redis.server();
    nodes.spine.machine.upon_act = Some(Box::new(move || {
        let mut admin = RedisConnection::open(&server).unwrap();
        admin.call(&[b"CLIENT", b"KILL", b"TYPE", b"normal", b"SKIPME", b"yes"]).unwrap();
    }));
    nodes.turns_losing(1_000, 1);
    assert_eq!(nodes.spine.machine.relay, PROTECTED);
    let done = || redis.connection().call(&[b"HGET", b"wiremend:action:spine-3:eth7", b"body"]).unwrap();
    assert!(!format!("{:?}", done()).contains("112"), "the action is not published: {:?}", done());
    nodes.spine.machine.upon_act = None;
    nodes.spine.begin_anew();
    nodes.turns(3);
    assert_eq!((&nodes.spine.machine.relay, nodes.spine.machine.acts), (&PROTECTED, 1), "{:?}", nodes.events);
    let wiremend_monitor::redis::resp::Reply::Bulk(Some(body)) = done() else { panic!("{:?}", done()) };
    assert!(String::from_utf8(body).unwrap().contains("protect"));
}

#[test]
fn a_relay_is_protected_again_after_each_restart() {
    let Some((_redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.turns_losing(1_000, 2);
    for round in 1..=5 {
        nodes.spine.machine.restart_relay();
        nodes.turns(1);
        assert_eq!((&nodes.spine.machine.relay, nodes.spine.machine.acts), (&PROTECTED, 1 + round));
    }
}

/// Daemons' clocks may differ, and the server's may go back: a lease of a day is ignored.
#[test]
fn clock_jumps_block_no_daemon() {
    let Some((redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.turns(2);
    nodes.second += 40_000;
    nodes.turns_losing(1_000, 3);
    assert_eq!(nodes.spine.machine.relay, PROTECTED, "{:?}", nodes.events);
    let tomorrow = b"99999999999999";
    for key in [&b"wiremend:lease:leaf-1"[..], b"wiremend:lease:spine-3"] {
        redis.connection().call(&[b"HSET", key, b"until", tomorrow, b"holder", b"somebody else"]).unwrap();
    }
    nodes.turns_losing(0, 400);
    assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing, "{:?}", nodes.events);
    let lease_refused = nodes.events.iter().filter(|event| **event == DaemonEvent::LeaseRefused).count();
    assert_eq!(lease_refused, 0, "{:?}", nodes.events);
}

fn set(redis: &TestRedis, option: &str, value: &str) {
    redis.connection().call(&[b"CONFIG", b"SET", option.as_bytes(), value.as_bytes()]).unwrap();
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}
