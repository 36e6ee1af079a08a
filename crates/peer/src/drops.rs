//! Frames that an endpoint drops on purpose, for tests of both ends.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use wiremend_impair::{Fate, FrameFacts, FrameKind, FrameLoss, Impairments, Rule, Script};
use wiremend_proto::engine::Expiry;
use wiremend_units::{Psn, Time, mix, parse_probability};
use wiremend_wire::{Opcode, ReceivedFrame, Syndrome};

/// Direction of a frame at this end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Received.
    In,
    /// Sent.
    Out,
}

/// One item of `--drop`: `out data 5`, `in nak 1 3`, `out 1/128`, `in data 1/20`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DropRule {
    direction: Direction,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum What {
    Script(Rule),
    /// Frames of a kind, or all, with this probability.
    Random(Option<FrameKind>, f64),
}

/// Kinds of frames in rules.
const KINDS: [(&str, Option<FrameKind>); 7] = [
    ("any", None),
    ("data", Some(FrameKind::Data)),
    ("ack", Some(FrameKind::Ack)),
    ("nak", Some(FrameKind::Nak)),
    ("read-request", Some(FrameKind::ReadRequest)),
    ("read-response", Some(FrameKind::ReadResponse)),
    // Messages of connection managers, and congestion notifications.
    ("other", Some(FrameKind::Other)),
];

impl FromStr for DropRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "`{text}` is not a rule; write direction, kind, number of the first frame, and how many, such as \
                 `out data 5` or `in nak 1 3`, or direction, kind and rate, such as `out any 1/128`"
            )
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let direction = match fields.first() {
            Some(&"in") => Direction::In,
            Some(&"out") => Direction::Out,
            _ => return Err(bad()),
        };
        let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0).ok_or_else(bad);
        let rate = |text: &str| parse_probability(text).map_err(|_| bad());
        let kind = |name: &str| {
            let known = KINDS.iter().find(|(known, _)| *known == name);
            known.map(|(_, kind)| *kind).ok_or_else(|| {
                let names = KINDS.map(|(name, _)| name).join(", ");
                format!("unknown kind `{name}` in `{text}`; allowed: {names}")
            })
        };
        let what = match fields[1..] {
            [share] => What::Random(None, rate(share)?),
            [name, share] if share.contains(['/', '.', 'e']) => What::Random(kind(name)?, rate(share)?),
            [name, nth] | [name, nth, _] => {
                let kind = kind(name)?;
                let count = fields.get(3).map_or(Ok(1), |count| number(count))?;
                let rule = Rule::nth_frame(number(nth)?).times(count);
                What::Script(kind.map_or(rule, |kind| rule.of_kind(kind)))
            }
            _ => return Err(bad()),
        };
        Ok(Self { direction, what })
    }
}

/// A frame that was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Dropped {
    direction: Direction,
    kind: FrameKind,
    psn: Psn,
}

/// The rules of both directions, and what they have dropped.
#[derive(Debug)]
pub struct Drops {
    scripts: [Script; 2],
    losses: [Vec<(Option<FrameKind>, FrameLoss)>; 2],
    is_empty: bool,
    /// Impairments of the link: of sent frames, and of received ones.
    impairments: [Impairments; 2],
    /// The PSN by which they name the first request of each direction, and that PSN here.
    first_psn: Psn,
    first: [Option<Psn>; 2],
    /// The latest ones.
    dropped: VecDeque<Dropped>,
    count: u64,
}

const REMEMBERED_MAX: usize = 256;

/// Why a requester waited for its timer, as far as this end can tell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StallCause {
    /// The last packet was dropped here.
    TailPacket,
    /// The acknowledgement of the last packet was dropped here.
    TailAck,
    /// The NAK was dropped here.
    Nak,
    /// A packet and its retransmission were dropped here.
    Retransmission,
    /// The NAK arrived, and its retransmission was lost elsewhere or the peer did not act upon it.
    AfterNak,
    /// Nothing was dropped here that explains it: lost elsewhere, or late.
    Elsewhere,
    /// Only dummies were waiting; no message was delayed.
    Dummy,
}

impl fmt::Display for StallCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::TailPacket => "tail packet",
            Self::TailAck => "tail ACK",
            Self::Nak => "NAK",
            Self::Retransmission => "retransmission",
            Self::AfterNak => "after a NAK",
            Self::Elsewhere => "lost elsewhere, or late",
            Self::Dummy => "dummies only",
        })
    }
}

impl Drops {
    /// Applies these rules; `seed` is the seed of random ones.
    pub fn new(rules: &[DropRule], seed: u64) -> Self {
        let of = |direction: Direction| {
            let own = rules.iter().filter(move |rule| rule.direction == direction);
            let (mut scripted, mut random) = (Vec::new(), Vec::new());
            for (rule, number) in own.zip(0..) {
                match rule.what {
                    What::Script(rule) => scripted.push(rule),
                    What::Random(kind, rate) => {
                        let seed = mix(seed ^ number << 1 ^ direction as u64);
                        random.push((kind, FrameLoss::new(rate, seed).expect("the rate was checked")));
                    }
                }
            }
            (Script::new(&scripted).expect("numbers were checked"), random)
        };
        let [(script_in, losses_in), (script_out, losses_out)] = [of(Direction::In), of(Direction::Out)];
        Self {
            scripts: [script_in, script_out],
            losses: [losses_in, losses_out],
            is_empty: rules.is_empty(),
            impairments: [Impairments::default(), Impairments::default()],
            first_psn: Psn::new(0),
            first: [None, None],
            dropped: VecDeque::new(),
            count: 0,
        }
    }

    /// Adds impairments of the link: of sent frames, and of received ones. In them, the first request of each
    /// direction has the PSN `first_psn`.
    #[must_use]
    pub fn impaired(mut self, impairments: [Impairments; 2], first_psn: Psn) -> Self {
        self.is_empty &= impairments.iter().all(Impairments::is_empty);
        (self.impairments, self.first_psn) = (impairments, first_psn);
        self
    }

    /// Returns whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Frames dropped.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns whether to drop a frame.
    pub fn drops(&mut self, now: Time, direction: Direction, received: &ReceivedFrame<'_>) -> bool {
        let frame = &received.frame;
        let kind = kind(received);
        let facts =
            FrameFacts { kind, psn: Some(frame.bth.psn), ..FrameFacts::bare(received.original_frame_len()) };
        let place = match direction {
            Direction::Out => 0,
            Direction::In => 1,
        };
        let impairment_facts =
            FrameFacts { psn: Some(self.psn_of_impairments(place, kind, frame.bth.psn)), ..facts };
        let mut is_dropped = self.scripts[direction as usize].corrupts(&facts);
        for (only, loss) in &mut self.losses[direction as usize] {
            is_dropped |= only.is_none_or(|only| only == kind) && loss.corrupts(&facts);
        }
        is_dropped |= self.impairments[place].fate(now, &impairment_facts) == Fate::Corrupt;
        if is_dropped {
            self.count += 1;
            if self.dropped.len() == REMEMBERED_MAX {
                self.dropped.pop_front();
            }
            self.dropped.push_back(Dropped { direction, kind, psn: frame.bth.psn });
        }
        is_dropped
    }

    /// The PSN of a frame for the impairments. Answers have PSNs of requests of the other direction.
    fn psn_of_impairments(&mut self, place: usize, kind: FrameKind, psn: Psn) -> Psn {
        let is_request = matches!(kind, FrameKind::Data | FrameKind::ReadRequest);
        let of = if is_request { place } else { 1 - place };
        let first = match self.first[of] {
            Some(first) => first,
            None if is_request => *self.first[of].insert(psn),
            None => return psn,
        };
        self.first_psn.ahead(psn.distance(first) as u32)
    }

    /// Explains the expiry of a timer of this end.
    pub fn cause(&self, expiry: &Expiry) -> StallCause {
        if expiry.dummy {
            return StallCause::Dummy;
        }
        let last = expiry.end.ahead(0_u32.wrapping_sub(1));
        let times = |direction, kinds: &[FrameKind], psn: Psn| {
            let is_it =
                |one: &&Dropped| one.direction == direction && kinds.contains(&one.kind) && one.psn == psn;
            self.dropped.iter().filter(is_it).count()
        };
        let sent = [FrameKind::Data, FrameKind::ReadRequest];
        let answers = [FrameKind::Ack, FrameKind::ReadResponse];
        let oldest = times(Direction::Out, &sent, expiry.oldest);
        if times(Direction::In, &[FrameKind::Nak], expiry.oldest) > 0 {
            StallCause::Nak
        } else if oldest > 1 || expiry.nak_received && oldest > 0 {
            StallCause::Retransmission
        } else if expiry.nak_received {
            StallCause::AfterNak
        } else if times(Direction::Out, &sent, last) > 0 {
            StallCause::TailPacket
        } else if times(Direction::In, &answers, last) > 0 {
            StallCause::TailAck
        } else {
            StallCause::Elsewhere
        }
    }
}

fn kind(received: &ReceivedFrame<'_>) -> FrameKind {
    let opcode = received.frame.bth.opcode;
    match (opcode, received.frame.extension.aeth().map(|aeth| aeth.syndrome)) {
        (Opcode::Cnp, _) => FrameKind::Other,
        (Opcode::ReadRequest, _) => FrameKind::ReadRequest,
        (Opcode::Acknowledge, Some(Syndrome::Ack { .. })) => FrameKind::Ack,
        (Opcode::Acknowledge, _) => FrameKind::Nak,
        (Opcode::AtomicAcknowledge, _) => FrameKind::ReadResponse,
        _ if opcode.is_read_response() => FrameKind::ReadResponse,
        _ if (opcode as u8) < 0x20 => FrameKind::Data,
        _ => FrameKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_parsed() {
        let rule = |text: &str| text.parse::<DropRule>();
        let data = Rule::nth_frame(5).of_kind(FrameKind::Data);
        assert_eq!(rule("out data 5"), Ok(DropRule { direction: Direction::Out, what: What::Script(data) }));
        let naks = Rule::nth_frame(1).of_kind(FrameKind::Nak).times(3);
        assert_eq!(rule("in nak 1 3"), Ok(DropRule { direction: Direction::In, what: What::Script(naks) }));
        for (text, kind) in [("in 1/4", None), ("in any 1/4", None), ("in ack 0.25", Some(FrameKind::Ack))] {
            assert_eq!(rule(text), Ok(DropRule { direction: Direction::In, what: What::Random(kind, 0.25) }));
        }
        for wrong in [
            "",
            "out",
            "up data 1",
            "out data 0",
            "out data x",
            "out 2",
            "out data 3/2",
            "out data 1 0",
            "out data 1 2 3",
        ] {
            assert!(rule(wrong).unwrap_err().contains("is not a rule"), "{wrong}");
        }
        assert!(rule("out dat 1").unwrap_err().contains("allowed: any, data"));
    }
}
