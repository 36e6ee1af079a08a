//! RoCE of an unmodified kernel over a chain: two guests in place of the hosts, and perftest in them.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use wiremend_measure::median;
use wiremend_report::lab::State;
use wiremend_units::{Bytes, Rate, Span};

use crate::chain::{Chain, Hosts, Knobs, Side, Statuses};
use crate::error::Error;
use crate::guests::perftest::{self, Asked, Latency};
use crate::guests::{Guest, Image, Parts, Seat, Tap};
use crate::lab::Lab;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Frames that the link loses, as a share.
    pub loss: f64,
    /// Rounds through all states.
    pub rounds: u32,
    /// Messages of a measurement of latency.
    pub messages: u32,
    /// Messages of 64 KiB of a measurement of bandwidth.
    pub bulk_messages: u32,
    /// How the link is mended; its rate, delay and queue are what suits guests.
    pub knobs: Knobs,
}

/// What was measured.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Frames that the link loses, as a share.
    pub loss: f64,
    /// Rounds through all states.
    pub rounds: u32,
    /// Messages of a measurement of latency.
    pub messages: u32,
    /// Of the latency's connections, as their NICs count it.
    pub timeout_ns: u64,
    /// What perftest makes of it: it tells half of the round trip.
    pub timeout_seen_ns: u64,
    /// By [`State`].
    pub states: [Measured; 3],
    /// How long the guests took to start.
    pub start_s: f64,
    /// At the end.
    pub statuses: Statuses,
}

/// What was measured in one state, round by round.
#[derive(Debug, Serialize)]
pub struct Measured {
    /// The state.
    pub state: State,
    /// The most frequent latency.
    pub typical_ns: Vec<u64>,
    /// What 99 of 100 messages take at most.
    pub p99_ns: Vec<u64>,
    /// The longest of all.
    pub max_ns: Vec<u64>,
    /// Bandwidth.
    pub mib_per_s: Vec<f64>,
    /// Times that soft-RoCE of either guest began again from an earlier packet, while latency was measured.
    pub retries: Vec<u64>,
    /// The same while bandwidth was measured.
    pub bulk_retries: Vec<u64>,
}

/// 4.096 µs · 2^16: the timeout of the connections whose latency is measured.
const TIMEOUT_EXPONENT: u8 = 16;
const BULK_TIMEOUT_EXPONENT: u8 = 14;
const MESSAGE_BYTES: u32 = 8;
const BULK_BYTES: u32 = 65_536;
/// Emulated processors send less than a tenth of it.
const RATE: Rate = Rate::gbps(1);
const DELAY: Span = Span::from_us(10);
const QUEUE: Bytes = Bytes::kib(1024);
/// Alone they take ten seconds.
const START: Duration = Duration::from_mins(10);
const MEASUREMENT: Duration = Duration::from_mins(5);
/// Programs in guests come and go.
const REST: Duration = Duration::from_millis(50);

impl Trial {
    /// Starts the guests and measures. `progress` is told the number of a step, of [`Trial::steps`], and the part of it that is done.
    pub fn run(&self, lab: &Lab, parts: &Parts, progress: &dyn Fn(usize, f64)) -> Result<Outcome, Error> {
        let knobs = Knobs { rate: Some(RATE), delay: DELAY, queue: QUEUE, ..self.knobs.clone() };
        let started = std::time::Instant::now();
        let mut chain = Chain::build(lab, &knobs, Hosts::Guests)?;
        let image = Image::build(parts, chain.directory())?;
        let mut guests = [start(&mut chain, &image, Side::A)?, start(&mut chain, &image, Side::B)?];
        for guest in &mut guests {
            guest.wait_ready(START)?;
        }
        let start_s = started.elapsed().as_secs_f64();
        progress(0, 1.0);
        let mut states = State::ALL.map(Measured::new);
        for round in 0..self.rounds as usize {
            for state in State::ALL {
                self.measure(&chain, &mut guests, &mut states[state as usize])?;
                progress(1 + round * State::ALL.len() + state as usize, 1.0);
            }
        }
        let timeout = Span::from_ns(4096 << TIMEOUT_EXPONENT);
        Ok(Outcome {
            loss: self.loss,
            rounds: self.rounds,
            messages: self.messages,
            timeout_ns: timeout.as_ns(),
            timeout_seen_ns: timeout.as_ns() / 2,
            states,
            start_s,
            statuses: chain.statuses()?,
        })
    }

    /// How many steps it takes, by their weight.
    pub fn steps(&self) -> Vec<f64> {
        let rounds = (0..self.rounds).flat_map(|_| [1.0, 2.0, 1.0]);
        [2.0].into_iter().chain(rounds).collect()
    }

    fn measure(&self, chain: &Chain, guests: &mut [Guest; 2], into: &mut Measured) -> Result<(), Error> {
        let [a, b] = guests;
        chain.lab().go_on()?;
        chain.enter(into.state, self.loss)?;
        let before = retries(a, b)?;
        let asked = Asked {
            bytes: MESSAGE_BYTES,
            iterations: self.messages,
            timeout_exponent: TIMEOUT_EXPONENT,
            limit: MEASUREMENT,
        };
        let Latency { typical, p99, max, .. } = perftest::write_latency(b, a, asked)?;
        let between = retries(a, b)?;
        chain.lab().pause(REST)?;
        let asked = Asked {
            bytes: BULK_BYTES,
            iterations: self.bulk_messages,
            timeout_exponent: BULK_TIMEOUT_EXPONENT,
            limit: MEASUREMENT,
        };
        let bandwidth = perftest::write_bandwidth(b, a, asked)?;
        into.typical_ns.push(typical.as_ns());
        into.p99_ns.push(p99.as_ns());
        into.max_ns.push(max.as_ns());
        into.retries.push(between - before);
        into.bulk_retries.push(retries(a, b)? - between);
        into.mib_per_s.push(bandwidth.average_mib_per_s);
        chain.lab().pause(REST)
    }
}

impl Outcome {
    /// Whether the longest wait of a protected message stayed below half of the timeout, as perftest sees it.
    pub fn is_below_half_timeout(&self) -> bool {
        self.states[State::Protected as usize].max() < self.timeout_seen_ns as f64 / 2.0
    }

    /// A state's bandwidth as a part of the clean one's.
    pub fn of_clean(&self, state: State) -> f64 {
        median(&self.states[state as usize].mib_per_s) / median(&self.states[State::Clean as usize].mib_per_s)
    }
}

impl Measured {
    fn new(state: State) -> Self {
        Self {
            state,
            typical_ns: Vec::new(),
            p99_ns: Vec::new(),
            max_ns: Vec::new(),
            mib_per_s: Vec::new(),
            retries: Vec::new(),
            bulk_retries: Vec::new(),
        }
    }

    /// The median over rounds of the most frequent latency, in nanoseconds.
    pub fn typical(&self) -> f64 {
        median(&as_floats(&self.typical_ns))
    }

    /// The median over rounds of the 99th percentile, in nanoseconds.
    pub fn p99(&self) -> f64 {
        median(&as_floats(&self.p99_ns))
    }

    /// Of all rounds.
    pub fn max(&self) -> f64 {
        self.max_ns.iter().max().map_or(0.0, |max| *max as f64)
    }
}

fn as_floats(values: &[u64]) -> Vec<f64> {
    values.iter().map(|value| *value as f64).collect()
}

fn start(chain: &mut Chain, image: &Image<'_>, side: Side) -> Result<Guest, Error> {
    let tap = chain.take_tap(side).expect("each guest is started once");
    let seat = Seat {
        name: match side {
            Side::A => "a",
            Side::B => "b",
        },
        tap: Tap::Open(OwnedFd::from(tap)),
        address: side.address(),
        mac: side.mac(),
        directory: chain.directory(),
        stop: Arc::clone(&chain.lab().stop),
    };
    Ok(Guest::start(image, seat)?)
}

/// Times that either guest has begun again from an earlier packet since it started.
fn retries(a: &mut Guest, b: &mut Guest) -> Result<u64, Error> {
    let of = |counters: &BTreeMap<String, u64>| counters.get("completer_retry_err").copied().unwrap_or(0);
    Ok(of(&a.counters()?) + of(&b.counters()?))
}
