//! Losses that are still to come: what error correction has to do tells when it will not be enough.
//!
//! A port with FEC counts codewords by how many of their symbols were wrong. Long before one has more than can be corrected, the
//! counts say how soon that will be: a line through their logarithms goes on beyond what can be corrected, as `SONiC` reckons it
//! every 120 readings.

use serde::{Deserialize, Serialize};
use wiremend_model::counters::{Histogram, frame_loss, pre_fec_bit_error_rate};
use wiremend_model::phy::Code;

/// What a port has counted so far of codewords and bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fec {
    /// Codewords by how many wrong symbols were corrected.
    pub corrected: Option<[u64; 16]>,
    /// Codewords beyond that.
    pub uncorrectable: Option<u64>,
    /// Bits that were corrected.
    pub corrected_bits: Option<u64>,
    /// All bits.
    pub bits: Option<u64>,
    /// The speed of the port: how many codewords a frame is spread over depends on it.
    pub megabits_per_s: Option<u64>,
}

/// What is to be expected.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Forecast {
    /// Codewords that it rests on.
    pub codewords: u64,
    /// The part of them that will be beyond correction.
    pub codeword_loss: f64,
    /// The part of full frames that will be lost with them.
    pub frame_loss: f64,
}

/// What is new about what is to come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Foreseen {
    /// More will be lost than the threshold allows.
    Raised(Forecast),
    /// No more.
    Cleared(Forecast),
}

/// Looks ahead for one port.
#[derive(Clone, Debug)]
pub struct Foresight {
    threshold: f64,
    last: Option<Fec>,
    corrected: [u64; 16],
    uncorrectable: u64,
    readings: u32,
    forecast: Option<Forecast>,
    bit_error_ratio: Option<f64>,
    raised: bool,
}

impl Foresight {
    /// Readings that are judged together, as `SONiC` has it.
    pub const READINGS: u32 = 120;
    /// Fewer codewords of a kind tell too little to draw a line through.
    const CODEWORDS_MIN: u64 = 10;
    /// A full frame.
    const FRAME_BYTES: f64 = 1518.0;

    /// Warns of losses from `threshold` on.
    pub fn new(threshold: f64) -> Self {
        Self {
            threshold,
            last: None,
            corrected: [0; 16],
            uncorrectable: 0,
            readings: 0,
            forecast: None,
            bit_error_ratio: None,
            raised: false,
        }
    }

    /// The port was read.
    pub fn on_reading(&mut self, fec: Fec) -> Option<Foreseen> {
        let last = self.last.replace(fec)?;
        if let (Some(before), Some(now), Some(all_before), Some(all)) =
            (last.corrected_bits, fec.corrected_bits, last.bits, fec.bits)
            && let (Some(corrected), Some(bits)) = (now.checked_sub(before), all.checked_sub(all_before))
            && bits > 0
        {
            self.bit_error_ratio = Some(pre_fec_bit_error_rate(corrected as f64, bits as f64).min(1.0));
        }
        let (before, now) = (last.corrected?, fec.corrected?);
        let lost = (last.uncorrectable.unwrap_or(0), fec.uncorrectable.unwrap_or(0));
        if now.iter().zip(before).any(|(now, before)| *now < before) || lost.1 < lost.0 {
            // They began anew.
            self.begin_anew();
            return None;
        }
        for (sum, (now, before)) in self.corrected.iter_mut().zip(now.iter().zip(before)) {
            *sum = sum.saturating_add(now - before);
        }
        self.uncorrectable = self.uncorrectable.saturating_add(lost.1 - lost.0);
        self.readings += 1;
        if self.readings < Self::READINGS {
            return None;
        }
        let judged = self.judge(fec.megabits_per_s);
        self.begin_anew();
        judged
    }

    /// The last forecast.
    pub fn forecast(&self) -> Option<Forecast> {
        self.forecast
    }

    /// Whether more will be lost than the threshold allows.
    pub fn is_raised(&self) -> bool {
        self.raised
    }

    /// Bits that were wrong before they were corrected, of all, between the last two readings.
    pub fn bit_error_ratio(&self) -> Option<f64> {
        self.bit_error_ratio
    }

    fn judge(&mut self, megabits_per_s: Option<u64>) -> Option<Foreseen> {
        let codewords = self.corrected.iter().fold(self.uncorrectable, |sum, bin| sum.saturating_add(*bin));
        if codewords == 0 {
            return None;
        }
        let told = |&bin: &u64| if bin < Self::CODEWORDS_MIN { 0.0 } else { bin as f64 };
        let corrected: Vec<f64> = self.corrected.iter().map(told).collect();
        let histogram = Histogram { corrected: &corrected, uncorrectable: self.uncorrectable as f64 };
        let expected = histogram.extrapolated_codeword_loss(Code::RS544).unwrap_or(0.0);
        let codeword_loss = expected.max(histogram.observed_codeword_loss());
        let frame_loss = frame_loss(codeword_loss, Self::FRAME_BYTES, interleaved(megabits_per_s));
        let forecast = Forecast { codewords, codeword_loss, frame_loss };
        self.forecast = Some(forecast);
        if !self.raised && frame_loss >= self.threshold {
            self.raised = true;
            return Some(Foreseen::Raised(forecast));
        }
        // Well below, or it would come and go.
        if self.raised && frame_loss < self.threshold / 4.0 {
            self.raised = false;
            return Some(Foreseen::Cleared(forecast));
        }
        None
    }

    fn begin_anew(&mut self) {
        (self.corrected, self.uncorrectable, self.readings) = ([0; 16], 0, 0);
    }
}

/// Codewords side by side: four from 800G on, two for the lanes of 100G to 400G.
fn interleaved(megabits_per_s: Option<u64>) -> u32 {
    match megabits_per_s {
        Some(800_000..) => 4,
        Some(..100_000) => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codewords fall by `decades` from bin to bin.
    fn falling(decades: f64) -> [u64; 16] {
        std::array::from_fn(|bin| {
            if bin == 0 { 10_000_000_000 } else { 10_f64.powf(9.0 - decades * bin as f64) as u64 }
        })
    }

    fn watch(foresight: &mut Foresight, step: [u64; 16], readings: u32) -> Vec<Foreseen> {
        let mut sum = foresight.last.and_then(|last| last.corrected).unwrap_or([0; 16]);
        let mut seen = Vec::new();
        for _ in 0..readings {
            for (sum, step) in sum.iter_mut().zip(step) {
                *sum += step;
            }
            let fec = Fec { corrected: Some(sum), uncorrectable: Some(0), ..Fec::default() };
            seen.extend(foresight.on_reading(fec));
        }
        seen
    }

    #[test]
    fn a_port_that_decays_is_warned_of_before_it_loses_anything() {
        let mut foresight = Foresight::new(1e-8);
        assert_eq!(watch(&mut foresight, falling(1.5), 300), [], "1e-26 and less");
        let seen = watch(&mut foresight, falling(0.4), 250);
        let [Foreseen::Raised(forecast)] = seen[..] else { panic!("{seen:?}") };
        assert!((1e-8..1e-4).contains(&forecast.frame_loss), "{forecast:?}");
        let seen = watch(&mut foresight, falling(1.5), 500);
        assert!(matches!(seen[..], [Foreseen::Cleared(_)]), "{seen:?}");
    }

    /// A line through one codeword here and one there says nothing.
    #[test]
    fn a_handful_of_codewords_draws_no_line() {
        let mut foresight = Foresight::new(1e-8);
        let mut few = [0; 16];
        few[0] = 1_000_000;
        assert_eq!(watch(&mut foresight, few, 100), []);
        let mut last = foresight.last.unwrap();
        last.corrected.as_mut().unwrap()[1] += 3;
        last.corrected.as_mut().unwrap()[9] += 2;
        assert_eq!(foresight.on_reading(last), None);
        assert_eq!(watch(&mut foresight, few, 200), []);
        assert!(!foresight.is_raised());
    }

    #[test]
    fn counters_that_begin_anew_are_no_reason() {
        let mut foresight = Foresight::new(1e-8);
        watch(&mut foresight, falling(0.4), 100);
        foresight.on_reading(Fec { corrected: Some([0; 16]), ..Fec::default() });
        assert_eq!(watch(&mut foresight, falling(1.5), 130), []);
    }

    #[test]
    fn bits_before_correction_are_a_ratio() {
        let mut foresight = Foresight::new(1e-8);
        let at = |corrected, all| Fec { corrected_bits: Some(corrected), bits: Some(all), ..Fec::default() };
        foresight.on_reading(at(0, 0));
        foresight.on_reading(at(50, 1_000_000));
        assert_eq!(foresight.bit_error_ratio(), Some(5e-5));
    }
}
