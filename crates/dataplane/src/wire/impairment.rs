//! Impairment settings of a wire, from the command line or the control socket.

use serde::{Deserialize, Serialize};
use wiremend_impair::{
    BadImpairment, BitErrors, EveryNth, FrameLoss, GilbertElliott, Impairment, Impairments,
};

/// Impairments of one direction; none by default.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImpairmentSettings {
    /// Loss rate of frames.
    pub loss: f64,
    /// Mean burst length of losses, in frames. `None`: independent losses.
    pub burst_frames: Option<f64>,
    /// Bit error rate.
    pub bit_error_rate: f64,
    /// Corrupts every n-th frame.
    pub every: Option<u64>,
    /// Corrupts the first transmission of the segment with this byte of each TCP connection over IPv4.
    pub tcp_byte: Option<u32>,
}

impl ImpairmentSettings {
    /// Creates the impairment models with random streams from `seed`.
    pub fn build(&self, seed: u64) -> Result<Impairments, BadImpairment> {
        let mut all = Impairments::default();
        if let Some(frames) = self.burst_frames {
            all.push(Impairment::always(GilbertElliott::from_bursts(self.loss, frames, seed)?));
        } else if self.loss != 0.0 {
            all.push(Impairment::always(FrameLoss::new(self.loss, seed)?));
        }
        if self.bit_error_rate != 0.0 {
            all.push(Impairment::always(BitErrors::new(self.bit_error_rate, seed ^ 1)?));
        }
        if let Some(every) = self.every {
            all.push(Impairment::always(EveryNth::new(every, 0)?));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_values_are_rejected() {
        let refused = |impairment: ImpairmentSettings| impairment.build(1).unwrap_err().to_string();
        assert!(
            refused(ImpairmentSettings { loss: 1.5, ..ImpairmentSettings::default() })
                .contains("between 0 and 1")
        );
        assert!(
            refused(ImpairmentSettings { loss: f64::NAN, ..ImpairmentSettings::default() })
                .contains("between 0 and 1")
        );
        assert!(
            refused(ImpairmentSettings { every: Some(0), ..ImpairmentSettings::default() })
                .contains("at least 1")
        );
        assert!(ImpairmentSettings::default().build(1).unwrap().is_empty());
    }
}
