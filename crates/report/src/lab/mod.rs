//! JSON types of `wiremend lab --json`, which claims and `xtask` read, and the goodput chart.

mod goodput_chart;
mod ping_pong_table;
mod stall_table;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use goodput_chart::GoodputChart;
pub use ping_pong_table::{ENDS, PingPongRow, PingPongTimes, PingPongWrites};
pub use stall_table::{Lost, MessageTimes, StallRow, StallTable};

/// State of the link during a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// Protected, no loss.
    Clean,
    /// Loss, not protected.
    Corrupting,
    /// Loss, protected.
    Protected,
}

impl LinkState {
    /// All states.
    pub const ALL: [Self; 3] = [Self::Clean, Self::Corrupting, Self::Protected];

    /// Name in files.
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
pub struct Transfer {
    /// Bytes that the receiver read in each tenth of a second.
    pub tenths: Vec<u64>,
    /// Segments that the sender's host retransmitted.
    pub retransmitted: u64,
}

impl Transfer {
    /// Seconds per entry of [`Transfer::tenths`].
    pub const STEP_S: f64 = 0.1;
    /// Entries at the start that the goodput leaves out: slow start and the first queue overflow.
    const SETTLING_STEPS: usize = 3;

    /// Goodput in bit/s without the start.
    pub fn goodput_bps(&self) -> f64 {
        let settled = &self.tenths[Self::SETTLING_STEPS.min(self.tenths.len() / 2)..];
        settled.iter().sum::<u64>() as f64 * 8.0 / (settled.len() as f64 * Self::STEP_S)
    }
}

/// `wiremend lab auto`: a link starts to corrupt, and the daemons detect it and protect the link.
#[derive(Debug, Serialize, Deserialize)]
pub struct AutoRun {
    /// Frame loss ratio while the link corrupts.
    pub loss: f64,
    /// Rate of the link; 0 if it is not limited.
    pub rate_bps: u64,
    /// Start of the corruption, in seconds after the start of the transfer.
    pub corrupts_s: f64,
    /// When the corruption ended.
    pub repaired_s: f64,
    /// When the first daemon detected the corruption.
    pub detected_s: Option<f64>,
    /// When the second of the two relays started to protect.
    pub protected_s: Option<f64>,
    /// When the second of the two relays stopped to protect.
    pub unprotected_s: Option<f64>,
    /// Log entries of the daemons in order of time.
    pub decisions: Vec<Decision>,
    /// The transfer.
    pub stream: Transfer,
}

/// A log entry of a daemon.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// Seconds after the start of the transfer.
    pub at_s: f64,
    /// The entry.
    pub entry: Value,
}

impl Decision {
    /// Whether a daemon found that its link corrupts.
    pub fn is_detection(&self) -> bool {
        self.entry["event"] == "verdict" && self.entry["corrupting"] == true
    }

    /// Copies per retransmission of an action on a link; 0 for an end of protection.
    pub fn copies(&self) -> Option<u64> {
        self.entry["copies"].as_u64().filter(|_| self.entry["event"] == "action")
    }
}

impl AutoRun {
    /// Node names of the two ends.
    pub const NODES: [&str; 2] = ["host-a", "host-b"];

    /// The goodput over time with the events of the daemons.
    pub fn goodput_chart(&self) -> GoodputChart<'_> {
        let mut moments = vec![(self.corrupts_s, "corrupts", "the link corrupts")];
        moments.extend(self.detected_s.map(|at| (at, "detected", "a daemon detects it")));
        moments.extend(self.protected_s.map(|at| (at, "protected", "both directions are protected")));
        moments.push((self.repaired_s, "repaired", "the link is repaired"));
        moments.extend(self.unprotected_s.map(|at| (at, "unprotected", "protection ends")));
        GoodputChart {
            title: format!("A link that corrupts {} of its frames, protected automatically", self.loss),
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
    fn goodput_leaves_out_the_start() {
        let stream = Transfer { tenths: vec![0, 9, 9, 1_000_000, 1_500_000], retransmitted: 0 };
        // Two of five entries are left out, never more than half.
        assert!((stream.goodput_bps() - 2_500_009.0 * 8.0 / 0.3).abs() < 1.0);
    }
}
