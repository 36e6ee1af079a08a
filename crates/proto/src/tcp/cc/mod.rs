//! Congestion control of TCP.
//!
//! It is a trait of its own beside [`crate::cc`]: those controllers hear of packets by number and pace queue pairs that
//! have no window by nature, while these share the sender's window with its recovery, and need round trips, rates and bytes
//! of every acknowledgement.
//!
//! - [`Reno`]: slow start, then a segment in a round trip; half after a loss (RFC 5681).
//! - [`Cubic`]: a cubic curve of the time since the last loss (RFC 9438), with a slow start that stops when delay rises ([`HyStart`], RFC 9406).
//! - [`Dctcp`]: a reduction in proportion to the share of marked bytes (RFC 8257).
//! - [`Lia`]: Reno whose increase is linked with that of other subflows (RFC 6356).
//! - [`Bbr`]: a model of the path's rate and round trip, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00).

mod bbr;
mod cubic;
mod dctcp;
mod hystart;
mod lia;
mod max_filter;
mod reno;
mod ticked;

use wiremend_units::{Rate, Span, Time};

pub use bbr::{Bbr, Phase};
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use hystart::HyStart;
pub use lia::{Coupling, Lia, Share};
pub use reno::Reno;

use super::config::Config;
use super::delivery::Sample;

/// A congestion control algorithm of one connection.
pub trait Controller {
    /// Data have arrived.
    fn on_ack(&mut self, window: &mut Window, ack: &Delivered);

    /// A loss, or a mark of a switch if `marked`: the new slow start threshold. At most once in a window.
    fn on_congestion(&mut self, now: Time, window: &Window, marked: bool) -> u64;

    /// The retransmission timer has expired; the threshold was asked for already.
    fn on_timeout(&mut self, _now: Time) {}

    /// The rate at which segments shall leave.
    fn rate(&self) -> Option<Rate> {
        None
    }

    /// It sets the window during recovery too, so that nobody else does.
    fn owns_window(&self) -> bool {
        false
    }
}

/// How much may be under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Bytes.
    pub bytes: u64,
    /// Where slow start ends.
    pub threshold: u64,
    /// Bytes of a full segment.
    pub mss: u64,
}

impl Window {
    /// The window of a new connection.
    pub fn new(config: &Config) -> Self {
        let mss = config.mss as u64;
        Self { bytes: mss * config.first_window as u64, threshold: u64::MAX, mss }
    }

    /// It grows exponentially.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.bytes < self.threshold
    }

    /// Slow start (RFC 5681 §3.1): what has arrived is added, up to the threshold. Says what of it is left.
    #[inline]
    pub fn slow_start(&mut self, arrived: u64) -> u64 {
        let room = self.threshold.saturating_sub(self.bytes);
        let used = arrived.min(room);
        self.bytes += used;
        arrived - used
    }
}

/// What an acknowledgement tells a controller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    /// When it came.
    pub now: Time,
    /// Bytes that it newly tells of.
    pub bytes: u64,
    /// It echoes a mark.
    pub marked: bool,
    /// The round trip of the newest segment that was sent once.
    pub rtt: Option<Span>,
    /// Smoothed.
    pub srtt: Option<Span>,
    /// The first byte that is not acknowledged, and the next one to be sent.
    pub una: u64,
    /// The next byte to be sent.
    pub nxt: u64,
    /// Bytes under way now.
    pub in_flight: u64,
    /// Bytes that it newly shows to be lost.
    pub lost: u64,
    /// Bytes delivered since the connection began.
    pub total: u64,
    /// The rate of delivery.
    pub sample: Option<Sample>,
    /// The window was what kept the sender from sending more.
    pub limited: bool,
    /// How losses are being dealt with.
    pub state: State,
}

/// How losses are being dealt with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum State {
    /// None is known.
    #[default]
    Open,
    /// They are sent again while others arrive.
    Recovery,
    /// The timer has expired.
    Loss,
}

/// Which algorithm a connection has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Algorithm {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    #[default]
    Cubic,
    /// RFC 8257.
    Dctcp,
    /// Version 1.
    Bbr,
    /// RFC 6356.
    Lia,
}

impl Algorithm {
    /// Every one.
    pub const ALL: [Self; 5] = [Self::Reno, Self::Cubic, Self::Dctcp, Self::Bbr, Self::Lia];

    /// The controller of a new connection. `random` decides where BBR's cycle begins.
    pub fn start(self, config: &Config, random: u64) -> Control {
        match self {
            Self::Reno => Control::Reno(Reno::default()),
            Self::Cubic => Control::Cubic(Cubic::new(config.tick)),
            Self::Dctcp => Control::Dctcp(Dctcp::default()),
            Self::Bbr => Control::Bbr(Box::new(Bbr::new(config, random))),
            Self::Lia => Control::Lia(Lia::default()),
        }
    }
}

/// The controller of a connection.
#[derive(Clone, Debug)]
pub enum Control {
    /// RFC 5681.
    Reno(Reno),
    /// RFC 9438.
    Cubic(Cubic),
    /// RFC 8257.
    Dctcp(Dctcp),
    /// Version 1.
    Bbr(Box<Bbr>),
    /// RFC 6356.
    Lia(Lia),
}

macro_rules! each {
    ($control:expr, $of:ident => $call:expr) => {
        match $control {
            Control::Reno($of) => $call,
            Control::Cubic($of) => $call,
            Control::Dctcp($of) => $call,
            Control::Bbr($of) => $call,
            Control::Lia($of) => $call,
        }
    };
}

impl Controller for Control {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Delivered) {
        each!(self, of => of.on_ack(window, ack));
    }

    fn on_congestion(&mut self, now: Time, window: &Window, marked: bool) -> u64 {
        each!(self, of => of.on_congestion(now, window, marked))
    }

    fn on_timeout(&mut self, now: Time) {
        each!(self, of => of.on_timeout(now));
    }

    #[inline]
    fn rate(&self) -> Option<Rate> {
        each!(self, of => of.rate())
    }

    #[inline]
    fn owns_window(&self) -> bool {
        each!(self, of => of.owns_window())
    }
}
