//! The counters of a switch that runs `SONiC`, from a real Redis that looks as its own does.

use wiremend_monitor::bus::Connection;
use wiremend_monitor::{Counted, Counter, Sonic};
use wiremend_units::{Span, Time};

use crate::redis::Redis;

#[test]
fn ports_are_read_by_their_names() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut chip = Chip::new(&redis);
    chip.port(
        "Ethernet0",
        "oid:0x1",
        &[("IF_IN_UCAST_PKTS", 900), ("IF_IN_NON_UCAST_PKTS", 90), ("IF_IN_ERRORS", 10)],
    );
    chip.port("Ethernet4", "oid:0x2", &[("IF_IN_UCAST_PKTS", 5), ("IF_IN_FEC_CODEWORD_ERRORS_S0", 7)]);
    let ports = ["Ethernet0", "Ethernet4", "Ethernet9"].map(str::to_owned).to_vec();
    let mut sonic = Sonic::new(redis.server(), ports, Span::from_ms(1_000));
    let (at, port) = sonic.read("Ethernet0", second(1)).unwrap();
    assert_eq!((at, port.up, port.carrier_changes), (second(1), true, Some(3)));
    // The chip has no count of all frames: good ones and errors make it.
    let reading = port.reading(at).unwrap();
    assert_eq!(reading.counted, Counted::GoodAndBad { good: 990, bad: 10 });
    let (at, port) = sonic.read("Ethernet4", second(1)).unwrap();
    assert_eq!(port.counters.get(Counter::FecSymbols0), Some(7));
    assert!(port.reading(at).is_none(), "it does not count errors");
    assert!(sonic.read("Ethernet9", second(1)).is_none());
    assert_eq!(sonic.unsaid(), ["the switch has no port `Ethernet9`: it is left out"]);
}

/// A switch reads its chip once a second: asking sooner reads the same again, and is no reading.
#[test]
fn nothing_is_read_faster_than_the_switch_reads() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut chip = Chip::new(&redis);
    chip.port("Ethernet0", "oid:0x1", &[("IF_IN_UCAST_PKTS", 1), ("IF_IN_ERRORS", 0)]);
    let mut sonic = Sonic::new(redis.server(), vec!["Ethernet0".to_owned()], Span::from_ms(1_000));
    let first = sonic.read("Ethernet0", second(1)).unwrap();
    chip.port("Ethernet0", "oid:0x1", &[("IF_IN_UCAST_PKTS", 2), ("IF_IN_ERRORS", 0)]);
    assert_eq!(sonic.read("Ethernet0", second(1).saturating_add(Span::from_ms(900))), Some(first));
    assert_eq!(sonic.read("Ethernet0", second(2)).unwrap().1.counters.get(Counter::RxGood), Some(2));
}

/// Configured anew, a switch gives its ports other objects; and its server may be away for a while.
#[test]
fn a_switch_that_began_anew_is_followed() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    Chip::new(&redis).port("Ethernet0", "oid:0x1", &[("IF_IN_UCAST_PKTS", 1), ("IF_IN_ERRORS", 0)]);
    let mut sonic = Sonic::new(redis.server(), vec!["Ethernet0".to_owned()], Span::from_ms(1_000));
    assert!(sonic.read("Ethernet0", second(1)).is_some());
    let mut chip = Chip::new(&redis);
    chip.connection.call(&[b"FLUSHALL"]).unwrap();
    assert!(sonic.read("Ethernet0", second(2)).is_none());
    chip.port("Ethernet0", "oid:0x9", &[("IF_IN_UCAST_PKTS", 4), ("IF_IN_ERRORS", 0)]);
    assert!(sonic.read("Ethernet0", second(3)).is_some() || sonic.read("Ethernet0", second(4)).is_some());
    redis.kill();
    assert!(sonic.read("Ethernet0", second(5)).is_none());
    assert!(sonic.read("Ethernet0", second(6)).is_none());
    let said = sonic.unsaid();
    assert_eq!(said.iter().filter(|why| why.contains("cannot be read")).count(), 1, "once: {said:?}");
    redis.restart();
    assert!(sonic.read("Ethernet0", second(7)).is_some());
}

/// What `SONiC` keeps of a chip.
struct Chip {
    connection: Connection,
}

impl Chip {
    fn new(redis: &Redis) -> Self {
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
