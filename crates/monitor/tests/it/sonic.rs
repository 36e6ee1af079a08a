//! Counters of a `SONiC` switch, from a real Redis with the same structure.

use wiremend_monitor::redis::RedisConnection;
use wiremend_monitor::{Counter, FrameCounts, MaxFrameRate, PortMonitor, SonicCounters, Thresholds};
use wiremend_units::{Span, Time};

use crate::test_redis::TestRedis;

#[test]
fn ports_are_read_by_their_names() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let mut chip = Chip::new(&redis);
    chip.port(
        "Ethernet0",
        "oid:0x1",
        &[("IF_IN_UCAST_PKTS", 900), ("IF_IN_NON_UCAST_PKTS", 90), ("IF_IN_ERRORS", 10)],
    );
    chip.port(
        "Ethernet4",
        "oid:0x2",
        &[
            ("IF_IN_UCAST_PKTS", 5),
            ("IF_IN_FEC_CODEWORD_ERRORS_S0", 7),
            ("LLR_RX_BAD", 4),
            ("LLR_TX_REPLAY", 3),
        ],
    );
    let ports = ["Ethernet0", "Ethernet4", "Ethernet9"].map(str::to_owned).to_vec();
    let mut sonic = SonicCounters::new(redis.server(), ports, Span::from_ms(1_000));
    let (at, port) = sonic.read("Ethernet0", second(1)).unwrap();
    assert_eq!((at, port.up, port.carrier_changes), (second(1), true, Some(3)));
    // SAI does not count all frames: good frames and errors are added.
    let reading = port.reading(at).unwrap();
    assert_eq!(reading.counted, FrameCounts::GoodAndErrors { good: 990, errors: 10, lengths: 0 });
    let (at, port) = sonic.read("Ethernet4", second(1)).unwrap();
    assert_eq!(port.counters.get(Counter::FecSymbols0), Some(7));
    assert_eq!(port.counters.get(Counter::LlrCorrupted), Some(4));
    assert_eq!(port.counters.get(Counter::LlrReplays), Some(3));
    assert!(port.reading(at).is_none(), "the port does not count errors");
    assert!(sonic.read("Ethernet9", second(1)).is_none());
    assert_eq!(sonic.take_messages(), ["port `Ethernet9` omitted: the switch does not have it"]);
}

/// `IF_IN_ERRORS` contains frames of illegal length. An MTU mismatch is no corruption.
#[test]
fn frames_of_illegal_length_are_no_corruption() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let mut chip = Chip::new(&redis);
    let mut sonic = SonicCounters::new(redis.server(), vec!["Ethernet0".to_owned()], Span::from_ms(900));
    let mut port = PortMonitor::new(Thresholds::default(), MaxFrameRate::ANY_SPEED);
    let mut read = |at: u64, errors: u64, over: u64, under: u64| {
        let counters = [
            ("IF_IN_UCAST_PKTS", at * 1_000_000),
            ("IF_IN_ERRORS", errors),
            ("ETHER_RX_OVERSIZE_PKTS", over),
            ("ETHER_STATS_UNDERSIZE_PKTS", under),
        ];
        chip.port("Ethernet0", "oid:0x1", &counters);
        let (at, snapshot) = sonic.read("Ethernet0", second(at)).unwrap();
        port.on_reading(snapshot.reading(at).unwrap());
        (port.is_corrupting(), port.total().errors)
    };
    assert_eq!(read(1, 0, 0, 0), (false, 0));
    assert_eq!(read(2, 5_000, 4_000, 1_000), (false, 0), "all of them have an illegal length");
    assert_eq!(read(3, 6_000, 4_000, 1_000), (true, 1_000), "a thousand of them are corrupted");
}

/// The switch polls its chip once a second, so an earlier read returns the cached snapshot.
#[test]
fn counters_are_cached_for_the_poll_interval() {
    let Some(redis) = TestRedis::start(&[]) else { return };
    let mut chip = Chip::new(&redis);
    chip.port("Ethernet0", "oid:0x1", &[("IF_IN_UCAST_PKTS", 1), ("IF_IN_ERRORS", 0)]);
    let mut sonic = SonicCounters::new(redis.server(), vec!["Ethernet0".to_owned()], Span::from_ms(1_000));
    let first = sonic.read("Ethernet0", second(1)).unwrap();
    chip.port("Ethernet0", "oid:0x1", &[("IF_IN_UCAST_PKTS", 2), ("IF_IN_ERRORS", 0)]);
    assert_eq!(sonic.read("Ethernet0", second(1).saturating_add(Span::from_ms(900))), Some(first));
    assert_eq!(sonic.read("Ethernet0", second(2)).unwrap().1.counters.get(Counter::RxGood), Some(2));
}

/// A reconfigured switch gives its ports other objects. Its server may be down for a while.
#[test]
fn a_reconfigured_switch_is_read_again() {
    let Some(mut redis) = TestRedis::start(&[]) else { return };
    Chip::new(&redis).port("Ethernet0", "oid:0x1", &[("IF_IN_UCAST_PKTS", 1), ("IF_IN_ERRORS", 0)]);
    let mut sonic = SonicCounters::new(redis.server(), vec!["Ethernet0".to_owned()], Span::from_ms(1_000));
    assert!(sonic.read("Ethernet0", second(1)).is_some());
    let mut chip = Chip::new(&redis);
    chip.connection.call(&[b"FLUSHALL"]).unwrap();
    assert!(sonic.read("Ethernet0", second(2)).is_none());
    chip.port("Ethernet0", "oid:0x9", &[("IF_IN_UCAST_PKTS", 4), ("IF_IN_ERRORS", 0)]);
    assert!(sonic.read("Ethernet0", second(3)).is_some() || sonic.read("Ethernet0", second(4)).is_some());
    redis.kill();
    assert!(sonic.read("Ethernet0", second(5)).is_none());
    assert!(sonic.read("Ethernet0", second(6)).is_none());
    let messages = sonic.take_messages();
    assert_eq!(
        messages.iter().filter(|reason| reason.contains("cannot read")).count(),
        1,
        "reported once: {messages:?}"
    );
    redis.restart();
    assert!(sonic.read("Ethernet0", second(7)).is_some());
}

/// The `SONiC` databases of a chip.
struct Chip {
    connection: RedisConnection,
}

impl Chip {
    fn new(redis: &TestRedis) -> Self {
        Self { connection: redis.connection() }
    }

    fn port(&mut self, name: &str, object: &str, counters: &[(&str, u64)]) {
        let table = format!("PORT_TABLE:{name}");
        self.call(&["SELECT", "0"]);
        self.call(&["HSET", &table, "oper_status", "up", "flap_count", "3", "speed", "400000"]);
        self.call(&["SELECT", "2"]);
        self.call(&["HSET", "COUNTERS_PORT_NAME_MAP", name, object]);
        for (counter, value) in counters {
            let field = format!("SAI_PORT_STAT_{counter}");
            self.call(&["HSET", &format!("COUNTERS:{object}"), &field, &value.to_string()]);
        }
    }

    fn call(&mut self, words: &[&str]) {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.connection.call(&words).unwrap();
    }
}

fn second(second: u64) -> Time {
    Time::ZERO.saturating_add(Span::from_ms(second * 1_000))
}
