//! Forecast of frame loss from FEC counters, before any frame is lost.
//!
//! A port with FEC counts codewords by their number of wrong symbols. A line through the logarithms of
//! these counts is extrapolated beyond the correction limit every 120 readings, as `SONiC` does. The result
//! is the expected ratio of uncorrectable codewords.

use serde::{Deserialize, Serialize};
use wiremend_model::counters::{Histogram, frame_loss, pre_fec_bit_error_rate};
use wiremend_model::phy::Code;

/// FEC counters of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FecCounts {
    /// Codewords by number of corrected symbols.
    pub corrected: Option<[u64; 16]>,
    /// Uncorrectable codewords.
    pub uncorrectable: Option<u64>,
    /// Corrected bits.
    pub corrected_bits: Option<u64>,
    /// All bits.
    pub bits: Option<u64>,
    /// Speed of the port. It determines how many codewords a frame is interleaved over.
    pub megabits_per_s: Option<u64>,
}

/// Expected loss.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Forecast {
    /// Number of codewords that the forecast is based on.
    pub codewords: u64,
    /// Expected ratio of uncorrectable codewords.
    pub codeword_loss: f64,
    /// Expected loss ratio of full-size frames.
    pub frame_loss: f64,
}

/// A change of the forecast relative to the threshold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ForecastChange {
    /// The expected loss exceeds the threshold.
    Raised(Forecast),
    /// The expected loss is below the threshold again.
    Cleared(Forecast),
}

/// Computes the forecast of one port.
#[derive(Clone, Debug)]
pub struct LossForecaster {
    threshold: f64,
    last: Option<FecCounts>,
    corrected: [u64; 16],
    uncorrectable: u64,
    readings: u32,
    forecast: Option<Forecast>,
    bit_error_ratio: Option<f64>,
    /// The expected loss when it exceeded the threshold, until it is below.
    raised: Option<f64>,
}

impl LossForecaster {
    /// Number of readings per forecast, as in `SONiC`.
    pub const READINGS: u32 = 120;
    /// Bins with fewer codewords are ignored: they do not determine a line.
    const CODEWORDS_MIN: u64 = 10;
    /// Size of a full frame in bytes.
    const FRAME_BYTES: f64 = 1518.0;

    /// Creates a forecaster that warns from an expected loss of `threshold` on.
    pub fn new(threshold: f64) -> Self {
        Self {
            threshold,
            last: None,
            corrected: [0; 16],
            uncorrectable: 0,
            readings: 0,
            forecast: None,
            bit_error_ratio: None,
            raised: None,
        }
    }

    /// Processes a reading of the port.
    pub fn on_reading(&mut self, fec: FecCounts) -> Option<ForecastChange> {
        let last = self.last.replace(fec)?;
        if let (Some(before), Some(now), Some(all_before), Some(all)) =
            (last.corrected_bits, fec.corrected_bits, last.bits, fec.bits)
            && let (Some(corrected), Some(bits)) = (now.checked_sub(before), all.checked_sub(all_before))
            && bits > 0
        {
            self.bit_error_ratio = Some(pre_fec_bit_error_rate(corrected as f64, bits as f64).min(1.0));
        }
        let (before, now) = (last.corrected?, fec.corrected?);
        let uncorrectable = (last.uncorrectable.unwrap_or(0), fec.uncorrectable.unwrap_or(0));
        if now.iter().zip(before).any(|(now, before)| *now < before) || uncorrectable.1 < uncorrectable.0 {
            // The counters restarted.
            self.reset();
            return None;
        }
        for (sum, (now, before)) in self.corrected.iter_mut().zip(now.iter().zip(before)) {
            *sum = sum.saturating_add(now - before);
        }
        self.uncorrectable = self.uncorrectable.saturating_add(uncorrectable.1 - uncorrectable.0);
        self.readings += 1;
        if self.readings < Self::READINGS {
            return None;
        }
        let judged = self.judge(fec.megabits_per_s);
        self.reset();
        judged
    }

    /// Returns the last forecast.
    pub fn forecast(&self) -> Option<Forecast> {
        self.forecast
    }

    /// Returns whether the expected loss exceeds the threshold.
    pub fn is_raised(&self) -> bool {
        self.raised.is_some()
    }

    /// Returns the expected loss when it exceeded the threshold, until it is below again.
    pub fn raised_loss(&self) -> Option<f64> {
        self.raised
    }

    /// Returns the pre-FEC bit error ratio between the last two readings.
    pub fn bit_error_ratio(&self) -> Option<f64> {
        self.bit_error_ratio
    }

    fn judge(&mut self, megabits_per_s: Option<u64>) -> Option<ForecastChange> {
        let codewords = self.corrected.iter().fold(self.uncorrectable, |sum, bin| sum.saturating_add(*bin));
        if codewords == 0 {
            return None;
        }
        let counted = |&bin: &u64| if bin < Self::CODEWORDS_MIN { 0.0 } else { bin as f64 };
        let corrected: Vec<f64> = self.corrected.iter().map(counted).collect();
        let histogram = Histogram { corrected: &corrected, uncorrectable: self.uncorrectable as f64 };
        let expected = histogram.extrapolated_codeword_loss(Code::RS544).unwrap_or(0.0);
        let codeword_loss = expected.max(histogram.observed_codeword_loss());
        let frame_loss = frame_loss(codeword_loss, Self::FRAME_BYTES, interleaved_codewords(megabits_per_s));
        let forecast = Forecast { codewords, codeword_loss, frame_loss };
        self.forecast = Some(forecast);
        if self.raised.is_none() && frame_loss >= self.threshold {
            self.raised = Some(frame_loss);
            return Some(ForecastChange::Raised(forecast));
        }
        // Hysteresis, so that the warning does not toggle.
        if self.raised.is_some() && frame_loss < self.threshold / 4.0 {
            self.raised = None;
            return Some(ForecastChange::Cleared(forecast));
        }
        None
    }

    fn reset(&mut self) {
        (self.corrected, self.uncorrectable, self.readings) = ([0; 16], 0, 0);
    }
}

/// Number of interleaved codewords: four from 800G on, two from 100G to 400G.
fn interleaved_codewords(megabits_per_s: Option<u64>) -> u32 {
    match megabits_per_s {
        Some(800_000..) => 4,
        Some(..100_000) => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bins whose counts fall by `decades` decades from bin to bin.
    fn falling(decades: f64) -> [u64; 16] {
        std::array::from_fn(|bin| {
            if bin == 0 { 10_000_000_000 } else { 10_f64.powf(9.0 - decades * bin as f64) as u64 }
        })
    }

    fn watch(forecaster: &mut LossForecaster, step: [u64; 16], readings: u32) -> Vec<ForecastChange> {
        let mut sum = forecaster.last.and_then(|last| last.corrected).unwrap_or([0; 16]);
        let mut seen = Vec::new();
        for _ in 0..readings {
            for (sum, step) in sum.iter_mut().zip(step) {
                *sum += step;
            }
            let fec = FecCounts { corrected: Some(sum), uncorrectable: Some(0), ..FecCounts::default() };
            seen.extend(forecaster.on_reading(fec));
        }
        seen
    }

    #[test]
    fn a_degrading_port_raises_a_warning_before_any_loss() {
        let mut forecaster = LossForecaster::new(1e-8);
        assert_eq!(watch(&mut forecaster, falling(1.5), 300), [], "expected loss of 1e-26 or less");
        let seen = watch(&mut forecaster, falling(0.4), 250);
        let [ForecastChange::Raised(forecast)] = seen[..] else { panic!("{seen:?}") };
        assert!((1e-8..1e-4).contains(&forecast.frame_loss), "{forecast:?}");
        let seen = watch(&mut forecaster, falling(1.5), 500);
        assert!(matches!(seen[..], [ForecastChange::Cleared(_)]), "{seen:?}");
    }

    /// Single codewords in two bins do not determine a line.
    #[test]
    fn few_codewords_give_no_forecast() {
        let mut forecaster = LossForecaster::new(1e-8);
        let mut few = [0; 16];
        few[0] = 1_000_000;
        assert_eq!(watch(&mut forecaster, few, 100), []);
        let mut last = forecaster.last.unwrap();
        last.corrected.as_mut().unwrap()[1] += 3;
        last.corrected.as_mut().unwrap()[9] += 2;
        assert_eq!(forecaster.on_reading(last), None);
        assert_eq!(watch(&mut forecaster, few, 200), []);
        assert!(!forecaster.is_raised());
    }

    #[test]
    fn restarted_counters_raise_no_warning() {
        let mut forecaster = LossForecaster::new(1e-8);
        watch(&mut forecaster, falling(0.4), 100);
        forecaster.on_reading(FecCounts { corrected: Some([0; 16]), ..FecCounts::default() });
        assert_eq!(watch(&mut forecaster, falling(1.5), 130), []);
    }

    #[test]
    fn the_pre_fec_bit_error_ratio_is_computed() {
        let mut forecaster = LossForecaster::new(1e-8);
        let at = |corrected, all| FecCounts {
            corrected_bits: Some(corrected),
            bits: Some(all),
            ..FecCounts::default()
        };
        forecaster.on_reading(at(0, 0));
        forecaster.on_reading(at(50, 1_000_000));
        assert_eq!(forecaster.bit_error_ratio(), Some(5e-5));
    }
}
