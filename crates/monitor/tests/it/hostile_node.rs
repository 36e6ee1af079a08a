//! A compromised node with the Redis user that `monitor acl` creates: it harms only itself.

use std::collections::BTreeSet;
use std::time::Duration;

use wiremend_monitor::redis::resp::Reply;
use wiremend_monitor::redis::{
    ChangeNotifier, HoldRecord, Observation, PlannerStore, RedisConnection, RedisError, RedisServer, Store,
    acl_rules, planner_acl_rules, viewer_acl_rules,
};
use wiremend_monitor::{FrameSample, LossEstimate, Name, PortName};

use crate::test_redis::TestRedis;

const MINUTE: Duration = Duration::from_mins(1);

/// Commands that a node's user must not be allowed.
const REFUSED: &[&str] = &[
    // Stop the server, or a part of it.
    "EVAL|while true do end|0",
    "EVALSHA|e0e1f9fabfc9d4800c877a703b823ac0578ff8db|0",
    "EVAL_RO|while true do end|0",
    "FCALL|any|0",
    "FUNCTION|FLUSH",
    "SCRIPT|FLUSH",
    "DEBUG|SLEEP|10",
    "SHUTDOWN|NOSAVE",
    "CLIENT|PAUSE|10000",
    "CLIENT|KILL|TYPE|normal",
    "REPLICAOF|127.0.0.1|1",
    "CONFIG|SET|maxmemory|1",
    "ACL|SETUSER|leaf-1|on|allkeys|+@all",
    "ACL|DELUSER|leaf-2",
    "SAVE",
    "BGREWRITEAOF",
    "MONITOR",
    "KEYS|*",
    "SCAN|0",
    "BLPOP|wiremend:observation:leaf-1:eth0|0",
    // Erase, fill or forge the audit of others.
    "XADD|wiremend:audit|18446744073709551615-18446744073709551615|x|y",
    "XADD|wiremend:audit:leaf-2|18446744073709551615-18446744073709551615|x|y",
    "XADD|wiremend:audit:leaf-2|MAXLEN|0|*|x|y",
    "XADD|wiremend:planner-audit|*|kind|advice",
    "XTRIM|wiremend:audit:leaf-1|MAXLEN|0",
    "XSETID|wiremend:audit:leaf-1|9-9",
    "XREAD|BLOCK|0|STREAMS|wiremend:audit:leaf-2|0",
    "DEL|wiremend:audit:leaf-2",
    "RENAME|wiremend:audit:leaf-1|wiremend:audit:leaf-2",
    // Forge the state of others.
    "HSET|wiremend:observation:leaf-2:eth0|version|9|body|{}",
    "HSET|wiremend:action:leaf-2:eth0|version|9|body|{}",
    "HSET|wiremend:advice:leaf-1:eth0|version|9|body|{}",
    "HSET|wiremend:hold:leaf-2:eth0|version|9|body|{}",
    "HSET|wiremend:repair:leaf-2:eth0|version|9|body|{}",
    "HSET|wiremend:halt:fabric:fabric|version|9|body|{}",
    "HSET|wiremend:lease:leaf-2|fence|9|holder|leaf-1|until|1",
    "HSET|wiremend:planner-lease|fence|9|holder|leaf-1|until|1",
    "HSET|wiremend:audit:leaf-1|no|stream",
    "HSET|other|x|y",
    "SET|wiremend:observation:leaf-1:eth0|no hash",
    "EXPIRE|wiremend:observation:leaf-1:eth0|1",
    "FLUSHALL",
    "SWAPDB|0|1",
    "SELECT|1",
    // Read what its daemon does not need.
    "HMGET|wiremend:action:leaf-2:eth0|body",
    "HGETALL|wiremend:observation:leaf-2:eth0",
    // Wake others in the name of others, or listen to them.
    "PUBLISH|wiremend:notify:leaf-2:spine-3|observation leaf-2:eth0",
    "PUBLISH|wiremend:advised:spine-3|advice spine-3:eth7",
    "SUBSCRIBE|wiremend:notify:leaf-2:spine-3",
    "PSUBSCRIBE|*",
    // Transactions are checked command by command.
    "WATCH|other",
];

/// Commands that a node's user may run. They must harm only that node.
const ALLOWED: &[&str] = &[
    "XADD|wiremend:audit:leaf-1|18446744073709551615-18446744073709551615|x|y",
    "XADD|wiremend:audit:leaf-1|MAXLEN|0|0-1|x|y",
    "HSET|wiremend:lease:leaf-1|fence|999999999999999|holder|nobody|until|999999999999999",
    "HSET|wiremend:observation:leaf-1:eth0|version|-5|body|{",
    "HSET|wiremend:observation:leaf-1:no-port|version|1|body|{}",
    "HSET|wiremend:hold:leaf-1:eth0|version|1|body|{\"until_ms\":18446744073709551615,\"why\":\"\"}",
    "PUBLISH|wiremend:notify:leaf-1:spine-3|observation leaf-2:eth0",
    "PUBLISH|wiremend:notify:leaf-1:x:y|no message",
    "WATCH|wiremend:observation:leaf-2:eth0",
    "MULTI",
    "HMGET|wiremend:observation:leaf-2:eth0|version|body",
];

#[test]
fn a_hostile_node_harms_only_itself() {
    let Some(redis) = TestRedis::start(&["--enable-debug-command", "yes"]) else { return };
    let hostile = user(&redis, "leaf-1", &acl_rules(&name("leaf-1")));
    let mut victim = Victim::new(&redis);
    for line in REFUSED {
        let mut attacker = RedisConnection::open(&hostile).unwrap();
        let outcome = attacker.call(&words(line));
        assert!(
            matches!(&outcome, Err(RedisError::Refused(reason)) if reason.starts_with("NOPERM")),
            "{line}: {outcome:?}"
        );
        let mut in_transaction = RedisConnection::open(&hostile).unwrap();
        let replies = in_transaction.call_all(&[&[b"MULTI"], &words(line), &[b"EXEC"]]).unwrap();
        assert!(
            matches!(&replies[2], Reply::Error(reason) if reason.starts_with("EXECABORT")),
            "{line}: {replies:?}"
        );
    }
    for line in ALLOWED {
        let mut attacker = RedisConnection::open(&hostile).unwrap();
        // An error such as a wrong type is an answer too.
        let outcome = attacker.call(&words(line));
        let refused = matches!(&outcome, Err(RedisError::Refused(reason)) if reason.starts_with("NOPERM"));
        assert!(!refused, "{line} is a command that daemons need: {outcome:?}");
        victim.works(line);
    }
    assert_eq!(victim.reported_as_changed, [victim.port.clone()].into(), "forged messages are ignored");
}

/// The daemon of the node works on after an intruder has spoiled the node's own audit stream.
#[test]
fn a_spoiled_audit_stream_stops_no_daemon() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let own = user(&redis, "leaf-1", &acl_rules(&name("leaf-1")));
    RedisConnection::open(&own).unwrap().call(&words(ALLOWED[0])).unwrap();
    let mut store = Store::open(&own, name("leaf-1")).unwrap();
    let lease = store.lease("test", MINUTE).unwrap().unwrap();
    store.put(lease, &name("eth0"), &corrupting(1), &name("spine-3")).unwrap();
    let port = PortName { node: name("leaf-1"), port: name("eth0") };
    assert!(store.get::<Observation>(&[port]).unwrap().records[0].is_some());
}

/// A viewer sees who wrote what, and changes nothing.
#[test]
fn a_viewer_reads_everything_and_writes_nothing() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let port = PortName { node: name("leaf-1"), port: name("eth0") };
    let hold = HoldRecord { until_ms: 1, why: "optics".to_owned(), maintenance: false };
    let holds = [(port.clone(), hold)];
    let leaf = user(&redis, "leaf-1", &acl_rules(&name("leaf-1")));
    let mut store = Store::open(&leaf, name("leaf-1")).unwrap();
    let lease = store.lease("test", MINUTE).unwrap().unwrap();
    let planner = user(&redis, "planner", &planner_acl_rules());
    let viewer = user(&redis, "page", &viewer_acl_rules());
    for (server, may_hold) in [(&viewer, false), (&planner, true)] {
        let mut store_of_viewer = PlannerStore::open(server).unwrap();
        store.put(lease, &name("eth0"), &corrupting(1 + u64::from(may_hold)), &name("spine-3")).unwrap();
        let changed = store_of_viewer.all_changed_ports(MINUTE).unwrap();
        assert_eq!(changed, [port.clone()].into());
        let audit = store_of_viewer.audit(Some(&name("leaf-1")), None).unwrap();
        assert_eq!((audit[0].kind.as_str(), &audit[0].port, &audit[0].by), ("observation", &port, &None));
        let newer = store_of_viewer.audit(Some(&name("leaf-1")), Some(&audit[0].id)).unwrap();
        assert_eq!(newer, [], "only what is new");
        assert!(store_of_viewer.renewals_ms(&[name("leaf-1"), name("x")], MINUTE).unwrap()[0].is_some());
        let held = store_of_viewer.put_holds(&holds, "alice");
        assert_eq!(held.is_ok(), may_hold, "{held:?}");
    }
    let mut store = PlannerStore::open(&planner).unwrap();
    assert_eq!(store.audit(None, None).unwrap()[0].by.as_deref(), Some("alice"));
    // What else stands in a stream is left out.
    for junk in ["*|x|y", "*|port|leaf-2:eth0|kind|observation|body|{}", "*|port|<b>|kind|hold|body|{}"] {
        let line = format!("XADD|wiremend:audit:leaf-1|{junk}");
        redis.connection().call(&words(&line)).unwrap();
    }
    assert_eq!(store.audit(Some(&name("leaf-1")), None).unwrap().len(), 2);
}

/// Another node, its peer and a planner.
struct Victim {
    store: Store,
    notifier: ChangeNotifier,
    planner: PlannerStore,
    port: PortName,
    errors: u64,
    reported_as_changed: BTreeSet<PortName>,
}

impl Victim {
    fn new(redis: &TestRedis) -> Self {
        let leaf = user(redis, "leaf-2", &acl_rules(&name("leaf-2")));
        let spine = user(redis, "spine-3", &acl_rules(&name("spine-3")));
        let planner = user(redis, "planner", &planner_acl_rules());
        let peers = [name("leaf-2")];
        Self {
            store: Store::open(&leaf, name("leaf-2")).unwrap(),
            notifier: ChangeNotifier::open(&spine, &name("spine-3"), &peers).unwrap(),
            planner: PlannerStore::open(&planner).unwrap(),
            port: PortName { node: name("leaf-2"), port: name("eth0") },
            errors: 0,
            reported_as_changed: BTreeSet::new(),
        }
    }

    /// Writes a new observation, which its peer and the planner must hear of and read.
    fn works(&mut self, after: &str) {
        self.errors += 1;
        let lease = self.store.lease("test", MINUTE).unwrap().expect(after);
        let observation = corrupting(self.errors);
        self.store.put(lease, &name("eth0"), &observation, &name("spine-3")).unwrap();
        assert!(self.notifier.wait(MINUTE).unwrap(), "{after}");
        assert!(!self.notifier.wait(Duration::from_millis(1)).unwrap(), "{after}: only its peer wakes it");
        let changed = self.planner.changed_ports(MINUTE).unwrap();
        self.reported_as_changed.extend(changed);
        let read = self.planner.get::<Observation>(std::slice::from_ref(&self.port)).unwrap();
        assert_eq!(read.records[0].as_ref().map(|stored| stored.record), Some(observation), "{after}");
        assert!(self.planner.lease("planner", MINUTE).unwrap().is_some(), "{after}");
    }
}

fn corrupting(errors: u64) -> Observation {
    let sample = FrameSample { frames: 1_000_000, errors };
    Observation { corrupting: Some(LossEstimate::from_sample(sample)), ..Observation::default() }
}

fn words(line: &str) -> Vec<&[u8]> {
    line.split('|').map(str::as_bytes).collect()
}

fn user(redis: &TestRedis, name: &str, rules: &[String]) -> RedisServer {
    let mut command: Vec<&[u8]> = vec![b"ACL", b"SETUSER", name.as_bytes()];
    // `redis-cli` splits the printed command at spaces.
    let rules = rules.join(" ");
    command.extend(rules.split(' ').map(str::as_bytes));
    command.push(b">secret");
    redis.connection().call(&command).unwrap();
    RedisServer { login: Some((name.into(), "secret".into())), ..redis.server() }
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}
