//! One end of a link with error correction. A simulated decoder cannot compute frames that have no bytes: instead, a parity brings the
//! frames that it was made of, and the receiver takes from them those that [`proto::fec`](wiremend_proto::fec) says it can restore.

use std::sync::Arc;

use wiremend_proto::fec::{Config, Disposal, Endpoint, Signal, Transmit};
use wiremend_proto::link::{Counters, Waiting};
use wiremend_units::{Bytes, Time};
use wiremend_wire::Trailer;

use super::depth::Depth;
use super::end::{EndContext, Incoming};
use crate::frame::{Block, Frame, FrameId, Header};

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
        frame: Option<Incoming>,
        block: Option<Block>,
    ) {
        self.arrived = block;
        self.rx.bytes += frame.map_or(0, |(_, len)| len.get());
        self.end.on_signal(now, signal, frame.map(|(id, _)| id));
    }

    /// A frame without a header has arrived.
    pub(crate) fn on_bare(&mut self, (id, len): Incoming) {
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

    /// The frame that leaves next.
    pub(super) fn next(&mut self, cx: &mut EndContext<'_>) -> Option<FrameId> {
        // A parity is made of frames without their FCS: the receiver computes that anew.
        let fcs_bytes = Trailer::Fcs.bytes() as u64;
        let waiting = cx
            .egress
            .peek(cx.now)
            .map(|(_, len)| Waiting { len: Bytes::new(u64::from(len) - fcs_bytes), ordered: true });
        Some(match self.end.poll_transmit(cx.now, waiting)? {
            Transmit::Plain => {
                let id = cx.take_head()?;
                if cx.state.has_started() { cx.attach(id, Header::Bare) } else { id }
            }
            Transmit::Fresh(signal) => {
                let id = cx.take_head()?;
                self.leaving = None;
                self.tx.add(cx.lanes.frames.get(id).len);
                self.tx.note();
                let kept = cx.lanes.keep_copy(id);
                self.end.on_sent(cx.now, kept);
                cx.attach(id, Header::Fec(signal))
            }
            Transmit::Parity { signal, len } => {
                let len = Signal::parity_frame_len(len.get() as usize, Trailer::Fcs) as u16;
                let (frames, kept) = (&cx.lanes.frames, self.end.kept());
                let block =
                    self.leaving.get_or_insert_with(|| kept.iter().map(|id| *frames.get(*id)).collect());
                let block = Arc::clone(block);
                let id = cx.make_own(Frame { len, ..Frame::own() });
                cx.attach_block(id, Header::Fec(signal), block)
            }
        })
    }

    /// Does with handles what the end has decided.
    pub(super) fn dispose(&mut self, cx: &mut EndContext<'_>) {
        while let Some(disposal) = self.end.poll() {
            match disposal {
                Disposal::Deliver(id) => {
                    self.rx.take(cx.lanes.frames.get(id).len);
                    cx.hand_on(id);
                }
                Disposal::Discard(id) => self.rx.take(cx.take_away(id).len),
                Disposal::Release(id) => self.tx.take(cx.lanes.release_copy(id).len),
                Disposal::Recover { block: number, missing } => {
                    // A parity, the last to come, asks for it.
                    let Some(block) = self.arrived.take() else { continue };
                    for index in missing.iter() {
                        let frame = block[usize::from(index)];
                        self.rx.add(frame.len);
                        self.restored += 1;
                        self.end.on_recovered(cx.now, number, index, cx.lanes.frames.insert(frame));
                    }
                }
                Disposal::Settled { .. } => {}
            }
        }
        self.arrived = None;
        // What went on at once did not wait.
        self.rx.note();
    }
}
