//! Why a retransmission timer fired.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeStruct, Serializer};

keyed! {
    /// What kept the requester waiting until its timer fired: the four patterns of JCST §3.1, and the rest. The rule
    /// looks at the oldest unacknowledged PSN `p`, the responder's expected PSN and the NAKs between them.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    TimeoutCause {
        /// The responder still expects `p` and has sent no NAK: nothing followed `p` that could have shown the gap.
        TailPacket = "tail_packet",
        /// The responder is past `p`: only the acknowledgement was lost.
        TailAck = "tail_ack",
        /// The responder asked for `p`, and the NAK was lost; it asks only once.
        Nak = "nak",
        /// The NAK arrived, and what was sent again was lost again.
        Twice = "twice",
        /// Anything else: a timer shorter than the queues, a lost READ request, …
        Other = "other",
    }
}

impl TimeoutCause {
    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TailPacket => "tail packet",
            Self::TailAck => "tail ACK",
            Self::Nak => "NAK",
            Self::Twice => "twice",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for TimeoutCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How often timers fired, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimeoutCounts {
    by_cause: [u64; TimeoutCause::ALL.len()],
    dummy: u64,
}

impl TimeoutCounts {
    /// Counts one expiry that held up application data.
    pub fn add(&mut self, cause: TimeoutCause) {
        self.by_cause[cause as usize] += 1;
    }

    /// Counts one expiry with nothing but dummies outstanding: it delays no flow.
    pub fn add_dummy(&mut self) {
        self.dummy += 1;
    }

    /// Expiries of one cause.
    pub const fn of(&self, cause: TimeoutCause) -> u64 {
        self.by_cause[cause as usize]
    }

    /// Expiries with nothing but dummies outstanding.
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

/// `{tail_packet, tail_ack, nak, twice, other, dummy, total}`.
impl Serialize for TimeoutCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("TimeoutCounts", TimeoutCause::ALL.len() + 2)?;
        for cause in TimeoutCause::ALL {
            fields.serialize_field(cause.key(), &self.of(cause))?;
        }
        fields.serialize_field("dummy", &self.dummy)?;
        fields.serialize_field("total", &self.total())?;
        fields.end()
    }
}

/// The same names; the total is what follows from them.
impl<'de> Deserialize<'de> for TimeoutCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = BTreeMap::<String, u64>::deserialize(deserializer)?;
        let of = |name: &str| {
            fields.get(name).copied().ok_or_else(|| D::Error::custom(format!("timeouts without `{name}`")))
        };
        let mut counts = Self { dummy: of("dummy")?, ..Self::default() };
        for cause in TimeoutCause::ALL {
            counts.by_cause[cause as usize] = of(cause.key())?;
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dummies_are_counted_apart() {
        let mut counts = TimeoutCounts::default();
        for cause in TimeoutCause::ALL {
            counts.add(cause);
        }
        counts.add(TimeoutCause::Nak);
        counts.add_dummy();
        let mut twice = counts;
        twice += counts;
        assert_eq!((twice.total(), twice.of(TimeoutCause::Nak), twice.dummy()), (12, 4, 2));
    }
}
