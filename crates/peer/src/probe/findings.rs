//! What a probe has found.

use wiremend_proto::rc::NakRule;
use wiremend_units::Span;

/// Answers of the peer to losses, duplicates and errors, and its own timers and retransmissions.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent observations")]
pub struct Findings {
    /// Path MTU.
    pub mtu: u16,
    /// Packets of each message.
    pub message_packets: u32,
    /// Times for 64 packets and their acknowledgements.
    pub round_trips: Vec<Span>,
    /// Whether each packet that asks for an acknowledgement gets its own.
    pub acks_each: bool,
    /// Acknowledgements for eight duplicates.
    pub duplicate_acks: u32,
    /// Sequence NAKs for a missing packet before eight others, and when all this was repeated.
    pub naks_in_rounds: [usize; 2],
    /// The rule behind it.
    pub nak: NakRule,
    /// Sequence NAKs for a packet that is missing in the middle.
    pub middle_naks: usize,
    /// Whether packets behind a missing one are kept.
    pub keeps_out_of_order: bool,
    /// Sequence NAKs for two packets that were exchanged.
    pub reordering_naks: usize,
    /// Answer to a wrong ICRC.
    pub wrong_icrc: IcrcAnswer,
    /// Sequence NAKs for a missing last packet.
    pub tail_naks: usize,
    /// The same after a dummy.
    pub dummy_naks: usize,
    /// Answer to a dummy.
    pub dummies: DummyAnswer,
    /// Packets without acknowledgement; `None`: the whole message.
    pub window: Option<u32>,
    /// The first packet that asks for an acknowledgement, from 1.
    pub ack_every: Option<u32>,
    /// Wait from a NAK to the retransmission.
    pub nak_wait: Option<Span>,
    /// Whether a NAK causes a retransmission before the timer does.
    pub obeys_naks: bool,
    /// Whether everything from the missing packet on is sent again.
    pub resends_all: bool,
    /// Copies of this NAK, and rounds that they caused.
    pub copies_sent: u32,
    /// Rounds of retransmissions after the copies.
    pub rounds_after_copies: u32,
    /// Wait from a second NAK, for a later packet, to the retransmission.
    pub second_nak_wait: Option<Span>,
    /// Whether the second NAK waits for the timer.
    pub ignores_repeated_naks: bool,
    /// Time from the last ACK to the next message, and from there to the expiry of the timer.
    pub timer_offset: Option<(Span, Span)>,
    /// Whether the timer runs on when everything is acknowledged; `None`: not measured.
    pub timer_runs_on: Option<bool>,
    /// Whether a gap in READ responses waits for the timer; `None`: not measured.
    pub read_gap_waits: Option<bool>,
    /// Retries without progress; `None`: not measured.
    pub retries: Option<RetryLimit>,
    /// Periods of the timer by timeout code.
    pub timers: Vec<(u8, Vec<Span>)>,
    /// Whether a packet behind one without receive buffer gets a NAK too; `None`: there was a buffer.
    pub nak_after_rnr: Option<bool>,
}

/// Retries of a requester.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryLimit {
    /// It retries for ever.
    None,
    /// It gives up after so many.
    Number(u8),
}

/// Answer to a packet with a wrong ICRC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum IcrcAnswer {
    Dropped,
    Nak,
    Accepted,
}

/// Answer to an empty WRITE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum DummyAnswer {
    Accepted,
    Refused,
    Dropped,
}

impl Default for Findings {
    fn default() -> Self {
        Self {
            mtu: 0,
            message_packets: 0,
            round_trips: Vec::new(),
            acks_each: true,
            duplicate_acks: 0,
            naks_in_rounds: [0; 2],
            nak: NakRule::Once,
            middle_naks: 0,
            keeps_out_of_order: false,
            reordering_naks: 0,
            wrong_icrc: IcrcAnswer::Dropped,
            tail_naks: 0,
            dummy_naks: 0,
            dummies: DummyAnswer::Dropped,
            window: None,
            ack_every: None,
            nak_wait: None,
            obeys_naks: true,
            resends_all: true,
            copies_sent: 0,
            rounds_after_copies: 0,
            second_nak_wait: None,
            ignores_repeated_naks: false,
            timer_offset: None,
            timer_runs_on: None,
            read_gap_waits: None,
            retries: None,
            timers: Vec::new(),
            nak_after_rnr: None,
        }
    }
}

impl Findings {
    /// Median period of the timer with this code.
    pub fn period(&self, code: u8) -> Option<Span> {
        let (_, periods) = self.timers.iter().find(|(known, _)| *known == code)?;
        median(periods)
    }
}

/// The middle value, the lower one of two.
pub fn median(spans: &[Span]) -> Option<Span> {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}
