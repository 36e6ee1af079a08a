//! The reaction point of DCQCN: the rate falls with each notification and rises in stages.

use wiremend_units::{Bytes, Rate, Span, Time};

use super::Parameters;
use crate::cc::pacer::Pacer;
use crate::cc::{Algorithm, Controller, Needs, PathProperties, SentPacket};

/// The rate of one queue pair, which is the line rate until the first notification. The fields that every
/// packet uses come first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Dcqcn {
    pacer: Pacer,
    rate: u64,
    target: u64,
    line: u64,
    /// Whether any notification has arrived.
    is_active: bool,
    /// Whether a notification has arrived since the last update of α.
    has_cnp: bool,
    alpha_at: Time,
    increase_at: Time,
    /// Next time at which the sender checks for notifications; [`Time::MAX`] if none has arrived.
    decrease_at: Time,
    bytes_left: u64,
    /// Expiries of the timer, and in `byte_stage` of the byte counter, since the last decrease.
    timer_stage: u32,
    byte_stage: u32,
    /// In units of 1/[`ONE`].
    alpha: u64,
    parameters: Parameters,
}

impl Algorithm for Parameters {
    fn new_controller(&self, path: &PathProperties) -> Box<dyn Controller> {
        Box::new(Dcqcn::new(*self, path.line_rate))
    }

    fn needs(&self) -> Needs {
        Needs { acks: self.nak_decreases, cnp_interval: Some(self.cnp_interval), ..Needs::default() }
    }
}

/// α = 1.
const ONE: u64 = 1 << 32;

impl Dcqcn {
    /// Creates a controller for a port of rate `line`.
    pub fn new(parameters: Parameters, line: Rate) -> Self {
        Self {
            parameters,
            line: line.bits_per_s(),
            rate: line.bits_per_s(),
            target: line.bits_per_s(),
            alpha: ONE,
            pacer: Pacer::new(line),
            is_active: false,
            alpha_at: Time::MAX,
            increase_at: Time::MAX,
            decrease_at: Time::MAX,
            has_cnp: false,
            timer_stage: 0,
            byte_stage: 0,
            bytes_left: u64::MAX,
        }
    }

    /// Present rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bits_per_s(self.rate)
    }

    /// Rate to which the sender recovers.
    pub fn target(&self) -> Rate {
        Rate::from_bits_per_s(self.target)
    }

    /// Congestion estimate α in parts per million.
    #[cfg(test)]
    fn alpha_ppm(&self) -> u32 {
        ((self.alpha * 1_000_000) >> 32) as u32
    }

    /// Applies all timers that expired until `now`, in the order of their expiries.
    pub fn advance(&mut self, now: Time) {
        while self.is_active {
            let next = self.decrease_at.min(self.alpha_at).min(self.increase_at);
            if next > now {
                return;
            }
            if next == self.decrease_at {
                self.decrease_at = Time::MAX;
                self.decrease(next);
            } else if next == self.alpha_at {
                self.on_alpha_timer(now);
            } else {
                self.on_increase_timer(now);
            }
        }
    }

    fn on_alpha_timer(&mut self, now: Time) {
        let fall = self.parameters.gain.scale(self.alpha);
        let had_cnp = std::mem::take(&mut self.has_cnp);
        self.alpha = self.alpha - fall + if had_cnp { self.parameters.gain.scale(ONE) } else { 0 };
        let period = self.parameters.alpha_timer;
        // α is too small to decrease further: only the phase of the timer must be kept.
        self.alpha_at += if fall == 0 { whole_periods(self.alpha_at, now, period) } else { period };
    }

    fn on_increase_timer(&mut self, now: Time) {
        let period = self.parameters.increase_timer;
        if self.is_recovered() {
            self.increase_at += whole_periods(self.increase_at, now, period);
            return;
        }
        self.increase_at += period;
        self.timer_stage += 1;
        self.increase();
    }

    fn is_recovered(&self) -> bool {
        self.rate == self.line && self.target == self.line
    }

    /// Decreases the rate (Zhu et al. Eq. 1) and restarts the timers.
    fn decrease(&mut self, now: Time) {
        if self.parameters.clamp_target || self.timer_stage + self.byte_stage > 0 {
            self.target = self.rate;
        }
        let cut = (u128::from(self.rate) * u128::from(self.alpha)) >> 33;
        let least = self.parameters.min_rate.bits_per_s().min(self.line);
        self.rate = (self.rate - cut as u64).max(least);
        self.pacer.set_rate(self.rate());
        (self.timer_stage, self.byte_stage) = (0, 0);
        self.increase_at = now + self.parameters.increase_timer;
        self.bytes_left = self.parameters.byte_counter.map_or(u64::MAX, Bytes::get);
    }

    /// Increases the rate (Zhu et al. Fig. 7): fast recovery, additive or hyper increase.
    fn increase(&mut self) {
        let timer = self.timer_stage;
        let bytes = if self.parameters.byte_counter.is_some() { self.byte_stage } else { timer };
        let first = self.parameters.fast_recovery;
        if timer.max(bytes) >= first {
            let is_hyper = timer.min(bytes) > first;
            let Parameters { additive_increase, hyper_increase, .. } = self.parameters;
            let gain = if is_hyper { hyper_increase } else { additive_increase };
            self.target = (self.target + gain.bits_per_s()).min(self.line);
        }
        self.rate = (self.rate + self.target).div_ceil(2);
        self.pacer.set_rate(self.rate());
    }

    #[inline]
    fn count_bytes(&mut self, bytes: u32) {
        if self.bytes_left > u64::from(bytes) {
            self.bytes_left -= u64::from(bytes);
        } else {
            self.on_bytes();
        }
    }

    #[cold]
    fn on_bytes(&mut self) {
        self.bytes_left = self.parameters.byte_counter.map_or(u64::MAX, Bytes::get);
        if self.parameters.byte_counter.is_some() {
            self.byte_stage += 1;
            self.increase();
        }
    }

    /// Handles the first notification, which acts at once with both sets of parameters: the rate is the line
    /// rate and α is 1.
    fn activate(&mut self, now: Time) {
        self.is_active = true;
        self.alpha_at = now + self.parameters.alpha_timer;
        self.decrease(now);
    }
}

impl Controller for Dcqcn {
    #[inline]
    fn on_transmit(&mut self, now: Time, sent: SentPacket) {
        if !self.is_active {
            return;
        }
        if !self.is_recovered() {
            self.advance(now);
            self.count_bytes(sent.wire_bytes);
        }
        self.pacer.on_transmit(now, sent.wire_bytes);
    }

    #[inline]
    fn eligible(&self) -> Time {
        self.pacer.eligible()
    }

    fn sending_rate(&self) -> Option<Rate> {
        Some(self.rate())
    }

    fn on_nak(&mut self, now: Time) {
        if self.parameters.nak_decreases {
            self.on_cnp(now);
        }
    }

    fn on_cnp(&mut self, now: Time) {
        let interval = self.parameters.decrease_interval;
        if !self.is_active {
            self.activate(now);
            if interval == Span::ZERO {
                self.alpha =
                    self.alpha - self.parameters.gain.scale(self.alpha) + self.parameters.gain.scale(ONE);
            }
            return;
        }
        self.advance(now);
        if interval == Span::ZERO {
            self.decrease(now);
            self.alpha =
                self.alpha - self.parameters.gain.scale(self.alpha) + self.parameters.gain.scale(ONE);
            self.alpha_at = now + self.parameters.alpha_timer;
        } else {
            self.has_cnp = true;
            self.decrease_at = self.decrease_at.min(now + interval);
        }
    }
}

/// Whole periods from `due` to the first expiry of a periodic timer after `now`.
fn whole_periods(due: Time, now: Time, period: Span) -> Span {
    period * (now.since(due).as_ps() / period.as_ps() + 1)
}

#[cfg(test)]
mod tests {
    use super::super::Gain;
    use super::*;

    const LINE: Rate = Rate::gbps(40);

    fn at(us: u64) -> Time {
        Time::from_ns(us * 1_000)
    }

    fn mbps(control: &Dcqcn) -> (u64, u64) {
        (control.rate().bits_per_s() / 1_000_000, control.target().bits_per_s() / 1_000_000)
    }

    /// α = 1 halves the rate. Each timer then moves halfway to the target, four times for F = 5; the fifth
    /// raises the target.
    #[test]
    fn a_notification_halves_the_rate_and_stages_recover_it() {
        let no_bytes = Parameters { byte_counter: None, ..Parameters::PAPER };
        let mut control = Dcqcn::new(no_bytes, LINE);
        control.on_cnp(at(0));
        assert_eq!(mbps(&control), (20_000, 40_000));
        for (stage, rate) in [(1, 30_000), (2, 35_000), (3, 37_500), (4, 38_750)] {
            control.advance(at(55 * stage));
            assert_eq!(mbps(&control), (rate, 40_000), "stage {stage}");
        }
        // The target cannot exceed the line rate.
        control.advance(at(55 * 5));
        assert_eq!(mbps(&control), (39_375, 40_000));
    }

    /// After a second notification the target is the previous rate: it rises by 40 Mb/s in stage 5 and by 400
    /// Mb/s in later stages.
    #[test]
    fn the_target_grows_additively_and_then_by_hyper_increase() {
        let mut control = Dcqcn::new(Parameters { byte_counter: None, ..Parameters::PAPER }, LINE);
        control.on_cnp(at(0));
        control.on_cnp(at(10));
        // α = (1 − 1/256) + 1/256 = 1: 20 → 10 Gb/s, target 20.
        assert_eq!(mbps(&control), (10_000, 20_000));
        control.advance(at(10 + 55 * 4));
        assert_eq!(mbps(&control), (19_375, 20_000));
        control.advance(at(10 + 55 * 5));
        assert_eq!(mbps(&control), (u64::midpoint(19_375, 20_040), 20_040));
        control.advance(at(10 + 55 * 6));
        assert_eq!(mbps(&control).1, 20_440);
        control.advance(at(10 + 55 * 7));
        assert_eq!(mbps(&control).1, 20_840);
    }

    /// α falls by 1/256 in each 55 µs without a notification, counted from the last one.
    #[test]
    fn alpha_decays() {
        let mut control = Dcqcn::new(Parameters::PAPER, LINE);
        control.on_cnp(at(0));
        assert_eq!(control.alpha_ppm(), 1_000_000);
        control.advance(at(54));
        assert_eq!(control.alpha_ppm(), 1_000_000);
        control.advance(at(55));
        assert_eq!(control.alpha_ppm(), 996_093, "1 − 1/256");
        control.advance(at(55 * 256));
        let decayed = control.alpha_ppm();
        assert!((366_900..=367_200).contains(&decayed), "(255/256)^256 = 0.3671: {decayed}");
        // The next notification reduces the rate by half of that.
        let before = control.rate().bits_per_s();
        control.on_cnp(at(55 * 256));
        let kept = control.rate().bits_per_s() * 1_000_000 / before;
        assert!((816_000..=817_000).contains(&kept), "1 − 0.367/2: {kept}");
        // It also raises α: 0.367 · 255/256 + 1/256.
        let raised = control.alpha_ppm();
        assert!((369_300..=369_700).contains(&raised), "{raised}");
    }

    /// Bytes count separate stages: the larger count ends fast recovery, the smaller one starts hyper
    /// increase.
    #[test]
    fn bytes_count_stages_too() {
        let few = Parameters { byte_counter: Some(Bytes::new(3_000)), ..Parameters::PAPER };
        let mut control = Dcqcn::new(few, LINE);
        control.on_cnp(at(0));
        control.on_cnp(at(1));
        for _ in 0..4 {
            for _ in 0..3 {
                control.on_transmit(at(2), SentPacket::new(1_000));
            }
        }
        assert_eq!(mbps(&control), (19_375, 20_000), "four stages of recovery, all by bytes");
        for _ in 0..9 {
            control.on_transmit(at(2), SentPacket::new(1_000));
        }
        assert_eq!(mbps(&control).1, 20_120, "three of additive increase: the timer has not run out once");
        control.advance(at(1 + 55 * 5));
        assert_eq!(mbps(&control).1, 20_120 + 5 * 40, "five more by the timer");
        control.advance(at(1 + 55 * 6));
        assert_eq!(mbps(&control).1, 20_320 + 400, "both are beyond five");
    }

    /// HPCC's simulator: a decrease every 4 µs at most, one stage of recovery, one of additive increase, then
    /// hyper increase.
    #[test]
    fn the_hpcc_simulator_checks_for_notifications_every_four_microseconds() {
        let mut control = Dcqcn::new(Parameters::HPCC_SIMULATOR, Rate::gbps(100));
        control.on_cnp(at(0));
        assert_eq!(mbps(&control), (50_000, 100_000));
        for us in [1, 2, 3] {
            control.on_cnp(at(us));
        }
        control.advance(at(4));
        assert_eq!(mbps(&control), (50_000, 100_000));
        control.advance(at(5));
        let (rate, target) = mbps(&control);
        assert_eq!(target, 100_000, "without an increase in between the target does not change");
        assert!((25_000..25_300).contains(&rate), "α has fallen by less than 2 % in 5 µs: {rate}");
        control.advance(at(5 + 900));
        let halfway = u64::midpoint(rate, target);
        assert!(mbps(&control).0.abs_diff(halfway) <= 1);
        control.on_cnp(at(910));
        control.advance(at(914));
        assert!(mbps(&control).1.abs_diff(halfway) <= 1, "the target is the previous rate");
        let now = at(914 + 900);
        control.advance(now);
        control.advance(now + Span::from_us(900));
        assert_eq!(mbps(&control).1, halfway + 50);
        control.advance(now + Span::from_us(1_800));
        assert_eq!(mbps(&control).1, halfway + 150);
    }

    #[test]
    fn the_rate_has_a_minimum_and_recovers_completely() {
        let mut control = Dcqcn::new(Parameters::PAPER, LINE);
        for us in 0..100 {
            control.on_cnp(at(us));
        }
        assert_eq!(mbps(&control), (100, 100));
        // A day without packets is computed at once.
        control.advance(at(86_400_000_000));
        assert_eq!(mbps(&control), (40_000, 40_000));
        assert_eq!(control.alpha_ppm(), 0);
        control.on_cnp(at(86_400_000_001));
        assert!(mbps(&control).0 >= 39_999, "α has decayed to zero");
    }

    #[test]
    fn packets_are_paced_after_a_notification() {
        let mut control = Dcqcn::new(Parameters::PAPER, LINE);
        control.on_transmit(at(0), SentPacket::new(1_000));
        assert_eq!(control.eligible(), Time::ZERO, "at line rate only the port limits");
        control.on_cnp(at(1));
        control.on_transmit(at(1), SentPacket::new(1_000));
        assert_eq!(control.eligible(), at(1) + Span::from_ns(400), "20 Gb/s");
    }

    #[test]
    fn a_gain_is_above_zero_and_at_most_one() {
        assert_eq!((Gain::from_parts(0), Gain::from_parts(65_537)), (None, None));
        assert_eq!(Gain::from_parts(Gain::PARTS).unwrap().scale(7), 7);
    }
}
