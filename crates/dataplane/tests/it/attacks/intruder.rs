//! An intruder, who inserts frames of one kind at a steady rate.

use wiremend_testkit::Random;
use wiremend_units::{Span, Time};
use wiremend_wire::link::{Ack, Hello, HelloKind, Hole, LinkCodec, LinkHeader, Missing};
use wiremend_wire::{MacAddr, Trailer};

use super::arena::PORTS;

/// What the intruder sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Attack {
    /// A numbered frame, anywhere ahead.
    Data,
    /// A numbered frame a few numbers ahead of what crosses: the intruder reads the link.
    DataClose,
    /// An unprotected frame whose header claims a number anywhere ahead.
    Unprotected,
    Dummy,
    /// Acknowledges anything.
    Ack,
    /// Requests anything.
    Missing,
    Hello(HelloKind),
    /// Random bytes behind the `EtherType` of the link.
    Garbage,
    /// The beginning of a frame that has crossed.
    Truncated,
    /// A frame that has crossed.
    Replay,
    /// Link-local frames from a host.
    LinkLocal,
    /// Link frames from a host.
    FromHost,
}

/// A frame that the intruder inserts.
pub(super) struct Forged {
    /// The end that receives it.
    pub(super) end: usize,
    pub(super) from_lan: bool,
    pub(super) bytes: Vec<u8>,
}

pub(super) struct Intruder {
    attack: Attack,
    /// Frames per second; 0: it only watches.
    per_second: u64,
    /// Whether control frames have the address of the other end.
    spoofs: bool,
    random: Random,
    next_at: Time,
    sent: u64,
    /// Frames that have crossed from each end.
    recorded: [Vec<Vec<u8>>; 2],
    /// The number that each end sent last, and its epoch.
    last: [(u8, u32); 2],
}

const RECORDED_MAX: usize = 2000;
const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 1, 9, 2, 0, 0, 0, 1, 8];

impl Intruder {
    /// Frames of an attack at 300 per second.
    pub(super) const FRAMES: usize = 601;

    pub(super) fn new(attack: Attack, per_second: u64, spoofs: bool) -> Self {
        Self {
            attack,
            per_second,
            spoofs,
            random: Random::new(99),
            next_at: Time::ZERO,
            sent: 0,
            recorded: [const { Vec::new() }; 2],
            last: [(1, 0), (2, 0)],
        }
    }

    /// Sends nothing.
    pub(super) fn watching() -> Self {
        Self::new(Attack::Garbage, 0, false)
    }

    /// A frame crosses the link.
    pub(super) fn on_frame(&mut self, from: usize, frame: &[u8]) {
        let Ok(seen) = LinkCodec::default().parse(frame) else { return };
        if let LinkHeader::Data { epoch, seq, retransmitted: false, .. } = seen.header {
            self.last[from] = (epoch, seq);
        }
        if self.recorded[from].len() < RECORDED_MAX {
            self.recorded[from].push(frame.to_vec());
        }
    }

    pub(super) fn next_frame(&mut self, now: Time) -> Option<Forged> {
        if self.per_second == 0 || now < self.next_at {
            return None;
        }
        self.next_at = self.next_at.max(now) + Span::from_ns(1_000_000_000 / self.per_second);
        self.sent += 1;
        let end = (self.sent % 2) as usize;
        let from_lan = matches!(self.attack, Attack::LinkLocal | Attack::FromHost);
        let bytes = self.frame(end)?;
        Some(Forged { end, from_lan, bytes })
    }

    fn frame(&mut self, end: usize) -> Option<Vec<u8>> {
        let number = self.random.draw() as u32 & 0xF_FFFF;
        // Of the direction towards `end`, and of the other.
        let ((epoch, last), (own_epoch, _)) = (self.last[1 - end], self.last[end]);
        let ack = Ack { epoch: own_epoch, next: number, pause: true };
        Some(match self.attack {
            Attack::Data => carried(&data(epoch, number)),
            Attack::DataClose => carried(&data(epoch, (last + 5) & 0xF_FFFF)),
            Attack::Unprotected => carried(&LinkHeader::Unprotected { epoch, next: number, ack: None }),
            Attack::Dummy => self.control(end, &LinkHeader::Dummy { epoch, next: number, ack: None }),
            Attack::Ack => self.control(end, &LinkHeader::Ack(ack)),
            Attack::Missing => {
                let mut holes = [Hole::default(); Missing::HOLES_MAX];
                holes[0] = Hole { first: number, len: 1000 };
                let upto = (number + 1000) & 0xF_FFFF;
                self.control(end, &LinkHeader::Missing(Missing { ack, upto, holes, hole_count: 1 }))
            }
            Attack::Hello(kind) => {
                let epoch = match kind {
                    // Any value will do, or only the lowest bits matter.
                    HelloKind::Open => self.random.draw() as u32,
                    HelloKind::Unknown => u32::from(own_epoch),
                    // The intruder has read it in an earlier hello.
                    HelloKind::Close => 0x1234_5670 | u32::from(epoch),
                    _ => 0x1234_5670 | u32::from(own_epoch),
                };
                self.control(end, &LinkHeader::Hello(Hello { kind, epoch, stamp_ns: 0, rtt_ns: 500_000 }))
            }
            Attack::Garbage => {
                let mut bytes = ADDRESSES.to_vec();
                bytes.extend([0x88, 0xB5]);
                bytes.extend((0..50).map(|_| self.random.draw() as u8));
                bytes
            }
            Attack::Truncated => {
                let whole = self.any_recorded(end)?;
                let len = self.random.below(whole.len() as u64) as usize;
                whole[..len].to_vec()
            }
            Attack::Replay => self.any_recorded(end)?,
            Attack::LinkLocal => {
                let mut bytes = vec![0x01, 0x80, 0xC2, 0, 0, 0x0E, 2, 0, 0, 0, 1, 9, 0x88, 0xCC];
                bytes.resize(1514, 0);
                bytes
            }
            Attack::FromHost => carried(&data(own_epoch, number)),
        })
    }

    fn any_recorded(&mut self, end: usize) -> Option<Vec<u8>> {
        let recorded = &self.recorded[1 - end];
        let at = self.random.below(recorded.len() as u64) as usize;
        recorded.get(at).cloned()
    }

    fn control(&self, end: usize, header: &LinkHeader) -> Vec<u8> {
        let codec = LinkCodec::default();
        let mut frame = vec![0; codec.control_len(Trailer::None)];
        let source = if self.spoofs { PORTS[1 - end] } else { MacAddr([2, 9, 9, 9, 9, 9]) };
        codec.emit_control(header, source, Trailer::None, &mut frame);
        frame
    }
}

pub(super) fn data(epoch: u8, seq: u32) -> LinkHeader {
    LinkHeader::Data { epoch, seq, ordered: true, retransmitted: false, ack: None }
}

/// A frame of the intruder behind a header.
pub(super) fn carried(header: &LinkHeader) -> Vec<u8> {
    let frame = [&ADDRESSES[..], &[0x08, 0x00], &[9; 60]].concat();
    let added = header.added_len() as usize;
    let mut buffer = [&vec![0; added][..], &frame].concat();
    let start = LinkCodec::default().encapsulate(header, &mut buffer, added).unwrap();
    buffer.split_off(start)
}
