//! How protection of a direction begins and ends, from the sender's side.
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
//! Each hello is repeated until it is answered, ever more slowly and not for ever. After that it is tried again only
//! when there is traffic, so an idle link stays silent.

use std::hash::Hasher;

use wiremend_units::{Span, Time};

use super::fingerprint::Print;
use super::{Config, Hello, HelloKind};

/// Where the sender of a direction stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Handshake {
    state: State,
    /// Of the last start, and the one that was asked for: starts of this end's own are counted up from it.
    epoch: u32,
    epoch_asked: u32,
    /// Somebody wants protection.
    wanted: bool,
    /// What is to be started when the present one has ended.
    reopen: Option<u32>,
    rtt_known: Option<Span>,
    rtt_min: Span,
    /// Measurements before a start, and how many of them are still to come.
    samples: u8,
    samples_left: u8,
    /// The shortest so far.
    sample_ns: u32,
    /// What was agreed upon; 0 as long as it is measured.
    rtt_ns: u32,
    /// Frames of this epoch had numbers.
    numbered: bool,
    tries: u8,
    due: bool,
    /// When the hello is repeated, or the wait for ACKs ends; never when nothing is waited for.
    at: Time,
    /// From then on traffic starts another attempt.
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

/// What may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gate {
    /// Frames as they are.
    Plain,
    /// Frames with a number.
    Numbered,
    /// Nothing: it would overtake what is held at the other end.
    Shut,
}

/// What a timeout came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lapse {
    /// Nothing for others to do.
    None,
    /// ACKs were waited for long enough: release what is kept.
    Drained,
}

/// The first wait for an answer, as long as no round trip is known; and what is added to four round trips.
const WAIT_UNKNOWN: Span = Span::from_us(100);
const WAIT_EXTRA: Span = Span::from_us(10);
const OPEN_TRIES: u8 = 10;
const CLOSE_TRIES: u8 = 5;
/// Traffic starts another attempt after this long.
const RETRY: Span = Span::from_ms(100);
/// An answer later than this is none.
const RTT_NS_MAX: u32 = 1_000_000_000;

impl Handshake {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            rtt_known: config.rtt,
            rtt_min: config.rtt_min.max(config.rtt_at_first),
            samples: config.rtt_samples,
            sample_ns: RTT_NS_MAX,
            at: Time::MAX,
            ..Self::default()
        }
    }

    pub(super) fn gate(&self) -> Gate {
        match self.state {
            State::Active => Gate::Numbered,
            State::Draining | State::Closing { holding: true } => Gate::Shut,
            _ => Gate::Plain,
        }
    }

    /// Whether numbers of the present epoch mean something.
    pub(super) fn is_protecting(&self) -> bool {
        matches!(self.state, State::Active | State::Draining)
    }

    pub(super) fn is_draining(&self) -> bool {
        self.state == State::Draining
    }

    /// Protection is wanted.
    pub(super) fn activate(&mut self, epoch: u32) {
        self.wanted = true;
        match self.state {
            State::Dormant => self.open_asked(epoch),
            State::Draining | State::Closing { .. } => self.reopen = Some(epoch),
            State::Measuring | State::Opening | State::Active => {}
        }
    }

    /// Protection is no longer wanted.
    pub(super) fn deactivate(&mut self, now: Time, drain_max: Span) {
        self.wanted = false;
        self.reopen = None;
        self.end(now, drain_max);
    }

    /// Ends what there is; it may be tried again later if it is still wanted.
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

    /// Everything that was sent is settled.
    pub(super) fn on_drained(&mut self) {
        if self.state == State::Draining {
            self.close(false);
        }
    }

    /// The other end knows nothing of this epoch, or is silent.
    pub(super) fn on_peer_gone(&mut self, now: Time) {
        match self.state {
            State::Draining => self.sleep(now),
            State::Active => self.open(self.epoch.wrapping_add(1)),
            _ => {}
        }
    }

    /// There is traffic. True: another attempt begins.
    pub(super) fn on_traffic(&mut self, now: Time) -> bool {
        let begins = self.state == State::Dormant && self.wanted && self.retry_at <= now;
        if begins {
            self.open(self.epoch.wrapping_add(1));
        }
        begins
    }

    /// An answer to an opening. Gives the round trip when numbers may begin.
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
            self.sleep(now);
        }
    }

    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    /// The hello that is due leaves now. A close says the number that the next frame would have had, `next`, in place
    /// of a time: the receiver then knows of a tail that it has never seen, and counts it.
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

    pub(super) fn on_timeout(&mut self, now: Time) -> Lapse {
        if now < self.at {
            return Lapse::None;
        }
        self.at = Time::MAX;
        let tries_max = match self.state {
            State::Draining => {
                self.close(true);
                return Lapse::Drained;
            }
            State::Closing { .. } => CLOSE_TRIES,
            _ => OPEN_TRIES,
        };
        if self.tries < tries_max {
            self.due = true;
        } else {
            self.sleep(now);
        }
        Lapse::None
    }

    pub(super) fn next_timeout(&self) -> Time {
        self.at
    }

    pub(super) fn rtt(&self) -> Option<Span> {
        (self.rtt_ns > 0).then(|| Span::from_ns(u64::from(self.rtt_ns)))
    }

    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Print<H>) {
        print.add((self.state, self.epoch, self.epoch_asked, self.wanted, self.reopen));
        print.add((self.samples_left, self.sample_ns, self.rtt_ns, self.numbered, self.tries, self.due));
        print.add_time(self.at);
        print.add_limit(self.retry_at);
    }

    /// Somebody asks for a start.
    fn open_asked(&mut self, asked: u32) {
        // An epoch that this end has come to by itself would join what the receiver still has of it.
        let was_used = asked.wrapping_sub(self.epoch_asked) <= self.epoch.wrapping_sub(self.epoch_asked);
        if was_used {
            return self.open(self.epoch.wrapping_add(1));
        }
        self.epoch_asked = asked;
        self.open(asked);
    }

    fn open(&mut self, epoch: u32) {
        self.epoch = epoch;
        self.numbered = false;
        if let Some(rtt) = self.rtt_known {
            self.rtt_ns = rtt_in_ns(rtt);
            self.say(State::Opening);
        } else {
            self.rtt_ns = 0;
            (self.samples_left, self.sample_ns) = (self.samples, RTT_NS_MAX);
            self.say(State::Measuring);
        }
    }

    fn on_sample(&mut self, rtt_ns: u32) {
        self.sample_ns = self.sample_ns.min(rtt_ns);
        self.samples_left = self.samples_left.saturating_sub(1);
        if self.samples_left > 0 {
            return self.say(State::Measuring);
        }
        self.rtt_ns = self.sample_ns.max(rtt_in_ns(self.rtt_min));
        self.say(State::Opening);
    }

    fn close(&mut self, holding: bool) {
        self.say(State::Closing { holding });
    }

    fn say(&mut self, state: State) {
        self.state = state;
        (self.tries, self.due, self.at) = (0, true, Time::MAX);
    }

    fn sleep(&mut self, now: Time) {
        self.state = State::Dormant;
        (self.due, self.at) = (false, Time::MAX);
        self.retry_at = now + RETRY;
        if let Some(epoch) = self.reopen.take() {
            self.open_asked(epoch);
        }
    }

    fn wait(&self) -> Span {
        match self.rtt_ns {
            0 => WAIT_UNKNOWN,
            rtt_ns => Span::from_ns(u64::from(rtt_ns)) * 4 + WAIT_EXTRA,
        }
    }
}

fn rtt_in_ns(rtt: Span) -> u32 {
    rtt.as_ps().div_ceil(1000).clamp(1, u64::from(RTT_NS_MAX)) as u32
}

fn stamp(now: Time) -> u32 {
    now.as_ns() as u32
}
