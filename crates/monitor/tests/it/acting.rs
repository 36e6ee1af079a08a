//! Daemons at both ends of a link, through a real Redis: what is protected must come to equal what should be, whatever happens.

use wiremend_monitor::bus::{Connection, Doing, Store};
use wiremend_monitor::{Event, Mode};
use wiremend_units::Time;

use crate::world::{PROTECTS, Site, World};

#[test]
fn a_link_that_corrupts_is_protected_and_let_be_when_it_is_clean() {
    let Some((_redis, mut world)) = World::start() else { return };
    world.turns(3);
    assert_eq!(world.spine.machine.relay, Doing::Nothing);
    world.turns_losing(1_000, 2);
    assert_eq!(world.spine.machine.relay, PROTECTS, "{:?}", world.events);
    assert_eq!(world.leaf.machine.relay, Doing::Nothing, "only what is sent towards the loss");
    world.turns_losing(0, 400);
    assert_eq!(world.spine.machine.relay, Doing::Nothing, "{:?}", world.events);
    assert_eq!(world.spine.machine.acts, 2, "once on, once off");
}

#[test]
fn who_only_observes_touches_nothing() {
    let Some((_redis, mut world)) = World::start() else { return };
    world.spine.conduct.mode = Mode::Observe;
    world.spine.begin_anew();
    world.turns_losing(1_000, 3);
    assert_eq!(world.spine.machine.acts, 0);
}

/// Protection stays as it is while the server is gone; what changes meanwhile is said when it is back.
#[test]
fn a_server_that_was_gone_is_caught_up_with() {
    let Some((mut redis, mut world)) = World::start() else { return };
    world.turns(2);
    redis.kill();
    world.turns_losing(1_000, 5);
    assert_eq!(world.spine.machine.relay, Doing::Nothing);
    redis.restart();
    world.turns(2);
    assert_eq!(world.spine.machine.relay, PROTECTS, "{:?}", world.events);
    redis.kill();
    world.turns_losing(0, 400);
    assert_eq!(world.spine.machine.relay, PROTECTS, "as it was");
    redis.restart();
    world.turns(2);
    assert_eq!(world.spine.machine.relay, Doing::Nothing);
}

/// Bells are lost, and the whole store is: everything is said again.
#[test]
fn a_server_that_forgot_everything_is_told_again() {
    let Some((redis, mut world)) = World::start() else { return };
    world.deaf = true;
    world.turns_losing(1_000, 35);
    assert_eq!(world.spine.machine.relay, PROTECTS, "read without a bell");
    Connection::open(&redis.server()).unwrap().call(&[b"FLUSHALL"]).unwrap();
    world.leaf.daemon.on_disconnect();
    world.spine.daemon.on_disconnect();
    world.turns(3);
    assert_eq!(world.spine.machine.relay, PROTECTS);
    assert_eq!(world.spine.machine.acts, 1);
}

/// Killed at any moment: after the relay was told and before that was said, or the other way round.
#[test]
fn a_daemon_that_begins_anew_comes_to_the_same() {
    let Some((_redis, mut world)) = World::start() else { return };
    world.turns_losing(1_000, 3);
    assert_eq!(world.spine.machine.relay, PROTECTS);
    world.spine.begin_anew();
    world.leaf.begin_anew();
    world.turns(1);
    assert_eq!(world.spine.machine.acts, 1, "nothing was to be done");
    world.spine.machine.relay = Doing::Nothing;
    world.turns(1);
    assert_eq!(world.spine.machine.relay, PROTECTS, "a relay that began anew is told again");
    world.loss_to_leaf = 0;
    world.leaf.begin_anew();
    world.turns(400);
    assert_eq!(world.spine.machine.relay, Doing::Nothing, "who begins anew clears what it had raised");
}

/// Somebody cleaned the connector. A daemon that was away when that was said hears of it too.
#[test]
fn a_repair_is_heard_of_at_once_or_later() {
    let Some((redis, mut world)) = World::start() else { return };
    for is_away in [false, true] {
        world.turns_losing(1_000, 4);
        assert_eq!(world.spine.machine.relay, PROTECTS, "{:?}", world.events);
        if is_away {
            world.leaf.begin_anew();
        }
        world.loss_to_leaf = 0;
        let mut people = Store::open(&redis.server(), "leaf-1".parse().unwrap()).unwrap();
        people.say_repaired(&"eth0".parse().unwrap()).unwrap();
        world.turns(2);
        assert_eq!(world.spine.machine.relay, Doing::Nothing, "{:?}", world.events);
    }
}

#[test]
fn of_two_daemons_for_one_node_one_acts() {
    let Some((redis, mut world)) = World::start() else { return };
    world.turns(1);
    let mut second = Site::new("spine-3", "eth7", "leaf-1", "eth0", &redis.server());
    second.daemon = second.fresh("another");
    let events = second.turn(Time::from_ns(1_000_000_000), true);
    assert_eq!(events, [Event::Ousted]);
    assert_eq!(second.turn(Time::from_ns(2_000_000_000), true), [], "said once");
}

#[test]
fn a_relay_that_fails_is_said_and_tried_again() {
    let Some((_redis, mut world)) = World::start() else { return };
    world.spine.machine.broken = true;
    world.turns_losing(1_000, 10);
    let failed = world.events.iter().filter(|event| matches!(event, Event::Failed { .. })).count();
    assert_eq!(failed, 2, "once for each word that is answered: {:?}", world.events);
    world.spine.machine.broken = false;
    world.turns(2);
    assert_eq!(world.spine.machine.relay, PROTECTS);
}
