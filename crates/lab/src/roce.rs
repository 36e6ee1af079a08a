//! RoCE of an unmodified kernel over a chain: two guests as hosts, with perftest.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use wiremend_measure::median;
use wiremend_units::{Bytes, Rate, Span};

use crate::chain::{Chain, ChainConfig, ChainStatus, HostKind, Side};
use crate::error::Error;
use crate::guests::perftest::{self, Latency, PerftestArguments};
use crate::guests::{Guest, GuestConfig, GuestFiles, Image, TapDevice};
use crate::lab::Lab;

/// Settings of a measurement.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Loss rate of the link.
    pub loss: f64,
    /// Number of rounds through all states.
    pub rounds: u32,
    /// Messages per latency measurement.
    pub messages: u32,
    /// 64 KiB messages per bandwidth measurement.
    pub bulk_messages: u32,
    /// Configuration of the chain; its rate, delay and queue are replaced by values for guests.
    pub chain: ChainConfig,
}

/// Result of a measurement.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Loss rate of the link.
    pub loss: f64,
    /// Number of rounds through all states.
    pub rounds: u32,
    /// Messages per latency measurement.
    pub messages: u32,
    /// Retransmission timeout of the latency connections.
    pub timeout_ns: u64,
    /// The timeout as perftest shows it: half of the round trip.
    pub timeout_seen_ns: u64,
    /// Results by [`RoceState`].
    pub states: [Measured; 4],
    /// Start time of the guests.
    pub start_s: f64,
    /// Status at the end.
    pub statuses: ChainStatus,
}

/// State of the link and of its relays during a measurement. The first two are baselines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RoceState {
    /// No loss, relays off: their kernels forward.
    Plain,
    /// No loss, relays on: frames pass their processes.
    Clean,
    /// Loss, relays off.
    Corrupting,
    /// Loss, relays on.
    Protected,
}

impl RoceState {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Clean, Self::Corrupting, Self::Protected];

    /// Name for readers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain, relays off",
            Self::Clean => "clean, relays on",
            Self::Corrupting => "corrupting, relays off",
            Self::Protected => "corrupting, relays on",
        }
    }

    const fn is_protected(self) -> bool {
        matches!(self, Self::Clean | Self::Protected)
    }

    const fn corrupts(self) -> bool {
        matches!(self, Self::Corrupting | Self::Protected)
    }
}

/// Results in one state, one entry per round.
#[derive(Debug, Serialize)]
pub struct Measured {
    /// The state.
    pub state: RoceState,
    /// The most frequent latency.
    pub typical_ns: Vec<u64>,
    /// 99th percentile of the latency.
    pub p99_ns: Vec<u64>,
    /// Maximum latency.
    pub max_ns: Vec<u64>,
    /// Bandwidth.
    pub mib_per_s: Vec<f64>,
    /// Go-back-N restarts of both guests during the latency measurement.
    pub retries: Vec<u64>,
    /// Go-back-N restarts of both guests during the bandwidth measurement.
    pub bulk_retries: Vec<u64>,
}

/// Timeout of the latency connections: 4.096 µs · 2^16.
const TIMEOUT_EXPONENT: u8 = 16;
const BULK_TIMEOUT_EXPONENT: u8 = 14;
const MESSAGE_BYTES: u32 = 8;
const BULK_BYTES: u32 = 65_536;
/// More than ten times the rate of emulated processors.
pub(crate) const RATE: Rate = Rate::gbps(1);
pub(crate) const DELAY: Span = Span::from_us(10);
pub(crate) const QUEUE: Bytes = Bytes::kib(1024);
/// On an idle machine the start takes ten seconds.
pub(crate) const START_LIMIT: Duration = Duration::from_mins(10);
const MEASUREMENT_LIMIT: Duration = Duration::from_mins(5);
/// Pause between two programs in a guest.
const PAUSE: Duration = Duration::from_millis(50);

impl Trial {
    /// Starts the guests and measures. Calls `progress` with a step of [`Trial::steps`] and its finished
    /// share.
    pub fn run(
        &self,
        lab: &Lab,
        files: &GuestFiles,
        progress: &dyn Fn(usize, f64),
    ) -> Result<Outcome, Error> {
        let config = ChainConfig { rate: Some(RATE), delay: DELAY, queue: QUEUE, ..self.chain.clone() };
        let started = std::time::Instant::now();
        let mut chain = Chain::build(lab, &config, HostKind::Guests)?;
        let image = Image::build(files, chain.directory())?;
        let mut guests = [start(&mut chain, &image, Side::A)?, start(&mut chain, &image, Side::B)?];
        for guest in &mut guests {
            guest.wait_ready(START_LIMIT)?;
        }
        let start_s = started.elapsed().as_secs_f64();
        progress(0, 1.0);
        let mut states = RoceState::ALL.map(Measured::new);
        for round in 0..self.rounds as usize {
            for state in RoceState::ALL {
                self.measure(&chain, &mut guests, &mut states[state as usize])?;
                progress(1 + round * RoceState::ALL.len() + state as usize, 1.0);
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

    /// The steps, as relative durations.
    pub fn steps(&self) -> Vec<f64> {
        let rounds = (0..self.rounds).flat_map(|_| [1.0, 1.0, 2.0, 1.0]);
        [2.0].into_iter().chain(rounds).collect()
    }

    fn measure(&self, chain: &Chain, guests: &mut [Guest; 2], into: &mut Measured) -> Result<(), Error> {
        let [a, b] = guests;
        chain.lab().check_stop()?;
        chain.set_state(into.state.is_protected(), if into.state.corrupts() { self.loss } else { 0.0 })?;
        let before = retries(a, b)?;
        let arguments = PerftestArguments {
            bytes: MESSAGE_BYTES,
            iterations: self.messages,
            timeout_exponent: TIMEOUT_EXPONENT,
            limit: MEASUREMENT_LIMIT,
        };
        let Latency { typical, p99, max, .. } = perftest::write_latency(b, a, arguments)?;
        let between = retries(a, b)?;
        chain.lab().pause(PAUSE)?;
        let arguments = PerftestArguments {
            bytes: BULK_BYTES,
            iterations: self.bulk_messages,
            timeout_exponent: BULK_TIMEOUT_EXPONENT,
            limit: MEASUREMENT_LIMIT,
        };
        let bandwidth = perftest::write_bandwidth(b, a, arguments)?;
        into.typical_ns.push(typical.as_ns());
        into.p99_ns.push(p99.as_ns());
        into.max_ns.push(max.as_ns());
        into.retries.push(between - before);
        into.bulk_retries.push(retries(a, b)? - between);
        into.mib_per_s.push(bandwidth.average_mib_per_s);
        chain.lab().pause(PAUSE)
    }
}

impl Outcome {
    /// Returns whether the maximum latency with protection is below half of the timeout that perftest shows.
    pub fn is_below_half_timeout(&self) -> bool {
        self.states[RoceState::Protected as usize].max() < self.timeout_seen_ns as f64 / 2.0
    }

    /// Bandwidth in a state relative to another one.
    pub fn relative(&self, state: RoceState, baseline: RoceState) -> f64 {
        median(&self.states[state as usize].mib_per_s) / median(&self.states[baseline as usize].mib_per_s)
    }
}

impl Measured {
    fn new(state: RoceState) -> Self {
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

    /// Median over rounds of the most frequent latency, in nanoseconds.
    pub fn typical(&self) -> f64 {
        median(&as_floats(&self.typical_ns))
    }

    /// Median over rounds of the 99th percentile, in nanoseconds.
    pub fn p99(&self) -> f64 {
        median(&as_floats(&self.p99_ns))
    }

    /// Maximum over rounds.
    pub fn max(&self) -> f64 {
        self.max_ns.iter().max().map_or(0.0, |max| *max as f64)
    }
}

fn as_floats(values: &[u64]) -> Vec<f64> {
    values.iter().map(|value| *value as f64).collect()
}

pub(crate) fn start(chain: &mut Chain, image: &Image<'_>, side: Side) -> Result<Guest, Error> {
    let tap = chain.take_tap(side).expect("each guest is started once");
    let config = GuestConfig {
        name: match side {
            Side::A => "a",
            Side::B => "b",
        },
        tap: TapDevice::Open(OwnedFd::from(tap)),
        address: side.address(),
        mac: side.mac(),
        directory: chain.directory(),
        stop: Arc::clone(&chain.lab().stop),
    };
    Ok(Guest::start(image, config)?)
}

/// Go-back-N restarts of both guests since they started.
fn retries(a: &mut Guest, b: &mut Guest) -> Result<u64, Error> {
    let count = |counters: &BTreeMap<String, u64>| counters.get("completer_retry_err").copied().unwrap_or(0);
    Ok(count(&a.counters()?) + count(&b.counters()?))
}
