//! Frame loss from counters of NICs and switches.
//!
//! Three counters are useful: frames with a wrong FCS (losses so far), codewords that FEC could not correct
//! (losses so far, also on idle links), and wrong symbols per corrected codeword (a prediction of future
//! loss).

use crate::bits::any;
use crate::phy::Code;

/// Error rate before FEC: corrected bits relative to all received bits.
pub fn pre_fec_bit_error_rate(corrected_bits: f64, bits: f64) -> f64 {
    corrected_bits / bits
}

/// Codewords by their number of wrong symbols, as ports count them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Histogram<'a> {
    /// Number of codewords with 0, 1, 2, … wrong symbols, up to the correction limit of the code.
    pub corrected: &'a [f64],
    /// Uncorrectable codewords.
    pub uncorrectable: f64,
}

impl Histogram<'_> {
    /// Number of codewords.
    pub fn total(&self) -> f64 {
        self.corrected.iter().sum::<f64>() + self.uncorrectable
    }

    /// Fraction of uncorrectable codewords.
    pub fn observed_codeword_loss(&self) -> f64 {
        self.uncorrectable / self.total()
    }

    /// Symbol error rate, from the corrected symbols.
    pub fn symbol_error_rate(&self, code: Code) -> f64 {
        let wrong: f64 = self.corrected.iter().enumerate().map(|(count, words)| count as f64 * words).sum();
        let lost = self.uncorrectable * f64::from(code.corrects + 1);
        (wrong + lost) / (self.total() * f64::from(code.symbols))
    }

    /// Expected codeword loss if symbol errors are independent at the observed rate.
    pub fn independent_codeword_loss(&self, code: Code) -> f64 {
        code.codeword_loss_of_symbols(self.symbol_error_rate(code))
    }

    /// Expected codeword loss by extrapolation of the histogram: a line through the logarithms of its bins,
    /// extended over the five bins after the last correctable one, as `SONiC` predicts frame loss. Unlike
    /// independence, it captures bursts. `None` with fewer than two bins that are not empty.
    pub fn extrapolated_codeword_loss(&self, code: Code) -> Option<f64> {
        const BEYOND: u32 = 5;
        let total = self.total();
        let bins: Vec<(f64, f64)> = (1..=code.corrects as usize)
            .filter_map(|i| {
                let words = *self.corrected.get(i)?;
                (words > 0.0).then(|| (i as f64, (words / total).log10()))
            })
            .collect();
        let (slope, height) = line(&bins)?;
        let beyond = code.corrects + 1..=code.corrects + BEYOND;
        Some(beyond.map(|i| 10_f64.powf(height + slope * f64::from(i))).sum::<f64>().min(1.0))
    }
}

/// Loss of a frame of this size at a codeword loss.
pub fn frame_loss(codeword_loss: f64, bytes: f64, interleaved: u32) -> f64 {
    any(codeword_loss, Code::codewords_touched(bytes, interleaved))
}

/// Slope and intercept of the least-squares line.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    if points.len() < 2 {
        return None;
    }
    let n = points.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>()
        / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>();
    Some((slope, y - slope * x))
}
