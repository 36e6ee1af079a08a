//! From what NICs and switches count to the loss of frames.
//!
//! Three things are counted, each with its own reach: frames that failed their check (losses that have happened),
//! codewords that FEC could not correct (likewise, also on idle links), and how many symbols were wrong in those that
//! it could (losses that are still to come).

use crate::bits::any;
use crate::phy::Code;

/// Bits that FEC corrected of all bits that came: the error rate before FEC.
pub fn pre_fec_bit_error_rate(corrected_bits: f64, bits: f64) -> f64 {
    corrected_bits / bits
}

/// Codewords by the number of wrong symbols in them, as ports count them: none, one, two, …
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Histogram<'a> {
    /// Codewords with as many wrong symbols as their place says; from none to what the code corrects.
    pub corrected: &'a [f64],
    /// Codewords that could not be corrected.
    pub uncorrectable: f64,
}

impl Histogram<'_> {
    /// All codewords.
    pub fn total(&self) -> f64 {
        self.corrected.iter().sum::<f64>() + self.uncorrectable
    }

    /// Codewords that were lost, as a share of all.
    pub fn observed_codeword_loss(&self) -> f64 {
        self.uncorrectable / self.total()
    }

    /// The error rate of symbols, from those that were corrected.
    pub fn symbol_error_rate(&self, code: Code) -> f64 {
        let wrong: f64 = self.corrected.iter().enumerate().map(|(count, words)| count as f64 * words).sum();
        let lost = self.uncorrectable * f64::from(code.corrects + 1);
        (wrong + lost) / (self.total() * f64::from(code.symbols))
    }

    /// The codeword loss to expect if symbols go wrong independently at the rate that was seen.
    pub fn independent_codeword_loss(&self, code: Code) -> f64 {
        code.codeword_loss_of_symbols(self.symbol_error_rate(code))
    }

    /// The codeword loss to expect if the histogram goes on as it began: a line through the logarithms of its bins,
    /// prolonged over the five bins behind the last that can be corrected, as `SONiC` predicts frame loss. It follows
    /// bursts, which independence does not. `None` with fewer than two bins that are not empty.
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

/// The loss of a frame of this size when codewords are lost.
pub fn frame_loss(codeword_loss: f64, bytes: f64, interleaved: u32) -> f64 {
    any(codeword_loss, Code::codewords_touched(bytes, interleaved))
}

/// Slope and height of the line with the least squares.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    if points.len() < 2 {
        return None;
    }
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>()
        / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>();
    Some((slope, y - slope * x))
}
