//! The WRITEs of a ping-pong in a capture: how long each took, what it lost, and how often its timer expired.

use std::net::IpAddr;
use std::path::Path;

use wiremend_report::lab::{Lost, MessageTimes, PingPongTimes, PingPongWrites};
use wiremend_units::Psn;
use wiremend_wire::{Opcode, ReceivedFrame, Syndrome};

use super::messages::{DUMMIES_MAX, read_frames};
use crate::error::Error;

/// Bytes of each WRITE, one packet, as in the paper (Gao et al., section 6.2).
pub(super) const BYTES: u32 = 1024;
/// A copy of a retransmission follows within this time. The shortest timeout of a kernel is 4 ms.
const COPY_MAX_NS: u64 = 1_000_000;

/// A WRITE that has completed.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Write {
    /// From its first transmission to its acknowledgement.
    took_ms: f64,
    lost: Lost,
    timeouts: u64,
}

/// What a WRITE lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LostFrame {
    Data,
    Ack,
    Nak,
    Dummy,
}

/// The latest WRITE of an end.
struct Open {
    psn: Psn,
    start_ns: u64,
    sent_ns: u64,
    completed_ns: Option<u64>,
    /// A NAK has arrived since the last transmission.
    has_nak: bool,
    timeouts: u64,
    lost: Vec<LostFrame>,
}

#[derive(Default)]
struct End {
    open: Option<Open>,
    writes: Vec<Write>,
    start_ns: Option<u64>,
    intervals_ms: Vec<f64>,
}

/// The ends: the one that writes first, and the other.
#[derive(Default)]
struct PingPong {
    first: Option<IpAddr>,
    ends: [End; 2],
}

/// Reads a capture in which lost frames have comments. The last WRITE of each end has no successor and is left out.
pub(super) fn read(path: &Path) -> Result<PingPongTimes, Error> {
    let mut ping_pong = PingPong::default();
    read_frames(path, |time_ns, received, is_lost| ping_pong.on_frame(time_ns, received, is_lost))?;
    ping_pong
        .times()
        .ok_or_else(|| Error::Environment(format!("the capture `{}` has no ping-pong", path.display())))
}

impl PingPong {
    fn on_frame(&mut self, time_ns: u64, received: &ReceivedFrame<'_>, is_lost: bool) {
        let bth = &received.frame.bth;
        let (source, _) = received.frame.ip.addresses();
        let len = received.frame.extension.reth().map(|reth| reth.dma_len);
        if bth.opcode == Opcode::WriteOnly && len == Some(BYTES) {
            let first = *self.first.get_or_insert(source);
            self.ends[usize::from(source != first)].on_write(time_ns, bth.psn, is_lost);
        }
        let Some(first) = self.first else { return };
        let from = usize::from(source != first);
        match (bth.opcode, received.frame.extension.aeth().map(|aeth| aeth.syndrome)) {
            (Opcode::Acknowledge, Some(syndrome)) => {
                let is_ack = matches!(syndrome, Syndrome::Ack { .. });
                self.ends[1 - from].on_answer(time_ns, bth.psn, is_ack, is_lost);
            }
            (Opcode::WriteOnly, _) if len == Some(0) => self.ends[from].note(LostFrame::Dummy, is_lost),
            _ => {}
        }
    }

    fn times(self) -> Option<PingPongTimes> {
        let mut intervals = self.ends[0].intervals_ms.clone();
        intervals.sort_by(f64::total_cmp);
        let last = intervals.len().checked_sub(1)?;
        Some(PingPongTimes {
            p999_ms: intervals[(0.999 * last as f64).ceil() as usize],
            longest_ms: intervals[last],
            iterations: MessageTimes::new(intervals)?,
            writes: self.ends.map(End::writes),
        })
    }
}

impl End {
    fn on_write(&mut self, time_ns: u64, psn: Psn, is_lost: bool) {
        let steps = self.open.as_ref().map(|open| psn.distance(open.psn));
        match (&mut self.open, steps) {
            (Some(open), Some(0)) => {
                let is_copy = time_ns.saturating_sub(open.sent_ns) < COPY_MAX_NS;
                open.timeouts += u64::from(!is_copy && !open.has_nak && open.completed_ns.is_none());
                (open.sent_ns, open.has_nak) = (time_ns, false);
            }
            (_, None | Some(1..=DUMMIES_MAX)) => self.begin(time_ns, psn),
            // Older than the latest.
            _ => return,
        }
        self.note(LostFrame::Data, is_lost);
    }

    fn begin(&mut self, time_ns: u64, psn: Psn) {
        if let Some(before) = self.start_ns.replace(time_ns) {
            self.intervals_ms.push(time_ns.saturating_sub(before) as f64 / 1e6);
        }
        let next = Open {
            psn,
            start_ns: time_ns,
            sent_ns: time_ns,
            completed_ns: None,
            has_nak: false,
            timeouts: 0,
            lost: Vec::new(),
        };
        let Some(done) = self.open.replace(next) else { return };
        // The acknowledgement of a dummy or WRITE behind it may have completed it at the same moment.
        let completed_ns = done.completed_ns.unwrap_or(time_ns);
        self.writes.push(Write {
            took_ms: completed_ns.saturating_sub(done.start_ns) as f64 / 1e6,
            lost: classify(&done.lost),
            timeouts: done.timeouts,
        });
    }

    fn on_answer(&mut self, time_ns: u64, psn: Psn, is_ack: bool, is_lost: bool) {
        let Some(open) = &mut self.open else { return };
        if psn.distance(open.psn) < 0 {
            return;
        }
        match (is_ack, is_lost) {
            (true, false) => open.completed_ns = open.completed_ns.or(Some(time_ns)),
            (false, false) => open.has_nak = true,
            (true, true) if open.completed_ns.is_none() => open.lost.push(LostFrame::Ack),
            (true, true) => {}
            (false, true) => open.lost.push(LostFrame::Nak),
        }
    }

    fn note(&mut self, frame: LostFrame, is_lost: bool) {
        if let Some(open) = self.open.as_mut().filter(|open| is_lost && open.completed_ns.is_none()) {
            open.lost.push(frame);
        }
    }

    fn writes(self) -> PingPongWrites {
        let times = |lost: Lost| {
            let of = self.writes.iter().filter(|write| write.lost == lost);
            MessageTimes::new(of.map(|write| write.took_ms).collect())
        };
        PingPongWrites {
            count: self.writes.len() as u64,
            timeouts: self.writes.iter().map(|write| write.timeouts).sum(),
            lost_packet: times(Lost::TailPacket),
            lost_ack: times(Lost::TailAck),
        }
    }
}

fn classify(lost: &[LostFrame]) -> Lost {
    match *lost {
        [] => Lost::Nothing,
        [LostFrame::Data] => Lost::TailPacket,
        [LostFrame::Ack] => Lost::TailAck,
        _ => Lost::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_retransmission_without_a_nak_is_a_timeout() {
        let mut end = End::default();
        let psn = |number: u32| Psn::new(number);
        // Acknowledged at once; lost, and sent again by the timer; its acknowledgement is lost twice.
        end.on_write(0, psn(5), false);
        end.on_answer(MS, psn(5), true, false);
        end.on_write(2 * MS, psn(6), true);
        end.on_write(70 * MS, psn(6), false);
        end.on_answer(71 * MS, psn(6), true, false);
        end.on_write(80 * MS, psn(7), false);
        end.on_answer(81 * MS, psn(7), true, true);
        end.on_write(150 * MS, psn(7), false);
        end.on_answer(151 * MS, psn(7), true, false);
        // A dummy brings a NAK, and its retransmission has a copy.
        end.on_write(160 * MS, psn(8), true);
        end.on_answer(161 * MS, psn(8), false, false);
        end.on_write(163 * MS, psn(8), false);
        end.on_write(163 * MS + 5, psn(8), false);
        end.on_answer(164 * MS, psn(9), true, false);
        end.on_write(170 * MS, psn(10), false);
        let write = |took_ms, lost, timeouts| Write { took_ms, lost, timeouts };
        let expected = [
            write(1.0, Lost::Nothing, 0),
            write(69.0, Lost::TailPacket, 1),
            write(71.0, Lost::TailAck, 1),
            write(4.0, Lost::TailPacket, 0),
        ];
        assert_eq!(end.writes, expected);
        assert_eq!(end.intervals_ms, [2.0, 78.0, 80.0, 10.0]);
        let writes = end.writes();
        assert_eq!((writes.count, writes.timeouts), (4, 2));
        assert_eq!(writes.lost_packet.map(|times| times.count), Some(2));
    }
}
