//! One end of a link with error correction. A simulated decoder cannot compute frames that have no bytes: instead, a parity brings the
//! frames that it was made of, and the receiver takes from them those that [`proto::fec`](wiremend_proto::fec) says it can restore.

use std::sync::Arc;

use wiremend_proto::fec::{Config, Disposal, Endpoint, Signal, Transmit};
use wiremend_proto::link::{Counters, Waiting};
use wiremend_units::{Bytes, LaneId, Time};
use wiremend_wire::Trailer;

use super::depth::Depth;
use super::guard::Protocol;
use super::take_head;
use crate::frame::{Block, Frame, FrameId, Header};
use crate::link::Wires;

/// One end of a link with error correction.
pub(crate) struct Coder {
    pub(crate) end: Endpoint<FrameId>,
    /// What the parities that are leaving are made of, once the first has left.
    leaving: Option<Block>,
    /// What the parity that has just arrived was made of.
    arrived: Option<Block>,
    /// Copies of the block that is leaving.
    tx: Depth,
    /// Frames that wait for an earlier one.
    rx: Depth,
    /// Frames made from parities.
    pub(crate) restored: u64,
}

impl Coder {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            end: Endpoint::new(config),
            leaving: None,
            arrived: None,
            tx: Depth::default(),
            rx: Depth::default(),
            restored: 0,
        }
    }

    /// A frame with a header has arrived; `block` comes with a parity.
    pub(crate) fn on_signal(
        &mut self,
        now: Time,
        signal: Signal,
        frame: Option<(FrameId, Bytes)>,
        block: Option<Block>,
    ) {
        self.arrived = block;
        self.rx.bytes += frame.map_or(0, |(_, len)| len.get());
        self.end.on_signal(now, signal, frame.map(|(id, _)| id));
    }

    /// A frame without a header has arrived.
    pub(crate) fn on_bare(&mut self, id: FrameId, len: Bytes) {
        self.rx.bytes += len.get();
        self.end.on_plain(id);
    }

    /// In the terms of retransmission, as far as they fit.
    pub(crate) fn counters(&self) -> Counters {
        let counted = self.end.counters();
        Counters {
            protected: counted.protected,
            missed: counted.recovered + counted.lost,
            recovered: counted.recovered,
            lost: counted.lost,
            tx_bytes: self.tx.bytes,
            tx_bytes_max: self.tx.bytes_max,
            rx_bytes: self.rx.bytes,
            rx_bytes_max: self.rx.bytes_max,
            ..Counters::default()
        }
    }
}

impl Wires {
    /// What leaves next by a port with error correction.
    pub(super) fn next_of_coder(&mut self, now: Time, lane: LaneId) -> Option<(FrameId, Option<Header>)> {
        let guard = self.guards[lane.index()].as_mut().expect("a protected port");
        let egress = self.egresses[lane.index()].as_mut().expect("a protected port is scheduled");
        let was_active = guard.has_started();
        let Protocol::Fec(coder) = &mut guard.protocol else { unreachable!("asked for a coder") };
        // A parity is made of frames without their FCS: the receiver computes that anew.
        let fcs_bytes = Trailer::Fcs.bytes() as u64;
        let waiting = egress
            .peek(now)
            .map(|(_, len)| Waiting { len: Bytes::new(u64::from(len) - fcs_bytes), ordered: true });
        let mut head = || take_head(egress, self.lossless.as_deref_mut(), now, lane);
        Some(match coder.end.poll_transmit(now, waiting)? {
            Transmit::Plain => (head(), was_active.then_some(Header::Bare)),
            Transmit::Fresh(signal) => {
                let id = head();
                let frame = *self.frames.get(id);
                coder.leaving = None;
                coder.tx.add(frame.len);
                coder.tx.note();
                coder.end.on_sent(now, self.frames.insert(frame));
                self.kept += 1;
                (id, Some(Header::Fec(signal)))
            }
            Transmit::Parity { signal, len } => {
                let len = Signal::parity_frame_len(len.get() as usize, Trailer::Fcs) as u16;
                guard.own.add(u64::from(len));
                let (frames, kept) = (&self.frames, coder.end.kept());
                coder.leaving.get_or_insert_with(|| kept.iter().map(|id| *frames.get(*id)).collect());
                (self.frames.insert(Frame { len, ..Frame::own() }), Some(Header::Fec(signal)))
            }
        })
    }

    /// Puts what a parity is made of behind its header.
    pub(super) fn enclose(&mut self, lane: LaneId, id: FrameId) {
        let header = self.frames.get(id).header;
        if let Some(Header::Fec(Signal::Parity { .. })) = self.headers.get(header) {
            let guard = self.guards[lane.index()].as_ref().expect("a protected port");
            let Protocol::Fec(coder) = &guard.protocol else { unreachable!("only a coder sends parities") };
            let block = coder.leaving.as_ref().expect("a parity is made of something");
            self.headers.attach(header, Arc::clone(block));
        }
    }

    /// Does with handles what the end of a link with error correction has decided.
    pub(super) fn dispose_coded(&mut self, now: Time, lane: LaneId) {
        let guard = self.guards[lane.index()].as_mut().expect("a protected port");
        let Protocol::Fec(coder) = &mut guard.protocol else { unreachable!("asked for a coder") };
        while let Some(disposal) = coder.end.poll() {
            match disposal {
                Disposal::Deliver(id) => {
                    coder.rx.take(self.frames.get(id).len);
                    guard.handed_on += 1;
                    self.delivered.push((lane.reverse(), id));
                }
                Disposal::Discard(id) => {
                    coder.rx.take(self.frames.remove(id).len);
                    guard.taken += 1;
                }
                Disposal::Release(id) => {
                    coder.tx.take(self.frames.remove(id).len);
                    self.kept -= 1;
                }
                Disposal::Recover { block: number, missing } => {
                    let block = coder.arrived.take().expect("a parity, the last to come, asks for it");
                    for index in missing.iter() {
                        let frame = block[usize::from(index)];
                        coder.rx.add(frame.len);
                        coder.restored += 1;
                        coder.end.on_recovered(now, number, index, self.frames.insert(frame));
                    }
                }
                Disposal::Settled { .. } => {}
            }
        }
        coder.arrived = None;
        // What went on at once did not wait.
        coder.rx.note();
    }
}
