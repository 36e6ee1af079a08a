//! What daemons tell each other, through a real Redis.

use std::time::Duration;

use wiremend_monitor::bus::{
    Bell, Connection, Deed, Doing, Fault, Lease, Put, Server, Sighting, Standing, Store, Stored, Unfit,
    acl_rules,
};
use wiremend_monitor::{Estimate, Name, PortName, Sample};

use crate::redis::Redis;

const MINUTE: Duration = Duration::from_mins(1);

#[test]
fn a_word_is_read_by_others_and_rings_their_bell() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut bell = Bell::open(&redis.server(), &name("spine-3")).unwrap();
    assert!(!bell.rang(Duration::from_millis(1)).unwrap());
    let (mut leaf, lease) = speaker(&redis.server(), "leaf-1");
    let put = leaf.put(lease, &name("eth0"), &corrupting(), &name("spine-3")).unwrap();
    assert_eq!(put, Put::Stands(1));
    assert!(bell.rang(MINUTE).unwrap());
    let (mut spine, _) = speaker(&redis.server(), "spine-3");
    let read = spine.get::<Sighting>(&[end("leaf-1", "eth0"), end("leaf-1", "eth9")]).unwrap();
    let words = vec![Some(Stored { version: 1, word: corrupting() }), None];
    assert_eq!(read, Standing { words, senseless: 0 });
}

#[test]
fn a_word_that_stands_is_not_said_again() {
    let Some(redis) = Redis::start(&[]) else { return };
    let (mut leaf, lease) = speaker(&redis.server(), "leaf-1");
    let mut bell = Bell::open(&redis.server(), &name("spine-3")).unwrap();
    for (word, version, rings) in [(corrupting(), 1, true), (corrupting(), 1, false), (clean(), 2, true)] {
        assert_eq!(leaf.put(lease, &name("eth0"), &word, &name("spine-3")).unwrap(), Put::Stands(version));
        assert_eq!(bell.rang(Duration::from_millis(if rings { 60_000 } else { 50 })).unwrap(), rings);
    }
    let audited = redis.connection().call(&[b"XLEN", b"wiremend:audit"]).unwrap();
    assert_eq!(audited, wiremend_monitor::bus::resp::Answer::Number(2));
}

/// Two daemons for one switch by mistake, or one that was taken for dead.
#[test]
fn who_holds_an_older_lease_is_refused() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut old = Store::open(&redis.server(), name("leaf-1")).unwrap();
    let mut new = Store::open(&redis.server(), name("leaf-1")).unwrap();
    let outdated = old.lease("old", MINUTE).unwrap().unwrap();
    assert_eq!(new.lease("new", MINUTE).unwrap(), None, "somebody has it");
    // A minute later, by the server's clock.
    redis.connection().call(&[b"HSET", b"wiremend:lease:leaf-1", b"until", b"1"]).unwrap();
    let current = new.lease("new", MINUTE).unwrap().unwrap();
    assert_eq!(old.lease("old", MINUTE).unwrap(), None);
    let put =
        |store: &mut Store, lease| store.put(lease, &name("eth0"), &corrupting(), &name("spine-3")).unwrap();
    assert_eq!(put(&mut old, outdated), Put::Outdated);
    assert_eq!(put(&mut new, current), Put::Stands(1));
    assert_eq!(new.lease("new", MINUTE).unwrap(), Some(current), "renewed");
}

#[test]
fn what_makes_no_sense_counts_as_nothing() {
    let Some(redis) = Redis::start(&[]) else { return };
    let (mut store, _) = speaker(&redis.server(), "spine-3");
    let huge = vec![b' '; 100_000];
    for body in [
        &b"{"[..],
        br#"{"corrupting":null,"more":1}"#,
        br#"{"corrupting":{"frames":1,"errors":2,"loss":2.0,"low":0.0,"high":3.0}}"#,
        b"\xff\xfe",
        &huge,
    ] {
        redis
            .connection()
            .call(&[b"HSET", b"wiremend:seen:leaf-1:eth0", b"version", b"7", b"body", body])
            .unwrap();
        let read = store.get::<Sighting>(&[end("leaf-1", "eth0")]).unwrap();
        assert_eq!(read, Standing { words: vec![None], senseless: 1 });
    }
    redis.connection().call(&[b"SET", b"wiremend:seen:leaf-1:eth1", b"no hash"]).unwrap();
    let read = store.get::<Sighting>(&[end("leaf-1", "eth1")]).unwrap();
    assert_eq!(read, Standing { words: vec![None], senseless: 1 });
}

/// A bell that is rung by a stranger, with anything in it, is a bell.
#[test]
fn bells_may_say_anything() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut bell = Bell::open(&redis.server(), &name("spine-3")).unwrap();
    let huge = vec![b'x'; 500_000];
    for _ in 0..3 {
        redis.connection().call(&[b"PUBLISH", b"wiremend:bell:spine-3", &huge]).unwrap();
    }
    assert!(bell.rang(MINUTE).unwrap());
    let too_much = vec![b'x'; 2 << 20];
    redis.connection().call(&[b"PUBLISH", b"wiremend:bell:spine-3", &too_much]).unwrap();
    let last = std::iter::repeat_with(|| bell.rang(MINUTE)).find(|rang| !matches!(rang, Ok(true)));
    assert!(matches!(last, Some(Err(Fault::Malformed(_)))));
}

#[test]
fn a_server_that_forgets_is_refused() {
    let Some(redis) = Redis::start(&["--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"]) else {
        return;
    };
    let refused = Store::open(&redis.server(), name("leaf-1")).err();
    assert!(matches!(&refused, Some(Unfit::Evicts(policy)) if policy == "allkeys-lru"), "{refused:?}");
    assert!(refused.unwrap().to_string().contains("noeviction"));
}

#[test]
fn a_node_writes_under_its_own_name_alone() {
    let Some(redis) = Redis::start(&[]) else { return };
    let as_leaf = user(&redis, "leaf-1", "secret-1");
    let as_spine = user(&redis, "spine-3", "secret-3");
    let (mut leaf, lease) = speaker(&as_leaf, "leaf-1");
    assert_eq!(leaf.put(lease, &name("eth0"), &corrupting(), &name("spine-3")).unwrap(), Put::Stands(1));
    let (mut spine, lease) = speaker(&as_spine, "spine-3");
    let read = spine.get::<Sighting>(&[end("leaf-1", "eth0")]).unwrap();
    assert_eq!(read.words[0].as_ref().map(|stored| stored.word), Some(corrupting()));
    let deed = Deed { answers: 1, doing: Doing::Protects { copies: 2 } };
    assert_eq!(spine.put(lease, &name("eth7"), &deed, &name("leaf-1")).unwrap(), Put::Stands(1));

    let mut forger = Store::open(&as_spine, name("leaf-1")).unwrap();
    assert!(matches!(forger.lease("spine-3", MINUTE), Err(Fault::Refused(_))));
    let mut plain = Connection::open(&as_spine).unwrap();
    for forged in [
        &[&b"HSET"[..], b"wiremend:seen:leaf-1:eth0", b"body", b"{}"][..],
        &[b"DEL", b"wiremend:seen:leaf-1:eth0"],
        &[b"FLUSHALL"],
        &[b"CONFIG", b"SET", b"maxmemory-policy", b"allkeys-lru"],
        &[b"SET", b"other", b"1"],
    ] {
        assert!(matches!(plain.call(forged), Err(Fault::Refused(_))), "{forged:?}");
    }
    let wrong = Server { login: Some(("leaf-1".into(), "guess".into())), ..redis.server() };
    assert!(matches!(Store::open(&wrong, name("leaf-1")), Err(Unfit::Fault(Fault::Refused(_)))));
}

#[test]
fn what_was_said_outlives_the_server() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let (mut leaf, lease) = speaker(&redis.server(), "leaf-1");
    leaf.put(lease, &name("eth0"), &corrupting(), &name("spine-3")).unwrap();
    redis.kill();
    assert!(leaf.put(lease, &name("eth0"), &clean(), &name("spine-3")).is_err());
    redis.restart();
    let mut leaf = Store::open(&redis.server(), name("leaf-1")).unwrap();
    assert_eq!(leaf.lease("leaf-1", MINUTE).unwrap(), Some(lease), "the same holder has the same lease");
    assert_eq!(leaf.put(lease, &name("eth0"), &clean(), &name("spine-3")).unwrap(), Put::Stands(2));
}

/// A server out of memory keeps what it has and says so.
#[test]
fn a_full_server_refuses() {
    let Some(redis) = Redis::start(&["--maxmemory", "100kb"]) else { return };
    let mut leaf = Store::open(&redis.server(), name("leaf-1")).unwrap();
    assert!(matches!(leaf.lease("leaf-1", MINUTE), Err(Fault::Refused(why)) if why.contains("OOM")));
}

fn user(redis: &Redis, node: &str, password: &str) -> Server {
    let rules = acl_rules(&name(node));
    let password_rule = format!(">{password}");
    let mut words: Vec<&[u8]> = vec![b"ACL", b"SETUSER", node.as_bytes()];
    words.extend(rules.iter().map(String::as_bytes));
    words.push(password_rule.as_bytes());
    redis.connection().call(&words).unwrap();
    Server { login: Some((node.into(), password.into())), ..redis.server() }
}

fn speaker(server: &Server, node: &str) -> (Store, Lease) {
    let mut store = Store::open(server, name(node)).unwrap();
    let lease = store.lease(node, MINUTE).unwrap().expect("nobody else has it");
    (store, lease)
}

fn corrupting() -> Sighting {
    Sighting {
        corrupting: Some(Estimate::of(Sample { frames: 1_000_000, errors: 1_000 })),
        ..Sighting::default()
    }
}

fn clean() -> Sighting {
    Sighting::default()
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn end(node: &str, port: &str) -> PortName {
    PortName { node: name(node), port: name(port) }
}
