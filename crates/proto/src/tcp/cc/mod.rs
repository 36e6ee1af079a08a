//! Congestion control of TCP.
//!
//! A trait of its own beside [`crate::cc`]: those controllers pace queue pairs, see packet numbers and have
//! no window. TCP's share the window with loss recovery and need round trips, rates and bytes of each ACK.
//!
//! - [`Reno`]: slow start, then one segment per round trip; halves the window after a loss (RFC 5681).
//! - [`Cubic`]: a cubic function of the time since the last loss (RFC 9438), with [`HyStart`] (RFC 9406).
//! - [`Dctcp`]: reduces the window in proportion to the share of marked bytes (RFC 8257).
//! - [`Lia`]: Reno with an increase that is linked across MPTCP subflows (RFC 6356).
//! - [`Bbr`]: a model of bandwidth and round trip, version 1
//!   (draft-cardwell-iccrg-bbr-congestion-control-00).
//! - [`Swift`]: a window that follows a target delay; [`Timely`]: a rate that follows the gradient of the delay.

mod bbr;
mod cubic;
mod dctcp;
mod hystart;
mod lia;
mod max_filter;
mod reno;
mod swift;
mod ticked_cubic;
mod timely;

use wiremend_units::{Rate, Span, Time};

pub use bbr::{Bbr, Phase};
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use hystart::HyStart;
pub use lia::{Coupling, Lia, Share};
pub use reno::Reno;
pub use swift::Swift;
pub use timely::Timely;

pub use super::algorithm::Algorithm;

use super::config::Config;
use super::delivery::RateSample;

/// Congestion controller of a connection.
pub trait Controller {
    /// An ACK has arrived.
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent);

    /// A loss, or an ECN mark if `marked`. Returns the new slow start threshold. Called at most once per
    /// window.
    fn on_congestion(&mut self, now: Time, window: &Window, marked: bool) -> u64;

    /// The retransmission timer has expired, after [`Self::on_congestion`].
    fn on_timeout(&mut self, _now: Time) {}

    /// Pacing rate, if the algorithm paces.
    fn rate(&self) -> Option<Rate> {
        None
    }

    /// Whether the algorithm also sets the window during recovery.
    fn owns_window(&self) -> bool {
        false
    }
}

/// Congestion window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Window in bytes.
    pub bytes: u64,
    /// Slow start threshold in bytes.
    pub threshold: u64,
    /// Bytes of a full segment.
    pub mss: u64,
}

impl Window {
    /// Initial window of a connection.
    pub fn new(config: &Config) -> Self {
        let mss = config.mss as u64;
        Self { bytes: mss * config.first_window as u64, threshold: u64::MAX, mss }
    }

    /// Whether the window is below the slow start threshold.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.bytes < self.threshold
    }

    /// Slow start (RFC 5681 §3.1): adds arrived bytes up to the threshold. Returns the bytes left over.
    #[inline]
    pub fn slow_start(&mut self, arrived: u64) -> u64 {
        let room = self.threshold.saturating_sub(self.bytes);
        let used = arrived.min(room);
        self.bytes += used;
        arrived - used
    }
}

/// An acknowledgement, as controllers see it.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckEvent {
    /// Arrival time.
    pub now: Time,
    /// Newly acknowledged or sacked bytes.
    pub bytes: u64,
    /// ECE: it echoes a mark.
    pub marked: bool,
    /// Round trip of the newest segment that was sent once.
    pub rtt: Option<Span>,
    /// Smoothed round trip.
    pub srtt: Option<Span>,
    /// First unacknowledged byte.
    pub una: u64,
    /// Next byte to send.
    pub nxt: u64,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Bytes newly declared lost.
    pub lost: u64,
    /// Bytes delivered since the connection began.
    pub delivered_total: u64,
    /// Delivery rate.
    pub sample: Option<RateSample>,
    /// The window limited the sender.
    pub cwnd_limited: bool,
    /// Recovery state.
    pub state: RecoveryState,
}

/// Recovery state of a sender, as in Linux.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RecoveryState {
    /// No known loss.
    #[default]
    Open,
    /// Fast recovery.
    Recovery,
    /// Recovery after a retransmission timeout.
    Loss,
}

impl Algorithm {
    /// Returns the controller of a new connection. `random` chooses the first step of BBR's cycle.
    pub fn new_controller(self, config: &Config, random: u64) -> Control {
        match self {
            Self::Reno => Control::Reno(Reno::default()),
            Self::Cubic => Control::Cubic(Cubic::new(config.tick)),
            Self::Dctcp => Control::Dctcp(Dctcp::default()),
            Self::Bbr => Control::Bbr(Box::new(Bbr::new(config, random))),
            Self::Lia => Control::Lia(Lia::default()),
            Self::Swift => Control::Swift(Swift::new(config.delay_target)),
            Self::Timely => Control::Timely(Timely::default()),
        }
    }
}

/// Congestion controller of a connection, by algorithm.
#[derive(Clone, Debug)]
pub enum Control {
    /// RFC 5681.
    Reno(Reno),
    /// RFC 9438.
    Cubic(Cubic),
    /// RFC 8257.
    Dctcp(Dctcp),
    /// BBR version 1.
    Bbr(Box<Bbr>),
    /// RFC 6356.
    Lia(Lia),
    /// Kumar et al., SIGCOMM 2020.
    Swift(Swift),
    /// Mittal et al., SIGCOMM 2015.
    Timely(Timely),
}

macro_rules! each {
    ($control:expr, $controller:ident => $call:expr) => {
        match $control {
            Control::Reno($controller) => $call,
            Control::Cubic($controller) => $call,
            Control::Dctcp($controller) => $call,
            Control::Bbr($controller) => $call,
            Control::Lia($controller) => $call,
            Control::Swift($controller) => $call,
            Control::Timely($controller) => $call,
        }
    };
}

impl Controller for Control {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        each!(self, controller => controller.on_ack(window, ack));
    }

    fn on_congestion(&mut self, now: Time, window: &Window, marked: bool) -> u64 {
        each!(self, controller => controller.on_congestion(now, window, marked))
    }

    fn on_timeout(&mut self, now: Time) {
        each!(self, controller => controller.on_timeout(now));
    }

    #[inline]
    fn rate(&self) -> Option<Rate> {
        each!(self, controller => controller.rate())
    }

    #[inline]
    fn owns_window(&self) -> bool {
        each!(self, controller => controller.owns_window())
    }
}
