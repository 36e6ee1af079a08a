//! The sender's part: a rate that falls with each notification and rises in stages.

use wiremend_units::{Bytes, Rate, Span, Time};

use super::Parameters;
use crate::cc::pacer::Pacer;
use crate::cc::{Algorithm, Controller, Needs, Path, Sent};

/// The rate of one queue pair. It is that of the line until the first notification. What every packet touches stands first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Dcqcn {
    pacer: Pacer,
    rate: u64,
    target: u64,
    line: u64,
    /// A notification has ever come.
    is_active: bool,
    /// One has come since α was last looked at.
    is_noted: bool,
    alpha_at: Time,
    increase_at: Time,
    /// When the sender looks at the notifications that have come; never, if none has.
    decrease_at: Time,
    bytes_left: u64,
    /// Times that the timer and the byte counter ran out since the last decrease.
    timer_stage: u32,
    byte_stage: u32,
    /// In parts of [`ONE`].
    alpha: u64,
    parameters: Parameters,
}

impl Algorithm for Parameters {
    fn start(&self, path: &Path) -> Box<dyn Controller> {
        Box::new(Dcqcn::new(*self, path.line))
    }

    fn needs(&self) -> Needs {
        Needs { cnp_interval: Some(self.cnp_interval), ..Needs::default() }
    }
}

/// α = 1.
const ONE: u64 = 1 << 32;

impl Dcqcn {
    /// A sender at a port of rate `line`.
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
            is_noted: false,
            timer_stage: 0,
            byte_stage: 0,
            bytes_left: u64::MAX,
        }
    }

    /// The rate at which packets leave.
    pub fn rate(&self) -> Rate {
        Rate::from_bits_per_s(self.rate)
    }

    /// The rate that it recovers to.
    pub fn target(&self) -> Rate {
        Rate::from_bits_per_s(self.target)
    }

    /// The estimate of congestion, in parts of a million.
    #[cfg(test)]
    fn alpha_ppm(&self) -> u32 {
        ((self.alpha * 1_000_000) >> 32) as u32
    }

    /// Catches up with what timers have done until `now`, in the order in which they ran out.
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
        let fall = self.parameters.gain.of(self.alpha);
        let noted = std::mem::take(&mut self.is_noted);
        self.alpha = self.alpha - fall + if noted { self.parameters.gain.of(ONE) } else { 0 };
        let period = self.parameters.alpha_timer;
        // So small that it falls no further: what is left to do is to keep the beat.
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

    /// Zhu et al. Eq. 1, with the timers that it starts anew.
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

    /// Zhu et al. Fig. 7: fast recovery, additive or hyper increase.
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

    /// The first notification finds the line's rate and the estimate 1, and acts at once in either set.
    fn activate(&mut self, now: Time) {
        self.is_active = true;
        self.alpha_at = now + self.parameters.alpha_timer;
        self.decrease(now);
    }
}

impl Controller for Dcqcn {
    #[inline]
    fn on_transmit(&mut self, now: Time, sent: Sent) {
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

    fn on_cnp(&mut self, now: Time) {
        let interval = self.parameters.decrease_interval;
        if !self.is_active {
            self.activate(now);
            if interval == Span::ZERO {
                self.alpha = self.alpha - self.parameters.gain.of(self.alpha) + self.parameters.gain.of(ONE);
            }
            return;
        }
        self.advance(now);
        if interval == Span::ZERO {
            self.decrease(now);
            self.alpha = self.alpha - self.parameters.gain.of(self.alpha) + self.parameters.gain.of(ONE);
            self.alpha_at = now + self.parameters.alpha_timer;
        } else {
            self.is_noted = true;
            self.decrease_at = self.decrease_at.min(now + interval);
        }
    }
}

/// Whole periods after which a timer that is due at `due` is due next after `now`.
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

    /// α = 1 halves the rate; each timer then recovers half of the way, four times for F = 5, and the fifth raises the target.
    #[test]
    fn a_notification_halves_and_stages_recover() {
        let no_bytes = Parameters { byte_counter: None, ..Parameters::PAPER };
        let mut control = Dcqcn::new(no_bytes, LINE);
        control.on_cnp(at(0));
        assert_eq!(mbps(&control), (20_000, 40_000));
        for (stage, rate) in [(1, 30_000), (2, 35_000), (3, 37_500), (4, 38_750)] {
            control.advance(at(55 * stage));
            assert_eq!(mbps(&control), (rate, 40_000), "stage {stage}");
        }
        // The target cannot be above the line.
        control.advance(at(55 * 5));
        assert_eq!(mbps(&control), (39_375, 40_000));
    }

    /// After a second notification the target is what the rate was: additive steps of 40 Mb/s in stage 5, hyper ones of
    /// 400 Mb/s beyond it.
    #[test]
    fn the_target_grows_additively_and_then_faster() {
        let mut control = Dcqcn::new(Parameters { byte_counter: None, ..Parameters::PAPER }, LINE);
        control.on_cnp(at(0));
        control.on_cnp(at(10));
        // α = (1 − 1/256) + 1/256 = 1 still: 20 → 10 Gb/s, target 20.
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
    fn the_estimate_decays() {
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
        // The next notification cuts by half of that.
        let before = control.rate().bits_per_s();
        control.on_cnp(at(55 * 256));
        let kept = control.rate().bits_per_s() * 1_000_000 / before;
        assert!((816_000..=817_000).contains(&kept), "1 − 0.367/2: {kept}");
        // And raises it: 0.367 · 255/256 + 1/256.
        let raised = control.alpha_ppm();
        assert!((369_300..=369_700).contains(&raised), "{raised}");
    }

    /// Bytes count stages of their own: the larger ends fast recovery, the smaller starts hyper increase.
    #[test]
    fn bytes_are_stages_too() {
        let few = Parameters { byte_counter: Some(Bytes::new(3_000)), ..Parameters::PAPER };
        let mut control = Dcqcn::new(few, LINE);
        control.on_cnp(at(0));
        control.on_cnp(at(1));
        for _ in 0..4 {
            for _ in 0..3 {
                control.on_transmit(at(2), Sent::new(1_000));
            }
        }
        assert_eq!(mbps(&control), (19_375, 20_000), "four stages of recovery, all by bytes");
        for _ in 0..9 {
            control.on_transmit(at(2), Sent::new(1_000));
        }
        assert_eq!(mbps(&control).1, 20_120, "three of additive increase: the timer has not run out once");
        control.advance(at(1 + 55 * 5));
        assert_eq!(mbps(&control).1, 20_120 + 5 * 40, "five more by the timer");
        control.advance(at(1 + 55 * 6));
        assert_eq!(mbps(&control).1, 20_320 + 400, "both are beyond five");
    }

    /// The sets of HPCC's simulator: a decrease every 4 µs at most, one stage of recovery, one additive, then hyper.
    #[test]
    fn the_other_set_looks_every_four_microseconds() {
        let mut control = Dcqcn::new(Parameters::HPCC_LINEAGE, Rate::gbps(100));
        control.on_cnp(at(0));
        assert_eq!(mbps(&control), (50_000, 100_000));
        for us in [1, 2, 3] {
            control.on_cnp(at(us));
        }
        control.advance(at(4));
        assert_eq!(mbps(&control), (50_000, 100_000));
        control.advance(at(5));
        let (rate, target) = mbps(&control);
        assert_eq!(target, 100_000, "no increase came in between, so the target stays");
        assert!((25_000..25_300).contains(&rate), "α has hardly fallen in 5 µs: {rate}");
        control.advance(at(5 + 900));
        let halfway = u64::midpoint(rate, target);
        assert!(mbps(&control).0.abs_diff(halfway) <= 1);
        control.on_cnp(at(910));
        control.advance(at(914));
        assert!(mbps(&control).1.abs_diff(halfway) <= 1, "now the target is what the rate was");
        let now = at(914 + 900);
        control.advance(now);
        control.advance(now + Span::from_us(900));
        assert_eq!(mbps(&control).1, halfway + 50);
        control.advance(now + Span::from_us(1_800));
        assert_eq!(mbps(&control).1, halfway + 150);
    }

    #[test]
    fn the_rate_has_a_floor_and_is_whole_again_after_a_while() {
        let mut control = Dcqcn::new(Parameters::PAPER, LINE);
        for us in 0..100 {
            control.on_cnp(at(us));
        }
        assert_eq!(mbps(&control), (100, 100));
        // A day without packets is caught up with at once.
        control.advance(at(86_400_000_000));
        assert_eq!(mbps(&control), (40_000, 40_000));
        assert_eq!(control.alpha_ppm(), 0);
        control.on_cnp(at(86_400_000_001));
        assert!(mbps(&control).0 >= 39_999, "nothing is left of what was");
    }

    #[test]
    fn packets_are_spaced_at_the_rate_once_notified() {
        let mut control = Dcqcn::new(Parameters::PAPER, LINE);
        control.on_transmit(at(0), Sent::new(1_000));
        assert_eq!(control.eligible(), Time::ZERO, "at line rate the port is the pace");
        control.on_cnp(at(1));
        control.on_transmit(at(1), Sent::new(1_000));
        assert_eq!(control.eligible(), at(1) + Span::from_ns(400), "20 Gb/s");
    }

    #[test]
    fn a_gain_is_a_share() {
        assert_eq!((Gain::from_parts(0), Gain::from_parts(65_537)), (None, None));
        assert_eq!(Gain::from_parts(Gain::PARTS).unwrap().of(7), 7);
    }
}
