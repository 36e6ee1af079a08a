//! Each thing that can go wrong between daemons, with a real Redis: in the end what is protected equals what should be, and no relay
//! was told more often than it had to be.

use wiremend_monitor::bus::{Connection, Doing, Server, Store, Unfit};
use wiremend_monitor::{Event, Name};

use crate::redis::Redis;
use crate::world::{PROTECTS, World};

/// A server that hangs is given up after a while, and caught up with when it goes on.
#[test]
fn a_slow_server_keeps_nobody_from_watching() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut world = World::new(&redis.hasty());
    world.turns(2);
    redis.hang(true);
    world.turns_losing(1_000, 2);
    assert!(world.events.iter().any(|event| matches!(event, Event::Saw { .. })), "{:?}", world.events);
    assert_eq!(world.spine.machine.relay, Doing::Nothing);
    redis.hang(false);
    world.turns(3);
    assert_eq!((&world.spine.machine.relay, world.spine.machine.acts), (&PROTECTS, 1));
}

#[test]
fn a_full_server_is_caught_up_with_when_it_has_room() {
    let Some((redis, mut world)) = World::start() else { return };
    world.turns(2);
    set(&redis, "maxmemory", "1");
    world.turns_losing(1_000, 5);
    assert_eq!(world.spine.machine.relay, Doing::Nothing, "nobody could be told");
    set(&redis, "maxmemory", "0");
    world.turns(2);
    assert_eq!((&world.spine.machine.relay, world.spine.machine.acts), (&PROTECTS, 1));
    // Full while it is protected: nothing is changed, and what ends is heard of later.
    set(&redis, "maxmemory", "1");
    world.turns_losing(0, 400);
    assert_eq!(world.spine.machine.relay, PROTECTS);
    set(&redis, "maxmemory", "0");
    world.turns(2);
    assert_eq!(world.spine.machine.relay, Doing::Nothing);
}

/// As one that has lost its replicas answers: every write is refused.
#[test]
fn a_server_that_answers_errors_is_tried_again() {
    let Some((redis, mut world)) = World::start() else { return };
    world.turns(1);
    set(&redis, "min-replicas-to-write", "1");
    world.turns_losing(1_000, 5);
    assert_eq!(world.spine.machine.relay, Doing::Nothing);
    set(&redis, "min-replicas-to-write", "0");
    world.turns(2);
    assert_eq!((&world.spine.machine.relay, world.spine.machine.acts), (&PROTECTS, 1));
}

#[test]
fn a_wrong_password_is_refused_until_it_is_right() {
    let Some(redis) = Redis::start(&[]) else { return };
    set(&redis, "requirepass", "right");
    let with = |password: &str| Server { login: Some(("default".into(), password.into())), ..redis.server() };
    let mut world = World::new(&with("wrong"));
    world.turns_losing(1_000, 3);
    assert_eq!(world.spine.machine.relay, Doing::Nothing);
    let refused = Store::open(&with("wrong"), name("leaf-1")).err();
    assert!(
        matches!(&refused, Some(Unfit::Fault(fault)) if fault.to_string().contains("WRONGPASS")),
        "{refused:?}"
    );
    (world.leaf.server, world.spine.server) = (with("right"), with("right"));
    world.turns(2);
    assert_eq!((&world.spine.machine.relay, world.spine.machine.acts), (&PROTECTS, 1));
}

/// Bells ring twice, a thousand times, too early, in the wrong order and for nothing: what stands decides.
#[test]
fn messages_that_come_twice_or_in_another_order_change_nothing() {
    let Some((redis, mut world)) = World::start() else { return };
    let mut stranger = redis.connection();
    let ring = |stranger: &mut Connection, times| {
        for _ in 0..times {
            for node in ["leaf-1", "spine-3"] {
                stranger
                    .call(&[b"PUBLISH", format!("wiremend:bell:{node}").as_bytes(), b"spine-9:x"])
                    .unwrap();
            }
        }
    };
    ring(&mut stranger, 500);
    world.turns(2);
    world.loss_to_leaf = 1_000;
    for _ in 0..5 {
        ring(&mut stranger, 100);
        world.turns(1);
    }
    assert_eq!((&world.spine.machine.relay, world.spine.machine.acts), (&PROTECTS, 1));
}

/// Somebody who may write there writes nonsense, something huge, something old, or another kind of thing.
#[test]
fn words_that_were_spoiled_are_said_again() {
    let Some((redis, mut world)) = World::start() else { return };
    world.turns_losing(1_000, 3);
    assert_eq!(world.spine.machine.relay, PROTECTS);
    let huge = vec![b'['; 900_000];
    let key = b"wiremend:seen:leaf-1:eth0";
    for spoil in [
        &[&b"HSET"[..], key, b"body", b"{"][..],
        &[b"HSET", key, b"body", &huge],
        &[b"HSET", key, b"version", b"minus one"],
        &[b"DEL", key],
        &[b"SET", key, b"no hash"],
    ] {
        redis.connection().call(&[b"DEL", b"wiremend:seen:leaf-1:eth0"]).unwrap();
        redis.connection().call(spoil).unwrap();
        world.turns(3);
        assert_eq!(world.spine.machine.relay, PROTECTS, "nothing is changed by nonsense: {:?}", world.events);
        if spoil[0] == b"SET" {
            // Only people can take away what is no hash.
            redis.connection().call(&[b"DEL", key]).unwrap();
        }
        world.turns(32);
        let stands = redis.connection().call(&[b"HGET", key, b"body"]).unwrap();
        assert!(format!("{stands:?}").len() > 100, "said again within half a minute: {stands:?}");
    }
    assert_eq!(world.spine.machine.acts, 1, "{:?}", world.events);
    world.turns_losing(0, 400);
    assert_eq!(world.spine.machine.relay, Doing::Nothing);
}

/// The relay has been told, and nobody heard of it yet.
#[test]
fn a_daemon_killed_between_activation_and_confirmation_comes_to_the_same() {
    let Some((redis, mut world)) = World::start() else { return };
    world.turns(2);
    let server = redis.server();
    world.spine.machine.upon_act = Some(Box::new(move || {
        let mut admin = Connection::open(&server).unwrap();
        admin.call(&[b"CLIENT", b"KILL", b"TYPE", b"normal", b"SKIPME", b"yes"]).unwrap();
    }));
    world.turns_losing(1_000, 1);
    assert_eq!(world.spine.machine.relay, PROTECTS);
    let done = || redis.connection().call(&[b"HGET", b"wiremend:done:spine-3:eth7", b"body"]).unwrap();
    assert!(!format!("{:?}", done()).contains("112"), "nobody was told: {:?}", done());
    world.spine.machine.upon_act = None;
    world.spine.begin_anew();
    world.turns(3);
    assert_eq!((&world.spine.machine.relay, world.spine.machine.acts), (&PROTECTS, 1), "{:?}", world.events);
    let wiremend_monitor::bus::resp::Answer::Bytes(Some(body)) = done() else { panic!("{:?}", done()) };
    assert!(String::from_utf8(body).unwrap().contains("protects"));
}

#[test]
fn a_relay_that_begins_anew_over_and_over_is_told_each_time() {
    let Some((_redis, mut world)) = World::start() else { return };
    world.turns_losing(1_000, 2);
    for round in 1..=5 {
        world.spine.machine.relay = Doing::Nothing;
        world.turns(1);
        assert_eq!((&world.spine.machine.relay, world.spine.machine.acts), (&PROTECTS, 1 + round));
    }
}

/// The clocks of daemons may be anything, and that of the server may go back: leases that would run for a day are none.
#[test]
fn clocks_that_jump_hold_nobody_up() {
    let Some((redis, mut world)) = World::start() else { return };
    world.turns(2);
    world.second += 40_000;
    world.turns_losing(1_000, 3);
    assert_eq!(world.spine.machine.relay, PROTECTS, "{:?}", world.events);
    let tomorrow = b"99999999999999";
    for key in [&b"wiremend:lease:leaf-1"[..], b"wiremend:lease:spine-3"] {
        redis.connection().call(&[b"HSET", key, b"until", tomorrow, b"holder", b"somebody else"]).unwrap();
    }
    world.turns_losing(0, 400);
    assert_eq!(world.spine.machine.relay, Doing::Nothing, "{:?}", world.events);
    let ousted = world.events.iter().filter(|event| **event == Event::Ousted).count();
    assert_eq!(ousted, 0, "{:?}", world.events);
}

fn set(redis: &Redis, option: &str, value: &str) {
    redis.connection().call(&[b"CONFIG", b"SET", option.as_bytes(), value.as_bytes()]).unwrap();
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}
