//! Daemons at both ends of a link with a real Redis: protection converges to what the observations require.

use wiremend_monitor::redis::{LinkAction, RedisConnection, Store};
use wiremend_monitor::{DaemonEvent, DaemonMode};
use wiremend_units::Time;

use crate::two_nodes::{PROTECTED, Site, TwoNodes};

#[test]
fn a_corrupting_link_is_protected_until_it_is_clean() {
    let Some((_redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.turns(3);
    assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing);
    nodes.turns_losing(1_000, 2);
    assert_eq!(nodes.spine.machine.relay, PROTECTED, "{:?}", nodes.events);
    assert_eq!(nodes.leaf.machine.relay, LinkAction::Nothing, "only the lossy direction is protected");
    nodes.turns_losing(0, 400);
    assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing, "{:?}", nodes.events);
    assert_eq!(nodes.spine.machine.acts, 2, "once on, once off");
}

#[test]
fn a_daemon_in_observe_mode_changes_nothing() {
    let Some((_redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.spine.act.mode = DaemonMode::Observe;
    nodes.spine.begin_anew();
    nodes.turns_losing(1_000, 3);
    assert_eq!(nodes.spine.machine.acts, 0);
}

/// Protection stays unchanged during a server outage; changes are published afterwards.
#[test]
fn daemons_catch_up_after_a_server_outage() {
    let Some((mut redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.turns(2);
    redis.kill();
    nodes.turns_losing(1_000, 5);
    assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing);
    redis.restart();
    nodes.turns(2);
    assert_eq!(nodes.spine.machine.relay, PROTECTED, "{:?}", nodes.events);
    redis.kill();
    nodes.turns_losing(0, 400);
    assert_eq!(nodes.spine.machine.relay, PROTECTED, "unchanged");
    redis.restart();
    nodes.turns(2);
    assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing);
}

/// Notifications are lost, and then all stored data: every record is published again.
#[test]
fn daemons_publish_everything_again_after_data_loss() {
    let Some((redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.deaf = true;
    nodes.turns_losing(1_000, 35);
    assert_eq!(nodes.spine.machine.relay, PROTECTED, "read without a notification");
    RedisConnection::open(&redis.server()).unwrap().call(&[b"FLUSHALL"]).unwrap();
    nodes.leaf.daemon.on_connection_change();
    nodes.spine.daemon.on_connection_change();
    nodes.turns(3);
    assert_eq!(nodes.spine.machine.relay, PROTECTED);
    assert_eq!(nodes.spine.machine.acts, 1);
}

/// A daemon is killed after it activated the relay and before it published that, or the other way round.
#[test]
fn a_restarted_daemon_reaches_the_same_state() {
    let Some((_redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.turns_losing(1_000, 3);
    assert_eq!(nodes.spine.machine.relay, PROTECTED);
    nodes.spine.begin_anew();
    nodes.leaf.begin_anew();
    nodes.turns(1);
    assert_eq!(nodes.spine.machine.acts, 1, "no action was necessary");
    nodes.spine.machine.restart_relay();
    nodes.turns(1);
    assert_eq!(nodes.spine.machine.relay, PROTECTED, "a restarted relay is activated again");
    nodes.loss_to_leaf = 0;
    nodes.leaf.begin_anew();
    nodes.turns(400);
    assert_eq!(
        nodes.spine.machine.relay,
        LinkAction::Nothing,
        "a restarted daemon clears its earlier verdict"
    );
}

/// An operator reports a repair, while the daemon runs or while it is stopped.
#[test]
fn a_repair_clears_the_verdict_at_once_or_after_a_restart() {
    let Some((redis, mut nodes)) = TwoNodes::start() else { return };
    for is_away in [false, true] {
        nodes.turns_losing(1_000, 4);
        assert_eq!(nodes.spine.machine.relay, PROTECTED, "{:?}", nodes.events);
        if is_away {
            nodes.leaf.begin_anew();
        }
        nodes.loss_to_leaf = 0;
        let mut operator = Store::open(&redis.server(), "leaf-1".parse().unwrap()).unwrap();
        operator.put_repair(&"eth0".parse().unwrap()).unwrap();
        nodes.turns(2);
        assert_eq!(nodes.spine.machine.relay, LinkAction::Nothing, "{:?}", nodes.events);
    }
}

#[test]
fn only_one_of_two_daemons_of_a_node_acts() {
    let Some((redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.turns(1);
    let mut second = Site::new("spine-3", "eth7", "leaf-1", "eth0", &redis.server());
    second.daemon = second.fresh("another");
    let events = second.turn(Time::from_ns(1_000_000_000), true);
    assert_eq!(events, [DaemonEvent::LeaseRefused]);
    assert_eq!(second.turn(Time::from_ns(2_000_000_000), true), [], "reported once");
}

#[test]
fn a_failing_relay_is_reported_and_retried() {
    let Some((_redis, mut nodes)) = TwoNodes::start() else { return };
    nodes.spine.machine.broken = true;
    nodes.turns_losing(1_000, 10);
    let failed =
        nodes.events.iter().filter(|event| matches!(event, DaemonEvent::ActionFailed { .. })).count();
    assert_eq!(failed, 2, "one failure per observation: {:?}", nodes.events);
    nodes.spine.machine.broken = false;
    nodes.turns(2);
    assert_eq!(nodes.spine.machine.relay, PROTECTED);
}
