//! Daemons at both ends of a link, through a real Redis: what is protected must come to equal what should be, whatever happens.

use wiremend_monitor::bus::{Connection, Doing, Server, Store};
use wiremend_monitor::{
    Conduct, Counted, Daemon, Event, Fec, Link, Machine, Mode, Name, PortName, Protect, Reading, Thresholds,
};
use wiremend_units::{Span, Time};

use crate::redis::Redis;

const PROTECTS: Doing = Doing::Protects { copies: 2 };

#[test]
fn a_link_that_corrupts_is_protected_and_let_be_when_it_is_clean() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut world = World::new(&redis.server());
    world.turns(3);
    assert_eq!(world.spine.machine.relay, Doing::Nothing);
    world.loss_to_leaf = 1_000;
    world.turns(2);
    assert_eq!(world.spine.machine.relay, PROTECTS, "{:?}", world.events);
    assert_eq!(world.leaf.machine.relay, Doing::Nothing, "only what is sent towards the loss");
    world.loss_to_leaf = 0;
    world.turns(400);
    assert_eq!(world.spine.machine.relay, Doing::Nothing, "{:?}", world.events);
    assert_eq!(world.spine.machine.acts, 2, "once on, once off");
}

#[test]
fn who_only_observes_touches_nothing() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut world = World::new(&redis.server());
    world.spine.conduct.mode = Mode::Observe;
    world.spine.begin_anew();
    world.loss_to_leaf = 1_000;
    world.turns(3);
    assert_eq!(world.spine.machine.acts, 0);
}

/// Protection stays as it is while the server is gone; what changes meanwhile is said when it is back.
#[test]
fn a_server_that_was_gone_is_caught_up_with() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let mut world = World::new(&redis.server());
    world.turns(2);
    redis.kill();
    world.loss_to_leaf = 1_000;
    world.turns(5);
    assert_eq!(world.spine.machine.relay, Doing::Nothing);
    redis.restart();
    world.turns(2);
    assert_eq!(world.spine.machine.relay, PROTECTS, "{:?}", world.events);
    redis.kill();
    world.loss_to_leaf = 0;
    world.turns(400);
    assert_eq!(world.spine.machine.relay, PROTECTS, "as it was");
    redis.restart();
    world.turns(2);
    assert_eq!(world.spine.machine.relay, Doing::Nothing);
}

/// Bells are lost, and the whole store is: everything is said again.
#[test]
fn a_server_that_forgot_everything_is_told_again() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut world = World::new(&redis.server());
    world.deaf = true;
    world.loss_to_leaf = 1_000;
    world.turns(35);
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
    let Some(redis) = Redis::start(&[]) else { return };
    let mut world = World::new(&redis.server());
    world.loss_to_leaf = 1_000;
    world.turns(3);
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
    let Some(redis) = Redis::start(&[]) else { return };
    let mut world = World::new(&redis.server());
    for is_away in [false, true] {
        world.loss_to_leaf = 1_000;
        world.turns(4);
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
    let Some(redis) = Redis::start(&[]) else { return };
    let mut world = World::new(&redis.server());
    world.turns(1);
    let mut second = Site::new("spine-3", "eth7", "leaf-1", "eth0", &redis.server());
    second.daemon = second.fresh("another");
    let events = second.turn(Time::from_ns(1_000_000_000), true);
    assert_eq!(events, [Event::Ousted]);
    assert_eq!(second.turn(Time::from_ns(2_000_000_000), true), [], "said once");
}

#[test]
fn a_relay_that_fails_is_said_and_tried_again() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut world = World::new(&redis.server());
    world.spine.machine.broken = true;
    world.loss_to_leaf = 1_000;
    world.turns(10);
    let failed = world.events.iter().filter(|event| matches!(event, Event::Failed { .. })).count();
    assert_eq!(failed, 2, "once for each word that is answered: {:?}", world.events);
    world.spine.machine.broken = false;
    world.turns(2);
    assert_eq!(world.spine.machine.relay, PROTECTS);
}

/// A leaf and a spine, and a second at a time.
struct World {
    leaf: Site,
    spine: Site,
    second: u64,
    /// Broken frames among a million towards the leaf, each second.
    loss_to_leaf: u64,
    /// Nobody hears bells.
    deaf: bool,
    events: Vec<Event>,
}

impl World {
    fn new(server: &Server) -> Self {
        Self {
            leaf: Site::new("leaf-1", "eth0", "spine-3", "eth7", server),
            spine: Site::new("spine-3", "eth7", "leaf-1", "eth0", server),
            second: 0,
            loss_to_leaf: 0,
            deaf: false,
            events: Vec::new(),
        }
    }

    fn turns(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.second += 1;
            let now = Time::ZERO.saturating_add(Span::from_ms(1_000 * self.second));
            for (site, bad) in [(&mut self.leaf, self.loss_to_leaf), (&mut self.spine, 0)] {
                site.machine.arrive(now, bad);
                self.events.extend(site.turn(now, !self.deaf));
            }
        }
    }
}

/// A node with one link.
struct Site {
    node: Name,
    link: Link,
    conduct: Conduct,
    daemon: Daemon,
    machine: Device,
    server: Server,
    store: Option<Store>,
}

impl Site {
    fn new(node: &str, port: &str, peer: &str, peer_port: &str, server: &Server) -> Self {
        let name = |text: &str| text.parse::<Name>().unwrap();
        let peer = PortName { node: name(peer), port: name(peer_port) };
        let link = Link { port: name(port), peer, protect: Protect::Relay };
        let conduct = Conduct { mode: Mode::Act, ..Conduct::default() };
        let daemon = Daemon::new(vec![link.clone()], Thresholds::default(), conduct, node.to_owned());
        let server = server.clone();
        Self { node: name(node), link, conduct, daemon, machine: Device::default(), server, store: None }
    }

    fn fresh(&self, holder: &str) -> Daemon {
        Daemon::new(vec![self.link.clone()], Thresholds::default(), self.conduct, holder.to_owned())
    }

    /// Killed, and started again.
    fn begin_anew(&mut self) {
        self.daemon = self.fresh(self.node.as_str());
        self.store = None;
    }

    fn turn(&mut self, now: Time, rang: bool) -> Vec<Event> {
        let mut events = self.daemon.watch(&mut self.machine);
        if self.store.is_none() {
            self.daemon.on_disconnect();
            self.store = Store::open(&self.server, self.node.clone()).ok();
        }
        let Some(store) = &mut self.store else { return events };
        match self.daemon.exchange(now, store, &mut self.machine, rang) {
            Ok(more) => events.extend(more),
            Err(_) => self.store = None,
        }
        events
    }
}

/// A port, and a relay that does as it is told.
struct Device {
    reading: Option<Reading>,
    relay: Doing,
    acts: u32,
    broken: bool,
}

impl Default for Device {
    fn default() -> Self {
        Self { reading: None, relay: Doing::Nothing, acts: 0, broken: false }
    }
}

impl Device {
    fn arrive(&mut self, now: Time, more_bad: u64) {
        let (good, bad) = match self.reading.map(|reading| reading.counted) {
            Some(Counted::GoodAndBad { good, bad }) => (good, bad),
            _ => (0, 0),
        };
        let counted = Counted::GoodAndBad { good: good + 1_000_000, bad: bad + more_bad };
        self.reading =
            Some(Reading { at: now, up: true, carrier_changes: None, counted, fec: Fec::default() });
    }
}

impl Machine for Device {
    fn read(&mut self, _: usize) -> Option<Reading> {
        self.reading
    }

    fn doing(&mut self, _: usize) -> Result<Doing, String> {
        if self.broken { Err("no relay answers".to_owned()) } else { Ok(self.relay.clone()) }
    }

    fn act(&mut self, _: usize, doing: &Doing) -> Result<(), String> {
        self.relay = doing.clone();
        self.acts += 1;
        Ok(())
    }
}
