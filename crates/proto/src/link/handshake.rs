//! Start and end of protection, from the sender's side.
//!
//! ```text
//!              activate            Accept, round trip          Accept
//!   Dormant ─────────────► Measuring ─────────────► Opening ─────────► Active
//!      ▲ ▲                   │ no answer               │                │  │ Unknown, or silence:
//!      │ └───────────────────┴─────────────────────────┘                │  └─► Measuring, next epoch
//!      │         Closed, or silence            all acknowledged         │ deactivate
//!      └──────────────────────────── Closing ◄────────────── Draining ◄─┘
//! ```
//!
//! Each hello is repeated with doubling intervals, a limited number of times. After that only traffic starts
//! another attempt, so an idle link stays silent.

use std::hash::Hasher;

use wiremend_units::{Span, Time};

use super::fingerprint::Fingerprint;
use super::{Config, Hello, HelloKind};

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Debug, Default)]
pub(super) struct Handshake {
    state: State,
    /// Last epoch, and the last epoch that the host requested. Own restarts count up from it.
    epoch: u32,
    epoch_requested: u32,
    wanted: bool,
    /// Epoch to start when the current one has ended.
    reopen: Option<u32>,
    rtt_known: Option<Span>,
    rtt_min: Span,
    /// The other end confirms a close when its host forwards without it; frames wait until then.
    waits_for_closed: bool,
    /// Measurements before a start, and those that remain.
    samples: u8,
    samples_left: u8,
    /// Shortest measurement.
    sample_ns: u32,
    /// Agreed round trip; 0 while it is measured.
    rtt_ns: u32,
    /// Frames of this epoch had numbers.
    numbered: bool,
    tries: u8,
    due: bool,
    /// When the hello is repeated, or the wait for ACKs ends.
    at: Time,
    /// Earliest time of an attempt that traffic starts.
    retry_at: Time,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum State {
    #[default]
    Dormant,
    Measuring,
    Opening,
    Active,
    Draining,
    Closing {
        holding: bool,
    },
}

/// How frames may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SendMode {
    /// Without header.
    Plain,
    Numbered,
    /// Not at all: they would overtake frames held at the other end.
    Blocked,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TimeoutOutcome {
    /// No action for the caller.
    None,
    /// The wait for ACKs is over: release the kept copies.
    Drained,
}

/// First wait for a reply without a known round trip, and the addition to four round trips otherwise.
pub(super) const WAIT_UNKNOWN: Span = Span::from_us(100);
const WAIT_EXTRA: Span = Span::from_us(10);
/// First wait for a host that confirms a close.
const WAIT_HOST: Span = Span::from_ms(2);
const OPEN_TRIES: u8 = 10;
const CLOSE_TRIES: u8 = 5;
/// Minimum time between attempts that traffic starts.
const RETRY: Span = Span::from_ms(100);
/// Later replies are ignored, and so are requests with a longer round trip.
const RTT_NS_MAX: u32 = 1_000_000_000;

impl Handshake {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            rtt_known: config.rtt,
            rtt_min: config.rtt_min.max(config.rtt_initial),
            samples: config.rtt_samples,
            sample_ns: RTT_NS_MAX,
            at: Time::MAX,
            ..Self::default()
        }
    }

    /// From now on frames wait until the other end has confirmed a close.
    pub(super) fn wait_for_closed(&mut self) {
        self.waits_for_closed = true;
    }

    pub(super) fn send_mode(&self) -> SendMode {
        match self.state {
            State::Active => SendMode::Numbered,
            State::Draining | State::Closing { holding: true } => SendMode::Blocked,
            _ => SendMode::Plain,
        }
    }

    /// Whether sequence numbers of the current epoch are valid.
    pub(super) fn is_protecting(&self) -> bool {
        matches!(self.state, State::Active | State::Draining)
    }

    pub(super) fn is_draining(&self) -> bool {
        self.state == State::Draining
    }

    pub(super) fn activate(&mut self, epoch: u32) {
        self.wanted = true;
        match self.state {
            State::Dormant => self.open_requested(epoch),
            State::Draining | State::Closing { .. } => self.reopen = Some(epoch),
            State::Measuring | State::Opening | State::Active => {}
        }
    }

    pub(super) fn deactivate(&mut self, now: Time, drain_max: Span) {
        self.wanted = false;
        self.reopen = None;
        self.end(now, drain_max);
    }

    /// Ends the current epoch. If protection is still wanted, a later attempt may follow.
    pub(super) fn end(&mut self, now: Time, drain_max: Span) {
        match self.state {
            State::Active => {
                self.state = State::Draining;
                self.at = now + drain_max;
            }
            State::Measuring | State::Opening => self.close(false),
            _ => {}
        }
    }

    pub(super) fn on_drained(&mut self) {
        if self.state == State::Draining {
            self.close(self.waits_for_closed);
        }
    }

    /// The other end does not know this epoch, or is silent.
    pub(super) fn on_peer_gone(&mut self, now: Time) {
        match self.state {
            State::Draining => self.become_dormant(now),
            State::Active => self.open(self.epoch.wrapping_add(1)),
            _ => {}
        }
    }

    /// Reports traffic. True: another attempt starts.
    pub(super) fn on_traffic(&mut self, now: Time) -> bool {
        let begins = self.state == State::Dormant && self.wanted && self.retry_at <= now;
        if begins {
            self.open(self.epoch.wrapping_add(1));
        }
        begins
    }

    /// Handles `Accept`. Returns the round trip once frames may be numbered.
    pub(super) fn on_accept(&mut self, now: Time, hello: &Hello) -> Option<Span> {
        if hello.epoch != self.epoch {
            return None;
        }
        match self.state {
            State::Measuring if hello.rtt_ns == 0 => {
                let rtt_ns = stamp(now).wrapping_sub(hello.stamp_ns).max(1);
                if rtt_ns <= RTT_NS_MAX {
                    self.on_sample(rtt_ns);
                }
                None
            }
            State::Opening if hello.rtt_ns == self.rtt_ns => {
                self.state = State::Active;
                self.numbered = true;
                (self.due, self.at) = (false, Time::MAX);
                Some(Span::from_ns(u64::from(self.rtt_ns)))
            }
            _ => None,
        }
    }

    pub(super) fn on_closed(&mut self, now: Time, hello: &Hello) {
        if hello.epoch == self.epoch && matches!(self.state, State::Closing { .. }) {
            self.become_dormant(now);
        }
    }

    /// The last epoch.
    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Whether the epoch, with all its bits, is the current one.
    pub(super) fn is_current(&self, epoch: u32) -> bool {
        self.state != State::Dormant && self.epoch == epoch
    }

    /// Whether an `Open` may carry this round trip.
    pub(super) fn is_plausible(rtt_ns: u32) -> bool {
        rtt_ns <= RTT_NS_MAX
    }

    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    /// Returns the hello that is due. A close carries the next sequence number, `next`, in place of a time
    /// stamp, so that the receiver counts a lost tail that it has never seen.
    pub(super) fn hello(&mut self, now: Time, next: u32) -> Hello {
        let (kind, stamp_ns, rtt_ns) = match self.state {
            State::Measuring => (HelloKind::Open, stamp(now), 0),
            State::Opening => (HelloKind::Open, stamp(now), self.rtt_ns),
            _ => (HelloKind::Close, if self.numbered { next } else { 0 }, 0),
        };
        self.due = false;
        self.at = now + self.wait() * (1 << self.tries.min(OPEN_TRIES));
        self.tries += 1;
        Hello { kind, epoch: self.epoch, stamp_ns, rtt_ns }
    }

    pub(super) fn on_timeout(&mut self, now: Time) -> TimeoutOutcome {
        if now < self.at {
            return TimeoutOutcome::None;
        }
        self.at = Time::MAX;
        let tries_max = match self.state {
            State::Draining => {
                self.close(true);
                return TimeoutOutcome::Drained;
            }
            State::Closing { .. } => CLOSE_TRIES,
            _ => OPEN_TRIES,
        };
        if self.tries < tries_max {
            self.due = true;
        } else {
            self.become_dormant(now);
        }
        TimeoutOutcome::None
    }

    pub(super) fn next_timeout(&self) -> Time {
        self.at
    }

    pub(super) fn rtt(&self) -> Option<Span> {
        (self.rtt_ns > 0).then(|| Span::from_ns(u64::from(self.rtt_ns)))
    }

    /// Shortest measurement before this start.
    pub(super) fn measured(&self) -> Option<Span> {
        (self.sample_ns < RTT_NS_MAX).then(|| Span::from_ns(u64::from(self.sample_ns)))
    }

    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Fingerprint<H>) {
        print.add((self.state, self.epoch, self.epoch_requested, self.wanted, self.reopen));
        print.add((self.samples_left, self.sample_ns, self.rtt_ns, self.numbered, self.tries, self.due));
        print.add_time(self.at);
        print.add_limit(self.retry_at);
    }

    /// Starts an epoch that the host requested.
    fn open_requested(&mut self, asked: u32) {
        // A reused epoch would mix with the receiver's state of its previous use.
        let was_used =
            asked.wrapping_sub(self.epoch_requested) <= self.epoch.wrapping_sub(self.epoch_requested);
        if was_used {
            return self.open(self.epoch.wrapping_add(1));
        }
        self.epoch_requested = asked;
        self.open(asked);
    }

    fn open(&mut self, epoch: u32) {
        self.epoch = epoch;
        self.numbered = false;
        if let Some(rtt) = self.rtt_known {
            self.rtt_ns = rtt_in_ns(rtt);
            self.enter(State::Opening);
        } else {
            self.rtt_ns = 0;
            (self.samples_left, self.sample_ns) = (self.samples, RTT_NS_MAX);
            self.enter(State::Measuring);
        }
    }

    fn on_sample(&mut self, rtt_ns: u32) {
        self.sample_ns = self.sample_ns.min(rtt_ns);
        self.samples_left = self.samples_left.saturating_sub(1);
        if self.samples_left > 0 {
            return self.enter(State::Measuring);
        }
        self.rtt_ns = self.sample_ns.max(rtt_in_ns(self.rtt_min));
        self.enter(State::Opening);
    }

    fn close(&mut self, holding: bool) {
        self.enter(State::Closing { holding });
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        (self.tries, self.due, self.at) = (0, true, Time::MAX);
    }

    fn become_dormant(&mut self, now: Time) {
        self.state = State::Dormant;
        (self.due, self.at) = (false, Time::MAX);
        self.retry_at = now + RETRY;
        if let Some(epoch) = self.reopen.take() {
            self.open_requested(epoch);
        }
    }

    fn wait(&self) -> Span {
        let wait = match self.rtt_ns {
            0 => WAIT_UNKNOWN,
            rtt_ns => Span::from_ns(u64::from(rtt_ns)) * 4 + WAIT_EXTRA,
        };
        match self.state {
            State::Closing { .. } if self.waits_for_closed => wait.max(WAIT_HOST),
            _ => wait,
        }
    }
}

fn rtt_in_ns(rtt: Span) -> u32 {
    rtt.as_ps().div_ceil(1000).clamp(1, u64::from(RTT_NS_MAX)) as u32
}

fn stamp(now: Time) -> u32 {
    now.as_ns() as u32
}
