//! Records of daemons in a real Redis.

use std::collections::BTreeMap;
use std::time::Duration;

use wiremend_monitor::redis::resp::Reply;
use wiremend_monitor::redis::{
    ActionRecord, ChangeNotifier, CounterRecord, Lease, LinkAction, Observation, PlannerStore, PutOutcome,
    Records, RedisConnection, RedisError, RedisServer, RelayRecord, Store, UnusableServer, Versioned,
    acl_rules, viewer_acl_rules,
};
use wiremend_monitor::{Counter, FrameSample, LossEstimate, Name, PortName};

use crate::test_redis::TestRedis;

const MINUTE: Duration = Duration::from_mins(1);

#[test]
fn a_written_record_notifies_the_peer() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let mut notifier = ChangeNotifier::open(&redis.server(), &name("spine-3"), &[name("leaf-1")]).unwrap();
    assert!(!notifier.wait(Duration::from_millis(1)).unwrap());
    let (mut leaf, lease) = store_with_lease(&redis.server(), "leaf-1");
    let put = leaf.put(lease, &name("eth0"), &corrupting(), &name("spine-3")).unwrap();
    assert_eq!(put, PutOutcome::Stored(1));
    assert!(notifier.wait(MINUTE).unwrap());
    let (mut spine, _) = store_with_lease(&redis.server(), "spine-3");
    let read = spine.get::<Observation>(&[end("leaf-1", "eth0"), end("leaf-1", "eth9")]).unwrap();
    let records = vec![Some(Versioned { version: 1, record: corrupting() }), None];
    assert_eq!(read, Records { records, invalid: 0 });
}

#[test]
fn an_unchanged_record_is_not_written_again() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let (mut leaf, lease) = store_with_lease(&redis.server(), "leaf-1");
    let mut notifier = ChangeNotifier::open(&redis.server(), &name("spine-3"), &[name("leaf-1")]).unwrap();
    for (record, version, rings) in [(corrupting(), 1, true), (corrupting(), 1, false), (clean(), 2, true)] {
        assert_eq!(
            leaf.put(lease, &name("eth0"), &record, &name("spine-3")).unwrap(),
            PutOutcome::Stored(version)
        );
        assert_eq!(notifier.wait(Duration::from_millis(if rings { 60_000 } else { 50 })).unwrap(), rings);
    }
    let audited = redis.connection().call(&[b"XLEN", b"wiremend:audit:leaf-1"]).unwrap();
    assert_eq!(audited, wiremend_monitor::redis::resp::Reply::Integer(2));
}

/// Two daemons for one node, or a daemon that was wrongly taken for dead.
#[test]
fn writes_with_an_older_lease_are_rejected() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let mut old = Store::open(&redis.server(), name("leaf-1")).unwrap();
    let mut new = Store::open(&redis.server(), name("leaf-1")).unwrap();
    let outdated = old.lease("old", MINUTE).unwrap().unwrap();
    assert_eq!(new.lease("new", MINUTE).unwrap(), None, "the lease is held");
    // The lease expires.
    redis.connection().call(&[b"HSET", b"wiremend:lease:leaf-1", b"until", b"1"]).unwrap();
    let current = new.lease("new", MINUTE).unwrap().unwrap();
    assert_eq!(old.lease("old", MINUTE).unwrap(), None);
    let put =
        |store: &mut Store, lease| store.put(lease, &name("eth0"), &corrupting(), &name("spine-3")).unwrap();
    assert_eq!(put(&mut old, outdated), PutOutcome::StaleLease);
    assert_eq!(put(&mut new, current), PutOutcome::Stored(1));
    assert_eq!(new.lease("new", MINUTE).unwrap(), Some(current), "renewed");
}

#[test]
fn invalid_records_are_counted_and_ignored() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let (mut store, _) = store_with_lease(&redis.server(), "spine-3");
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
            .call(&[b"HSET", b"wiremend:observation:leaf-1:eth0", b"version", b"7", b"body", body])
            .unwrap();
        let read = store.get::<Observation>(&[end("leaf-1", "eth0")]).unwrap();
        assert_eq!(read, Records { records: vec![None], invalid: 1 });
    }
    redis.connection().call(&[b"SET", b"wiremend:observation:leaf-1:eth1", b"no hash"]).unwrap();
    let read = store.get::<Observation>(&[end("leaf-1", "eth1")]).unwrap();
    assert_eq!(read, Records { records: vec![None], invalid: 1 });
}

/// A notification counts whatever it contains.
#[test]
fn notifications_may_contain_anything() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let mut notifier = ChangeNotifier::open(&redis.server(), &name("spine-3"), &[name("leaf-1")]).unwrap();
    let huge = vec![b'x'; 500_000];
    for _ in 0..3 {
        redis.connection().call(&[b"PUBLISH", b"wiremend:notify:leaf-1:spine-3", &huge]).unwrap();
    }
    assert!(notifier.wait(MINUTE).unwrap());
    let too_much = vec![b'x'; 2 << 20];
    redis.connection().call(&[b"PUBLISH", b"wiremend:notify:leaf-1:spine-3", &too_much]).unwrap();
    let last =
        std::iter::repeat_with(|| notifier.wait(MINUTE)).find(|notified| !matches!(notified, Ok(true)));
    assert!(matches!(last, Some(Err(RedisError::MalformedReply(_)))));
}

#[test]
fn a_server_with_eviction_is_rejected() {
    let Some(redis) = TestRedis::start(&["--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"]) else {
        return;
    };
    let refused = Store::open(&redis.server(), name("leaf-1")).err();
    assert!(
        matches!(&refused, Some(UnusableServer::Evicts(policy)) if policy == "allkeys-lru"),
        "{refused:?}"
    );
    assert!(refused.unwrap().to_string().contains("noeviction"));
}

#[test]
fn a_node_user_writes_only_its_own_keys() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let as_leaf = user(&redis, "leaf-1", "secret-1");
    let as_spine = user(&redis, "spine-3", "secret-3");
    let (mut leaf, lease) = store_with_lease(&as_leaf, "leaf-1");
    assert_eq!(
        leaf.put(lease, &name("eth0"), &corrupting(), &name("spine-3")).unwrap(),
        PutOutcome::Stored(1)
    );
    let (mut spine, lease) = store_with_lease(&as_spine, "spine-3");
    let read = spine.get::<Observation>(&[end("leaf-1", "eth0")]).unwrap();
    assert_eq!(read.records[0].as_ref().map(|stored| stored.record), Some(corrupting()));
    let action_record = ActionRecord { observation_version: 1, action: LinkAction::Protect { copies: 2 } };
    assert_eq!(
        spine.put(lease, &name("eth7"), &action_record, &name("leaf-1")).unwrap(),
        PutOutcome::Stored(1)
    );

    let mut forger = Store::open(&as_spine, name("leaf-1")).unwrap();
    assert!(!matches!(forger.lease("spine-3", MINUTE), Ok(Some(_))));
    let mut plain = RedisConnection::open(&as_spine).unwrap();
    for forged in [
        &[&b"HSET"[..], b"wiremend:observation:leaf-1:eth0", b"body", b"{}"][..],
        &[b"DEL", b"wiremend:observation:leaf-1:eth0"],
        &[b"FLUSHALL"],
        &[b"CONFIG", b"SET", b"maxmemory-policy", b"allkeys-lru"],
        &[b"SET", b"other", b"1"],
    ] {
        assert!(matches!(plain.call(forged), Err(RedisError::Refused(_))), "{forged:?}");
    }
    let wrong = RedisServer { login: Some(("leaf-1".into(), "guess".into())), ..redis.server() };
    assert!(matches!(
        Store::open(&wrong, name("leaf-1")),
        Err(UnusableServer::Redis(RedisError::Refused(_)))
    ));
}

/// A node writes only streams of its own ports; they have a bounded length and end, and a viewer reads them.
#[test]
fn counters_are_in_streams_of_their_own() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let mut leaf = Store::open(&user(&redis, "leaf-1", "secret"), name("leaf-1")).unwrap();
    let record = |bad| {
        let counters = [(Counter::RxGood, 1_000), (Counter::RxCrc, bad)].into_iter().collect();
        let counts = BTreeMap::from([("retransmitted".to_owned(), bad)]);
        let relay = Some(RelayRecord { copies: 2, counts, ..RelayRecord::default() });
        CounterRecord { up: true, carrier_changes: Some(3), counters, relay }
    };
    for bad in 0..1_000 {
        leaf.add_counters(&name("eth0"), &record(bad)).unwrap();
    }
    let mut connection = redis.connection();
    for foreign in ["wiremend:counters:leaf-2:eth0", "wiremend:counters:leaf-1"] {
        let mut plain = RedisConnection::open(&user(&redis, "leaf-1", "secret")).unwrap();
        let refused = plain.call(&[b"XADD", foreign.as_bytes(), b"*", b"body", b"{}"]);
        assert!(matches!(refused, Err(RedisError::Refused(_))), "{foreign}");
    }
    let stream = b"wiremend:counters:leaf-1:eth0";
    let Reply::Integer(length) = connection.call(&[b"XLEN", stream]).unwrap() else { panic!("no length") };
    assert!((320..500).contains(&length), "{length}");
    let Reply::Integer(left) = connection.call(&[b"TTL", stream]).unwrap() else { panic!("no end") };
    assert!(left > 0, "{left}");
    connection.call(&[b"XADD", stream, b"*", b"body", b"no JSON"]).unwrap();
    connection.call(&[b"SET", b"wiremend:counters:leaf-1:eth1", b"no stream"]).unwrap();
    let mut viewer = PlannerStore::open(&viewer(&redis)).unwrap();
    let read = viewer.counters(&end("leaf-1", "eth0")).unwrap();
    assert_eq!(read.last().map(|(_, record)| record.clone()), Some(record(999)));
    assert!(read.is_sorted_by_key(|(at, _)| *at) && read.len() > 300, "{}", read.len());
    assert_eq!(viewer.counters(&end("leaf-1", "eth1")).unwrap(), Vec::new());
    assert_eq!(viewer.counters(&end("leaf-1", "eth2")).unwrap(), Vec::new());
}

#[test]
fn records_survive_a_server_crash() {
    let Some(mut redis) = TestRedis::start(&[]) else { return };
    let (mut leaf, lease) = store_with_lease(&redis.server(), "leaf-1");
    leaf.put(lease, &name("eth0"), &corrupting(), &name("spine-3")).unwrap();
    redis.kill();
    assert!(leaf.put(lease, &name("eth0"), &clean(), &name("spine-3")).is_err());
    redis.restart();
    let mut leaf = Store::open(&redis.server(), name("leaf-1")).unwrap();
    assert_eq!(leaf.lease("leaf-1", MINUTE).unwrap(), Some(lease), "the same holder has the same lease");
    assert_eq!(leaf.put(lease, &name("eth0"), &clean(), &name("spine-3")).unwrap(), PutOutcome::Stored(2));
}

/// A server without memory keeps its data and refuses writes.
#[test]
fn a_full_server_refuses_writes() {
    let Some(redis) = TestRedis::start(&["--maxmemory", "100kb"]) else { return };
    let mut leaf = Store::open(&redis.server(), name("leaf-1")).unwrap();
    assert!(
        matches!(leaf.lease("leaf-1", MINUTE), Err(RedisError::Refused(reason)) if reason.contains("OOM"))
    );
}

fn user(redis: &TestRedis, node: &str, password: &str) -> RedisServer {
    with_rules(redis, node, password, &acl_rules(&name(node)))
}

fn viewer(redis: &TestRedis) -> RedisServer {
    with_rules(redis, "page", "secret", &viewer_acl_rules())
}

fn with_rules(redis: &TestRedis, node: &str, password: &str, rules: &[String]) -> RedisServer {
    let password_rule = format!(">{password}");
    let mut records: Vec<&[u8]> = vec![b"ACL", b"SETUSER", node.as_bytes()];
    records.extend(rules.iter().map(String::as_bytes));
    records.push(password_rule.as_bytes());
    redis.connection().call(&records).unwrap();
    RedisServer { login: Some((node.into(), password.into())), ..redis.server() }
}

fn store_with_lease(server: &RedisServer, node: &str) -> (Store, Lease) {
    let mut store = Store::open(server, name(node)).unwrap();
    let lease = store.lease(node, MINUTE).unwrap().expect("nobody else has it");
    (store, lease)
}

fn corrupting() -> Observation {
    Observation {
        corrupting: Some(LossEstimate::from_sample(FrameSample { frames: 1_000_000, errors: 1_000 })),
        ..Observation::default()
    }
}

fn clean() -> Observation {
    Observation::default()
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn end(node: &str, port: &str) -> PortName {
    PortName { node: name(node), port: name(port) }
}
