//! What both ends of a connection agree on.

use wiremend_units::Span;
use wiremend_wire::RnrTimer;

use super::acceleration::Acceleration;
use super::recovery::Recovery;
use crate::engine::BadConfig;
use crate::mend::Mend;

/// Parameters of a connection; one value serves all queue pairs that share them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Bytes of payload in a full packet.
    pub mtu: u16,
    /// Retransmission timeout; none: a lost tail is waited for, for ever.
    pub timeout: Option<Span>,
    /// Expiries without progress that are answered by sending again; the next one is fatal. 0 to 7, all finite.
    pub retry_count: u8,
    /// "Receiver not ready" answers that are waited out; 7 means for ever.
    pub rnr_retry: u8,
    /// The wait that a responder asks for when it has no receive buffer.
    pub rnr_timer: RnrTimer,
    /// From what shows a loss until the first packet is sent again: a NIC fetches it from its host's memory.
    pub resend_delay: Span,
    /// Sequence numbers that may be outstanding; [`Config::WINDOW_MAX`] is "unlimited".
    pub window: u32,
    /// An acknowledgement is asked for on the last packet of a message and at least every so many packets.
    pub ack_every: u32,
    /// READs in flight, and READs that a responder can repeat.
    pub reads_max: u32,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// What keeps losses from ending in timeouts.
    pub mend: Mend,
    /// What it does beyond the specification after a loss.
    pub acceleration: Acceleration,
}

impl Config {
    /// More outstanding sequence numbers could not be told from earlier ones (IBA 9.7.2).
    pub const WINDOW_MAX: u32 = (1 << 23) - 1;
    /// The largest message: with the smallest MTU it spans half of the sequence space.
    pub const MESSAGE_LEN_MAX: u32 = 1 << 31;
    /// The value of `rnr_retry` that never gives up.
    pub const RNR_RETRY_FOR_EVER: u8 = 7;

    /// Whether a connection can work with these values.
    pub fn check(&self) -> Result<(), BadConfig> {
        let rules = [
            (matches!(self.mtu, 256 | 512 | 1024 | 2048 | 4096), "mtu must be 256, 512, 1024, 2048 or 4096"),
            (self.timeout != Some(Span::ZERO), "timeout must be above zero"),
            (self.retry_count <= 7, "retry count must be 0 to 7"),
            (self.rnr_retry <= 7, "receiver-not-ready retry count must be 0 to 7 (7: for ever)"),
            ((1..=Self::WINDOW_MAX).contains(&self.window), "window must be 1 to 8388607 packets"),
            (self.ack_every > 0, "packets per requested acknowledgement must be at least 1"),
            ((1..=255).contains(&self.reads_max), "reads in flight must be 1 to 255"),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(BadConfig::because(why)))
    }

    /// Sequence numbers that a message of `len` bytes takes: an empty one takes one.
    pub(crate) const fn packets(&self, len: u32) -> u32 {
        if len == 0 { 1 } else { len.div_ceil(self.mtu as u32) }
    }
}

/// The usual NIC: MTU 1024, timeout code 14, seven retries, no window, an acknowledgement for every packet.
impl Default for Config {
    fn default() -> Self {
        Self {
            mtu: 1024,
            timeout: Span::from_timeout_code(14),
            retry_count: 7,
            rnr_retry: Self::RNR_RETRY_FOR_EVER,
            rnr_timer: RnrTimer::from_code(12),
            resend_delay: Span::ZERO,
            window: Self::WINDOW_MAX,
            ack_every: 1,
            reads_max: 16,
            recovery: Recovery::GoBackN,
            mend: Mend::default(),
            acceleration: Acceleration::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_work_are_refused_with_what_is_allowed() {
        let usual = Config::default();
        assert_eq!(usual.check(), Ok(()));
        let bad = [
            Config { mtu: 1000, ..usual.clone() },
            Config { timeout: Some(Span::ZERO), ..usual.clone() },
            Config { retry_count: 8, ..usual.clone() },
            Config { rnr_retry: 8, ..usual.clone() },
            Config { window: 0, ..usual.clone() },
            Config { window: 1 << 23, ..usual.clone() },
            Config { ack_every: 0, ..usual.clone() },
            Config { reads_max: 0, ..usual.clone() },
        ];
        for config in bad {
            assert!(config.check().unwrap_err().to_string().contains("must be"), "{config:?}");
        }
    }

    #[test]
    fn an_empty_message_takes_a_sequence_number() {
        let config = Config::default();
        assert_eq!([0, 1, 1024, 1025].map(|len| config.packets(len)), [1, 1, 1, 2]);
    }
}
