//! `wiremend lab stalls`: how long messages take that lose packets, with the RoCE of a kernel and in the simulator.

use serde::{Deserialize, Serialize};

use super::PingPongRow;

/// What a message lost, at an end of the cable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// Nothing.
    Nothing,
    /// Its last packet.
    TailPacket,
    /// The acknowledgement of its last packet.
    TailAck,
    /// A packet before the last, and the NAK for it.
    Nak,
    /// A packet before the last, and its retransmission.
    Retransmission,
    /// A packet before the last.
    Middle,
    /// The request of a READ.
    ReadRequest,
    /// The last response of a READ.
    LastResponse,
    /// A response of a READ before the last.
    MiddleResponse,
    /// Anything else.
    Other,
}

/// Completion times of messages.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MessageTimes {
    /// Number of messages.
    pub count: usize,
    /// Median, and bounds of its 95 % confidence interval.
    pub median_ms: f64,
    /// Lower and upper bound.
    pub interval_ms: [f64; 2],
    /// 90 % of them took at most this long.
    pub p90_ms: f64,
    /// Mean.
    pub mean_ms: f64,
}

/// Messages of one set-up that lost the same, or all of them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StallRow {
    /// The set-up: requester, operation and remedies.
    pub set_up: String,
    /// What they lost; `None`: all messages of the set-up.
    pub lost: Option<Lost>,
    /// With the kernel.
    pub kernel: MessageTimes,
    /// In the simulator.
    pub simulator: MessageTimes,
    /// Waits of two timers without a frame between them: with the kernel, and in the simulator.
    pub double_waits: [u64; 2],
}

/// The table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StallTable {
    /// Messages of each set-up and mix of losses.
    pub messages: u32,
    /// Set-ups in order, each with one row per kind of loss.
    pub rows: Vec<StallRow>,
    /// Ping-pongs.
    pub ping_pongs: Vec<PingPongRow>,
}

impl Lost {
    /// Name for readers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::TailPacket => "last packet",
            Self::TailAck => "ACK of the last packet",
            Self::Nak => "a packet and its NAK",
            Self::Retransmission => "a packet and its retransmission",
            Self::Middle => "a packet before the last",
            Self::ReadRequest => "READ request",
            Self::LastResponse => "last READ response",
            Self::MiddleResponse => "READ response before the last",
            Self::Other => "several of these",
        }
    }
}

impl MessageTimes {
    /// Summarises times in milliseconds. `None` if there are none.
    pub fn new(mut ms: Vec<f64>) -> Option<Self> {
        ms.sort_by(f64::total_cmp);
        let count = ms.len();
        let last = count.checked_sub(1)?;
        let at = |rank: f64| ms[(rank.round().max(0.0) as usize).min(last)];
        let middle = last as f64 / 2.0;
        // Ranks between which the median of the distribution lies in 95 % of samples, by the normal approximation.
        let spread = 0.98 * (count as f64).sqrt();
        Some(Self {
            count,
            median_ms: f64::midpoint(at(middle.floor()), at(middle.ceil())),
            interval_ms: [at((middle - spread).floor()), at((middle + spread).ceil())],
            p90_ms: at((0.9 * last as f64).ceil()),
            mean_ms: ms.iter().sum::<f64>() / count as f64,
        })
    }
}

impl StallTable {
    /// The row of a set-up and a loss.
    pub fn row(&self, set_up: &str, lost: Option<Lost>) -> Option<&StallRow> {
        self.rows.iter().find(|row| row.set_up == set_up && row.lost == lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_median_with_its_interval() {
        assert_eq!(MessageTimes::new(Vec::new()), None);
        let one = MessageTimes::new(vec![5.0]).unwrap();
        assert_eq!(
            one,
            MessageTimes { count: 1, median_ms: 5.0, interval_ms: [5.0; 2], p90_ms: 5.0, mean_ms: 5.0 }
        );
        let many = MessageTimes::new((0..=100).rev().map(f64::from).collect()).unwrap();
        let expected = MessageTimes {
            count: 101,
            median_ms: 50.0,
            interval_ms: [40.0, 60.0],
            p90_ms: 90.0,
            mean_ms: 50.0,
        };
        assert_eq!(many, expected);
    }
}
