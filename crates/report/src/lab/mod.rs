//! What the laboratory prints with `--json`, as those read it who judge it, and its pictures.

mod picture;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use picture::Picture;

/// How the link is while something is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Protected, without loss.
    Clean,
    /// With loss, and nobody protects.
    Corrupting,
    /// With loss, and protected.
    Protected,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Clean, Self::Corrupting, Self::Protected];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Corrupting => "corrupting",
            Self::Protected => "protected",
        }
    }
}

/// A transfer over the link.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stream {
    /// Bytes that the receiver read in each tenth of a second.
    pub tenths: Vec<u64>,
    /// Segments that the sender's host sent again.
    pub retransmitted: u64,
}

impl Stream {
    /// The seconds that a number of [`Stream::tenths`] is about.
    pub const STEP_S: f64 = 0.1;
    /// Slow start and the first overflow of the queue are left out of the goodput.
    const SETTLING_STEPS: usize = 3;

    /// Bits a second after the beginning.
    pub fn goodput_bps(&self) -> f64 {
        let settled = &self.tenths[Self::SETTLING_STEPS.min(self.tenths.len() / 2)..];
        settled.iter().sum::<u64>() as f64 * 8.0 / (settled.len() as f64 * Self::STEP_S)
    }
}

/// `wiremend lab auto`: a link that begins to corrupt, and daemons that find and mend it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Loop {
    /// Frames lost while it corrupts, as a share.
    pub loss: f64,
    /// Of the link; 0 if nothing limits it.
    pub rate_bps: u64,
    /// When it began to corrupt, in seconds after the start of the transfer.
    pub corrupts_s: f64,
    /// When it was repaired.
    pub repaired_s: f64,
    /// When the first daemon saw that the link corrupts.
    pub noticed_s: Option<f64>,
    /// When the last of both relays was told to protect.
    pub protected_s: Option<f64>,
    /// When the last of both was told to let the link be.
    pub let_be_s: Option<f64>,
    /// All that the daemons said, in the order of time.
    pub decisions: Vec<Decision>,
    /// The transfer.
    pub stream: Stream,
}

/// Something that a daemon said.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// Seconds after the start of the transfer.
    pub at_s: f64,
    /// A line of its log.
    pub said: Value,
}

impl Loop {
    /// The nodes at the two ends, as daemons call them.
    pub const NODES: [&str; 2] = ["host-a", "host-b"];

    /// The transfer over time, and what the daemons did meanwhile.
    pub fn picture(&self) -> Picture<'_> {
        let mut moments = vec![(self.corrupts_s, "corrupts", "the link corrupts")];
        moments.extend(self.noticed_s.map(|at| (at, "noticed", "a daemon notices")));
        moments.extend(self.protected_s.map(|at| (at, "protected", "both directions are protected")));
        moments.push((self.repaired_s, "repaired", "the link is repaired"));
        moments.extend(self.let_be_s.map(|at| (at, "let be", "it is let be")));
        Picture {
            title: format!("A link that corrupts {} of its frames, mended without a human", self.loss),
            description:
                "Goodput of one TCP transfer, and what the daemons at both ends of the link decided."
                    .to_owned(),
            rate_bps: self.rate_bps,
            tenths: &self.stream.tenths,
            moments,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_is_of_what_comes_after_the_beginning() {
        let stream = Stream { tenths: vec![0, 9, 9, 1_000_000, 1_500_000], retransmitted: 0 };
        // Two of five are left out: never more than half.
        assert!((stream.goodput_bps() - 2_500_009.0 * 8.0 / 0.3).abs() < 1.0);
    }
}
