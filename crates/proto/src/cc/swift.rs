//! Swift (Kumar et al., SIGCOMM 2020): a window that grows while the delay is below a target and shrinks with the excess.
//!
//! After the paper's Algorithm 1 (§3.1 to §3.4) and its target that grows with hops and falls with the window (§3.5), with
//! two differences. The delay is that of one packet a round trip, timed from when it leaves to when its acknowledgement is
//! there, and not of each; so the sum of a round trip's increases is made at once. And there is one window, not one for the
//! network and another for the receiving host, which has no queue of its own here.

use wiremend_units::{Bytes, Span, Time};

use super::{Ack, Algorithm, Controller, Needs, Path, Sent};

/// How much delay is wanted, and how the window follows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// The delay that is wanted on the shortest path by a flow with a large window.
    pub base_target: Span,
    /// What each switch on the way adds to it.
    pub hop_target: Span,
    /// What a small window adds to it at most: many flows in one queue make its length vary.
    pub scaling_range: Span,
    /// What the window gains in a round trip below the target, in packets.
    pub additive_increase: u32,
    /// β: how much of the excess over the target is taken off the window.
    pub beta: Share,
    /// The most that one decrease takes off.
    pub decrease_max: Share,
}

/// A share of the whole, in parts of 65 536.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share(u32);

impl Share {
    /// The whole.
    pub const PARTS: u32 = 1 << 16;

    /// So many parts, if that is at most the whole.
    pub const fn from_parts(parts: u32) -> Option<Self> {
        if parts > Self::PARTS { None } else { Some(Self(parts)) }
    }
}

impl Parameters {
    /// What the paper names (§3, §4.1) and, for the scaling, what follows from it at 100 Gb/s.
    pub const DEFAULT: Self = Self {
        base_target: Span::from_us(25),
        hop_target: Span::from_us(1),
        scaling_range: Span::from_us(75),
        additive_increase: 1,
        beta: Share(Share::PARTS / 5 * 4),
        decrease_max: Share(Share::PARTS / 2),
    };
}

impl Algorithm for Parameters {
    fn start(&self, path: &Path) -> Box<dyn Controller> {
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
    /// The target but for what a small window adds.
    target: Span,
    /// Packets that may be outstanding, in parts of [`PACKET`].
    window: u64,
    rtt: Span,
    decreased_at: Option<Time>,
    /// The packet that is being timed, and when it left.
    probe: Option<(u64, Time)>,
    /// The lowest number that no probe had.
    fresh: u64,
    /// Packets acknowledged when the last delay was measured.
    acknowledged: u64,
    /// Expiries without an acknowledgement in between.
    expiries: u32,
    eligible: Time,
}

const PACKET: u64 = 1 << 16;
/// Windows below a packet become pauses between packets: at least one in a thousand round trips.
const WINDOW_MIN: u64 = PACKET / 1_000;
const WINDOW_MAX: u64 = PACKET << 20;
/// The windows between which the target is scaled (§3.5).
const SCALED_MIN: u64 = PACKET / 10;
const SCALED_MAX: u64 = PACKET * 100;
/// So many expiries in a row throw the window back to the least (Algorithm 1).
const EXPIRIES_MAX: u32 = 5;

impl Swift {
    /// A sender on a path. It begins with what the line carries in the target delay.
    pub fn new(parameters: Parameters, path: &Path) -> Self {
        let target = parameters.base_target + parameters.hop_target * u64::from(path.hops);
        let full = path.line.serialize(Bytes::new(u64::from(path.packet_bytes)));
        let packets = target.as_ps() / full.as_ps().max(1);
        Self {
            parameters,
            target,
            window: (packets.max(1) * PACKET).min(WINDOW_MAX),
            rtt: target,
            decreased_at: None,
            probe: None,
            fresh: 0,
            acknowledged: 0,
            expiries: 0,
            eligible: Time::ZERO,
        }
    }

    /// The delay that it wants now (§3.5).
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

    /// Takes a share off the window, at most once a round trip.
    fn decrease(&mut self, now: Time, parts: u64) {
        if self.decreased_at.is_some_and(|at| now.since(at) < self.rtt) {
            return;
        }
        self.window = (self.window - ((self.window * parts) >> 16)).max(WINDOW_MIN);
        self.decreased_at = Some(now);
    }
}

impl Controller for Swift {
    fn on_transmit(&mut self, now: Time, sent: Sent) {
        // What is sent again cannot be told from what was sent first by its acknowledgement (Karn and Partridge 1987). Where less
        // than a packet may be under way, what is sent again is the one that is timed, and the pause before it is no delay.
        if sent.again && self.window < PACKET {
            self.probe = None;
        }
        if self.probe.is_none() && !sent.again && sent.number >= self.fresh {
            self.probe = Some((sent.number, now));
            self.fresh = sent.number + 1;
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

/// 2²⁴ over the root of a window in packets.
fn inverse_root(window: u64) -> u64 {
    (1 << 48) / (window << 32).isqrt()
}

#[cfg(test)]
mod tests {
    use wiremend_units::Rate;

    use super::*;

    const PATH: Path = Path { line: Rate::gbps(100), packet_bytes: 1_106, hops: 5, round_trip: Span::ZERO };

    const fn ack(acknowledged: u64) -> Ack<'static> {
        Ack { acknowledged, feedback: None }
    }

    fn swift() -> Swift {
        Swift::new(Parameters::DEFAULT, &PATH)
    }

    /// Sends the packet with this number at `from` and has it acknowledged `delay` later.
    fn round(swift: &mut Swift, number: u64, from: Time, delay: Span) {
        swift.on_transmit(from, Sent { wire_bytes: 1_106, number, again: false });
        swift.on_ack(from + delay, &ack(number + 1));
    }

    #[test]
    fn it_begins_with_what_the_line_carries_in_the_target() {
        // 30 µs over 88.48 ns.
        assert_eq!(swift().window(), 339);
        assert_eq!(swift().target(), Span::from_us(30), "a large window adds nothing");
    }

    #[test]
    fn a_short_delay_adds_a_packet_a_round_trip() {
        let mut swift = swift();
        let before = swift.window_milli();
        // A window of packets in one round trip.
        round(&mut swift, 338, Time::from_ns(0), Span::from_us(20));
        assert_eq!(swift.window_milli(), before + 1_000);
    }

    /// Twice the target: β · (60 − 30)/60 = 0.4 of the window goes; more of it is cut to a half.
    #[test]
    fn a_long_delay_takes_its_excess_once_a_round_trip() {
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
    fn a_small_window_wants_more_delay() {
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
    fn less_than_a_packet_is_a_pause() {
        let mut swift = swift();
        swift.window = PACKET / 4;
        swift.rtt = Span::from_us(40);
        swift.on_transmit(Time::from_ns(1_000), Sent::new(1_106));
        assert_eq!((swift.window(), swift.eligible()), (1, Time::from_ns(161_000)));
    }

    /// Or else a lost packet makes the pause a thousand times as long as itself.
    #[test]
    fn a_pause_is_not_taken_for_delay() {
        let mut swift = swift();
        swift.window = PACKET / 4;
        swift.rtt = Span::from_us(40);
        swift.on_transmit(Time::ZERO, Sent::new(1_106));
        let again = swift.eligible();
        swift.on_transmit(again, Sent { again: true, ..Sent::new(1_106) });
        swift.on_ack(again + Span::from_us(40), &ack(1));
        assert_eq!((swift.window, swift.rtt), (PACKET / 4, Span::from_us(40)));
    }

    #[test]
    fn losses_halve_and_silence_throws_back() {
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
    fn what_is_sent_again_is_not_timed() {
        let mut swift = swift();
        swift.on_transmit(Time::ZERO, Sent::new(1_106));
        swift.on_nak(Time::from_ns(10_000));
        let before = swift.window_milli();
        swift.on_transmit(Time::from_ns(20_000), Sent { again: true, ..Sent::new(1_106) });
        swift.on_ack(Time::from_ns(900_000), &ack(1));
        assert_eq!(swift.window_milli(), before);
    }
}
