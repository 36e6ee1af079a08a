//! Causes of retransmission timeouts.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeStruct, Serializer};

keyed! {
    /// Why a retransmission timer fired: the four patterns of JCST §3.1, and others. The classification uses
    /// the oldest unacknowledged PSN `p`, the responder's expected PSN and the NAKs between them.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    TimeoutCause {
        /// The responder expects `p` and has sent no NAK: nothing followed `p` that could show the gap.
        TailPacket = "tail_packet",
        /// The responder has received `p`: only the acknowledgement was lost.
        TailAck = "tail_ack",
        /// The responder has sent a NAK for `p`, which was lost. It sends one NAK only.
        Nak = "nak",
        /// The NAK arrived, and the retransmission was lost.
        Retransmission = "retransmission",
        /// Other causes: a timer shorter than the queueing delay, a lost READ request, …
        Other = "other",
    }
}

impl TimeoutCause {
    /// Name for readers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TailPacket => "tail packet",
            Self::TailAck => "tail ACK",
            Self::Nak => "NAK",
            Self::Retransmission => "retransmission",
            Self::Other => "other",
        }
    }

    /// What a comment in a capture says of a request that follows an expiry.
    pub fn comment(self) -> String {
        format!("{COMMENT}{self}")
    }

    /// The causes in the comments of a packet, each in a line.
    pub fn in_comments(comments: &str) -> impl Iterator<Item = Self> {
        let names = comments.lines().filter_map(|line| line.strip_prefix(COMMENT));
        names.filter_map(|name| Self::ALL.into_iter().find(|cause| cause.name() == name))
    }
}

const COMMENT: &str = "the requester's timer fired before this; cause: ";

impl fmt::Display for TimeoutCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Number of timer expiries by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimeoutCounts {
    by_cause: [u64; TimeoutCause::ALL.len()],
    dummy: u64,
}

impl TimeoutCounts {
    /// Counts one expiry that delayed application data.
    pub fn add(&mut self, cause: TimeoutCause) {
        self.by_cause[cause as usize] += 1;
    }

    /// Counts one expiry with only dummies outstanding. It delays no flow.
    pub fn add_dummy(&mut self) {
        self.dummy += 1;
    }

    /// Expiries with this cause.
    pub const fn get(&self, cause: TimeoutCause) -> u64 {
        self.by_cause[cause as usize]
    }

    /// Expiries with only dummies outstanding.
    pub const fn dummy(&self) -> u64 {
        self.dummy
    }

    /// Expiries of all causes, without those of dummies.
    pub fn total(&self) -> u64 {
        self.by_cause.iter().sum()
    }
}

impl AddAssign for TimeoutCounts {
    fn add_assign(&mut self, other: Self) {
        for (mine, theirs) in self.by_cause.iter_mut().zip(other.by_cause) {
            *mine += theirs;
        }
        self.dummy += other.dummy;
    }
}

/// `{tail_packet, tail_ack, nak, retransmission, other, dummy, total}`.
impl Serialize for TimeoutCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("TimeoutCounts", TimeoutCause::ALL.len() + 2)?;
        for cause in TimeoutCause::ALL {
            fields.serialize_field(cause.key(), &self.get(cause))?;
        }
        fields.serialize_field("dummy", &self.dummy)?;
        fields.serialize_field("total", &self.total())?;
        fields.end()
    }
}

/// The same fields; the total is recomputed.
impl<'de> Deserialize<'de> for TimeoutCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = BTreeMap::<String, u64>::deserialize(deserializer)?;
        let field = |name: &str| {
            fields.get(name).copied().ok_or_else(|| D::Error::custom(format!("timeouts without `{name}`")))
        };
        let mut counts = Self { dummy: field("dummy")?, ..Self::default() };
        for cause in TimeoutCause::ALL {
            counts.by_cause[cause as usize] = field(cause.key())?;
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dummies_are_counted_separately() {
        let mut counts = TimeoutCounts::default();
        for cause in TimeoutCause::ALL {
            counts.add(cause);
        }
        counts.add(TimeoutCause::Nak);
        counts.add_dummy();
        let mut twice = counts;
        twice += counts;
        assert_eq!((twice.total(), twice.get(TimeoutCause::Nak), twice.dummy()), (12, 4, 2));
    }
}
