//! One end of a link with forward error correction. Simulated frames have no bytes to decode. Instead, a
//! parity carries its data frames, and the receiver takes those that [`proto::fec`](wiremend_proto::fec) can
//! restore.

use std::sync::Arc;

use wiremend_proto::fec::{Config, Disposal, Endpoint, FecHeader, Transmit};
use wiremend_proto::link::{Counters, QueueHead};
use wiremend_units::{Bytes, Time};
use wiremend_wire::Trailer;

use super::end_context::{EndContext, Incoming};
use super::occupancy::Occupancy;
use crate::frame::{Frame, FrameId, Header, ParityBlock};

/// One end of a link with forward error correction.
pub(crate) struct FecEnd {
    pub(crate) end: Endpoint<FrameId>,
    /// The data frames of the parities being sent, once the first was sent.
    leaving: Option<ParityBlock>,
    /// The data frames of the parity that has just arrived.
    arrived: Option<ParityBlock>,
    /// Copies of the block being sent.
    tx: Occupancy,
    /// Frames that wait for an earlier one.
    rx: Occupancy,
    /// Frames restored from parities.
    pub(crate) restored: u64,
}

impl FecEnd {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            end: Endpoint::new(config),
            leaving: None,
            arrived: None,
            tx: Occupancy::default(),
            rx: Occupancy::default(),
            restored: 0,
        }
    }

    /// Handles a frame with a header; `block` belongs to a parity.
    pub(crate) fn on_signal(
        &mut self,
        now: Time,
        signal: FecHeader,
        frame: Option<Incoming>,
        block: Option<ParityBlock>,
    ) {
        self.arrived = block;
        self.rx.bytes += frame.map_or(0, |(_, len)| len.get());
        self.end.on_signal(now, signal, frame.map(|(id, _)| id));
    }

    /// Handles a frame without a header.
    pub(crate) fn on_unprotected(&mut self, (id, len): Incoming) {
        self.rx.bytes += len.get();
        self.end.on_plain(id);
    }

    /// Returns the counters in the terms of link-local retransmission, as far as they apply.
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

    pub(super) fn next(&mut self, cx: &mut EndContext<'_>) -> Option<FrameId> {
        // Parities cover frames without their FCS, which the receiver computes again.
        let fcs_bytes = Trailer::Fcs.bytes() as u64;
        let waiting = cx
            .egress
            .peek(cx.now)
            .map(|(_, len)| QueueHead { len: Bytes::new(u64::from(len) - fcs_bytes), ordered: true });
        Some(match self.end.poll_transmit(cx.now, waiting)? {
            Transmit::Plain => {
                let id = cx.take_head()?.frame();
                if cx.state.has_started() { cx.attach(id, Header::Unprotected) } else { id }
            }
            Transmit::New(signal) => {
                let id = cx.take_head()?.frame();
                self.leaving = None;
                self.tx.add(cx.lanes.frames.get(id).len);
                self.tx.update_max();
                let kept = cx.lanes.keep_copy(id);
                self.end.on_sent(cx.now, kept);
                cx.attach(id, Header::Fec(signal))
            }
            Transmit::Parity { signal, len } => {
                let len = FecHeader::parity_frame_len(len.get() as usize, Trailer::Fcs) as u16;
                let (frames, kept) = (&cx.lanes.frames, self.end.kept());
                let block =
                    self.leaving.get_or_insert_with(|| kept.iter().map(|id| *frames.get(*id)).collect());
                let block = Arc::clone(block);
                let id = cx.insert_link_frame(Frame { len, ..Frame::link_frame() });
                cx.attach_block(id, Header::Fec(signal), block)
            }
        })
    }

    /// Processes the decisions of the endpoint.
    pub(super) fn dispose(&mut self, cx: &mut EndContext<'_>) {
        while let Some(disposal) = self.end.poll() {
            match disposal {
                Disposal::Deliver(id) => {
                    self.rx.remove(cx.lanes.frames.get(id).len);
                    cx.deliver(id);
                }
                Disposal::Discard(id) => self.rx.remove(cx.discard(id).len),
                Disposal::Release(id) => self.tx.remove(cx.lanes.release_copy(id).len),
                Disposal::Recover { block: number, missing } => {
                    // The parity that arrived last triggers the recovery.
                    let Some(block) = self.arrived.take() else { continue };
                    for index in missing.iter() {
                        let frame = block[usize::from(index)];
                        self.rx.add(frame.len);
                        self.restored += 1;
                        self.end.on_recovered(cx.now, number, index, cx.lanes.frames.insert(frame));
                    }
                }
                Disposal::BlockDone { .. } => {}
            }
        }
        self.arrived = None;
        // Frames that were delivered immediately did not wait.
        self.rx.update_max();
    }
}
