//! What a direction of a cable suffers from, as it is said on a command line or over a control socket.

use serde::{Deserialize, Serialize};
use wiremend_impair::{
    BadImpairment, BitErrors, EveryNth, FrameLoss, GilbertElliott, Impairment, Impairments,
};

/// What a direction suffers from; nothing by default.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ailment {
    /// The share of frames that are hit.
    pub loss: f64,
    /// They come in bursts of so many, on average.
    pub burst_frames: Option<f64>,
    /// The share of bits that are flipped.
    pub bit_error_rate: f64,
    /// Every so manieth frame is hit.
    pub every: Option<u64>,
}

impl Ailment {
    /// The models, with the luck of `seed`.
    pub fn impairments(&self, seed: u64) -> Result<Impairments, BadImpairment> {
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
    fn what_cannot_be_is_refused() {
        let refused = |ailment: Ailment| ailment.impairments(1).unwrap_err().to_string();
        assert!(refused(Ailment { loss: 1.5, ..Ailment::default() }).contains("between 0 and 1"));
        assert!(refused(Ailment { loss: f64::NAN, ..Ailment::default() }).contains("between 0 and 1"));
        assert!(refused(Ailment { every: Some(0), ..Ailment::default() }).contains("at least 1"));
        assert!(Ailment::default().impairments(1).unwrap().is_empty());
    }
}
