//! Swift (Kumar et al., SIGCOMM 2020): the window grows while the delay is below a target and shrinks with
//! the excess.
//!
//! This follows the paper's Algorithm 1 (§3.1 to §3.4) and its target delay, which grows with hops and
//! shrinks with the window (§3.5), with two differences. The controller measures the delay of one packet per
//! round trip, from its transmission to its acknowledgement, instead of each packet; it therefore applies all
//! increases of a round trip at once. And there is one window instead of separate windows for the network and
//! the receiving host, because the simulated host has no receive queue.

use wiremend_units::{Bytes, Span, Time};

use super::{Ack, Algorithm, Controller, Needs, PathProperties, SentPacket};

/// Target delay, and how the window follows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// Target delay on the shortest path for a flow with a large window.
    pub base_target: Span,
    /// Addition to the target for each switch on the path.
    pub hop_target: Span,
    /// Maximum addition to the target for a small window: with many flows, the queue length varies more.
    pub scaling_range: Span,
    /// Packets added to the window in a round trip below the target.
    pub additive_increase: u32,
    /// β: fraction of the excess over the target by which the window shrinks.
    pub beta: Fraction,
    /// Maximum fraction of one decrease.
    pub decrease_max: Fraction,
}

/// A fraction of 1, in units of 1/65 536.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fraction(u32);

impl Fraction {
    /// Units in 1.
    pub const PARTS: u32 = 1 << 16;

    /// Creates a fraction of this many units; `None` above 1.
    pub const fn from_parts(parts: u32) -> Option<Self> {
        if parts > Self::PARTS { None } else { Some(Self(parts)) }
    }
}

impl Parameters {
    /// Values of the paper (§3, §4.1); the scaling range is derived from it for 100 Gb/s.
    pub const DEFAULT: Self = Self {
        base_target: Span::from_us(25),
        hop_target: Span::from_us(1),
        scaling_range: Span::from_us(75),
        additive_increase: 1,
        beta: Fraction(Fraction::PARTS / 5 * 4),
        decrease_max: Fraction(Fraction::PARTS / 2),
    };
}

impl Algorithm for Parameters {
    fn new_controller(&self, path: &PathProperties) -> Box<dyn Controller> {
        Box::new(Swift::new(*self, path))
    }

    fn needs(&self) -> Needs {
        Needs { acks: true, path: true, ..Needs::default() }
    }
}

/// The window of one queue pair.
#[derive(Clone, Debug)]
pub struct Swift {
    parameters: Parameters,
    /// Target delay without the addition for a small window.
    target: Span,
    /// Packets that may be outstanding, in units of 1/[`PACKET`].
    window: u64,
    rtt: Span,
    decreased_at: Option<Time>,
    /// Number and transmission time of the packet whose delay is being measured.
    probe: Option<(u64, Time)>,
    /// Lowest number that may start the next measurement.
    next_probe: u64,
    /// Packets acknowledged at the last measurement.
    acknowledged: u64,
    /// Expiries since the last acknowledgement.
    expiries: u32,
    eligible: Time,
}

const PACKET: u64 = 1 << 16;
/// A window below one packet becomes a pause between packets; at least one packet in a thousand round trips
/// is sent.
const WINDOW_MIN: u64 = PACKET / 1_000;
const WINDOW_MAX: u64 = PACKET << 20;
/// Range of windows in which the target is scaled (§3.5).
const SCALED_MIN: u64 = PACKET / 10;
const SCALED_MAX: u64 = PACKET * 100;
/// Consecutive expiries that reset the window to its minimum (Algorithm 1).
const EXPIRIES_MAX: u32 = 5;

impl Swift {
    /// Creates a controller for a path. The initial window is the line rate times the target delay.
    pub fn new(parameters: Parameters, path: &PathProperties) -> Self {
        let target = parameters.base_target + parameters.hop_target * u64::from(path.hops);
        let full = path.line_rate.serialize(Bytes::new(u64::from(path.packet_bytes)));
        let packets = target.as_ps() / full.as_ps().max(1);
        Self {
            parameters,
            target,
            window: (packets.max(1) * PACKET).min(WINDOW_MAX),
            rtt: target,
            decreased_at: None,
            probe: None,
            next_probe: 0,
            acknowledged: 0,
            expiries: 0,
            eligible: Time::ZERO,
        }
    }

    /// Returns the present target delay (§3.5).
    pub fn target(&self) -> Span {
        let window = self.window.clamp(SCALED_MIN, SCALED_MAX);
        let [now, most, least] = [window, SCALED_MIN, SCALED_MAX].map(inverse_root);
        let scaled = u128::from(self.parameters.scaling_range.as_ps()) * u128::from(now - least)
            / u128::from(most - least);
        self.target + Span::from_ps(scaled as u64)
    }

    /// Packets that may be outstanding, in thousandths.
    #[cfg(test)]
    fn window_milli(&self) -> u64 {
        self.window * 1_000 / PACKET
    }

    fn on_delay(&mut self, now: Time, delay: Span, acknowledged: u64) {
        self.rtt = delay;
        let target = self.target();
        if delay < target {
            let packets = acknowledged - self.acknowledged;
            let gain = u64::from(self.parameters.additive_increase) * packets;
            let gain =
                if self.window >= PACKET { gain * PACKET * PACKET / self.window } else { gain * PACKET };
            self.window = (self.window + gain).min(WINDOW_MAX);
        } else {
            let excess = u128::from((delay.as_ps() - target.as_ps()) * u64::from(self.parameters.beta.0));
            let share = (excess / u128::from(delay.as_ps())) as u64;
            self.decrease(now, share.min(u64::from(self.parameters.decrease_max.0)));
        }
        self.acknowledged = acknowledged;
    }

    /// Shrinks the window by a fraction, at most once per round trip.
    fn decrease(&mut self, now: Time, parts: u64) {
        if self.decreased_at.is_some_and(|at| now.since(at) < self.rtt) {
            return;
        }
        self.window = (self.window - ((self.window * parts) >> 16)).max(WINDOW_MIN);
        self.decreased_at = Some(now);
    }
}

impl Controller for Swift {
    fn on_transmit(&mut self, now: Time, sent: SentPacket) {
        // An acknowledgement does not show whether it belongs to the retransmission (Karn and Partridge
        // 1987). With a window below one packet, the retransmitted packet is the measured one, and the pause
        // before it is not delay.
        if sent.is_retransmission && self.window < PACKET {
            self.probe = None;
        }
        if self.probe.is_none() && !sent.is_retransmission && sent.number >= self.next_probe {
            self.probe = Some((sent.number, now));
            self.next_probe = sent.number + 1;
        }
        if self.window < PACKET {
            let pause = u128::from(self.rtt.as_ps()) * u128::from(PACKET) / u128::from(self.window);
            self.eligible = now + Span::from_ps(pause as u64);
        }
    }

    #[inline]
    fn eligible(&self) -> Time {
        self.eligible
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        self.expiries = 0;
        if let Some((number, sent)) = self.probe
            && ack.acknowledged > number
        {
            self.probe = None;
            self.on_delay(now, now.since(sent), ack.acknowledged);
        }
    }

    fn on_nak(&mut self, now: Time) {
        self.probe = None;
        self.decrease(now, u64::from(self.parameters.decrease_max.0));
    }

    fn on_timeout(&mut self, now: Time) {
        self.probe = None;
        self.expiries += 1;
        if self.expiries >= EXPIRIES_MAX {
            self.window = WINDOW_MIN;
        } else {
            self.decrease(now, u64::from(self.parameters.decrease_max.0));
        }
    }

    #[inline]
    fn window(&self) -> u32 {
        (self.window / PACKET).max(1) as u32
    }
}

/// Returns 2²⁴ divided by the square root of a window in packets.
fn inverse_root(window: u64) -> u64 {
    (1 << 48) / (window << 32).isqrt()
}

#[cfg(test)]
mod tests {
    use wiremend_units::Rate;

    use super::*;

    const PATH: PathProperties =
        PathProperties { line_rate: Rate::gbps(100), packet_bytes: 1_106, hops: 5, round_trip: Span::ZERO };

    const fn ack(acknowledged: u64) -> Ack<'static> {
        Ack { acknowledged, feedback: None }
    }

    fn swift() -> Swift {
        Swift::new(Parameters::DEFAULT, &PATH)
    }

    /// Sends the packet with this number at `from` and acknowledges it `delay` later.
    fn round(swift: &mut Swift, number: u64, from: Time, delay: Span) {
        swift.on_transmit(from, SentPacket { wire_bytes: 1_106, number, is_retransmission: false });
        swift.on_ack(from + delay, &ack(number + 1));
    }

    #[test]
    fn the_initial_window_is_the_line_rate_times_the_target() {
        // 30 µs over 88.48 ns.
        assert_eq!(swift().window(), 339);
        assert_eq!(swift().target(), Span::from_us(30), "a large window does not raise the target");
    }

    #[test]
    fn a_short_delay_adds_one_packet_per_round_trip() {
        let mut swift = swift();
        let before = swift.window_milli();
        // One window of packets in one round trip.
        round(&mut swift, 338, Time::from_ns(0), Span::from_us(20));
        assert_eq!(swift.window_milli(), before + 1_000);
    }

    /// Twice the target: the window shrinks by β · (60 − 30)/60 = 0.4. The maximum decrease is one half.
    #[test]
    fn a_long_delay_shrinks_the_window_once_per_round_trip() {
        let mut swift = swift();
        round(&mut swift, 0, Time::from_ns(0), Span::from_us(60));
        assert!(swift.window_milli().abs_diff(339_000 * 6 / 10) <= 5, "{}", swift.window_milli());
        let once = swift.window_milli();
        swift.on_nak(Time::from_ns(119_000));
        assert_eq!(swift.window_milli(), once, "59 µs are less than a round trip of 60 µs");
        round(&mut swift, 2, Time::from_ns(200_000), Span::from_us(3_000));
        assert!(swift.window_milli().abs_diff(once / 2) <= 1);
    }

    /// 1/√0.1 = 3.162, 1/√100 = 0.1: a window of one packet adds (1 − 0.1)/(3.162 − 0.1) of the range.
    #[test]
    fn a_small_window_raises_the_target() {
        let mut swift = swift();
        for number in 0..40 {
            round(&mut swift, number, Time::from_ns(10_000_000 * (number + 1)), Span::from_us(900));
        }
        assert!(swift.window < PACKET);
        swift.window = PACKET;
        let added = swift.target().as_ns() - 30_000;
        assert!(added.abs_diff(22_043) < 5, "75 µs · 0.2939: {added}");
        swift.window = PACKET / 100;
        assert_eq!(swift.target(), Span::from_us(105));
    }

    #[test]
    fn a_window_below_one_packet_becomes_a_pause() {
        let mut swift = swift();
        swift.window = PACKET / 4;
        swift.rtt = Span::from_us(40);
        swift.on_transmit(Time::from_ns(1_000), SentPacket::new(1_106));
        assert_eq!((swift.window(), swift.eligible()), (1, Time::from_ns(161_000)));
    }

    /// Otherwise each lost packet would multiply the pause by up to a thousand.
    #[test]
    fn a_pause_is_not_measured_as_delay() {
        let mut swift = swift();
        swift.window = PACKET / 4;
        swift.rtt = Span::from_us(40);
        swift.on_transmit(Time::ZERO, SentPacket::new(1_106));
        let again = swift.eligible();
        swift.on_transmit(again, SentPacket { is_retransmission: true, ..SentPacket::new(1_106) });
        swift.on_ack(again + Span::from_us(40), &ack(1));
        assert_eq!((swift.window, swift.rtt), (PACKET / 4, Span::from_us(40)));
    }

    #[test]
    fn a_loss_halves_the_window_and_repeated_expiries_reset_it() {
        let mut swift = swift();
        swift.on_nak(Time::from_ns(100_000));
        assert_eq!(swift.window(), 169);
        for expiry in 1..5_u64 {
            swift.on_timeout(Time::from_ns(1_000_000 * expiry));
        }
        assert_eq!(swift.window(), 10);
        swift.on_timeout(Time::from_ns(9_000_000));
        assert_eq!((swift.window(), swift.window_milli()), (1, 0));
    }

    #[test]
    fn a_retransmission_is_not_measured() {
        let mut swift = swift();
        swift.on_transmit(Time::ZERO, SentPacket::new(1_106));
        swift.on_nak(Time::from_ns(10_000));
        let before = swift.window_milli();
        swift.on_transmit(
            Time::from_ns(20_000),
            SentPacket { is_retransmission: true, ..SentPacket::new(1_106) },
        );
        swift.on_ack(Time::from_ns(900_000), &ack(1));
        assert_eq!(swift.window_milli(), before);
    }
}
