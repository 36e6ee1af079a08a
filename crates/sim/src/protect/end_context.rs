//! The context of a link end, and its operations on frames.

use wiremend_units::{Bytes, SwitchId, Time};

use super::link_end::EndState;
use super::loopback::{BufferedFrame, Loopback};
use super::{DeliveredFrames, ProtectedId};
use crate::frame::{Frame, FrameId, Header, ParityBlock};
use crate::link::Lanes;
use crate::port::{Egress, QueuedFrame};

/// The context of a link end while it handles an event.
pub(super) struct EndContext<'a> {
    pub(super) now: Time,
    pub(super) port: ProtectedId,
    pub(super) lanes: &'a mut Lanes,
    pub(super) egress: &'a mut Egress,
    pub(super) state: &'a mut EndState,
    pub(super) shared: &'a mut Shared,
    /// The queue entry that was sent, with its class.
    pub(super) head: Option<(u8, QueuedFrame)>,
}

/// State that the protected ports of a partition share.
#[derive(Default)]
pub(super) struct Shared {
    /// Frames that links have delivered; forwarded after each event.
    pub(super) delivered: DeliveredFrames,
    /// Whether an end of retransmission may have discarded a frame that nobody else has delivered.
    pub(super) has_discarded: bool,
    /// By switch; empty without the prototype.
    pub(super) loopbacks: Vec<Loopback>,
}

/// A frame that came over a link, and its length.
pub(super) type Incoming = (FrameId, Bytes);

impl EndContext<'_> {
    /// Removes the next frame from the queues.
    #[inline]
    pub(super) fn take_head(&mut self) -> Option<QueuedFrame> {
        self.head = self.egress.pop(self.now);
        let (class, waiting) = self.head?;
        if let Some(next) = self.egress.waiting_in(class).next() {
            self.lanes.frames.prefetch(next.frame());
            self.lanes.headers.prefetch(next.frame());
        }
        Some(waiting)
    }

    #[inline]
    pub(super) fn attach(&mut self, id: FrameId, header: Header) -> FrameId {
        self.state.costs.header_bytes += u64::from(header.added_len());
        self.lanes.attach_header(id, header);
        id
    }

    /// Sends a frame, if there is one. Returns whether there is.
    pub(super) fn transmit(&mut self, frame: Option<FrameId>) -> bool {
        if let Some(frame) = frame {
            self.lanes.transmit(self.now, self.state.lane, frame);
        }
        frame.is_some()
    }

    pub(super) fn attach_block(&mut self, id: FrameId, header: Header, block: ParityBlock) -> FrameId {
        self.attach(id, header);
        self.lanes.headers.attach(id, block);
        id
    }

    #[inline]
    pub(super) fn insert_link_frame(&mut self, frame: Frame) -> FrameId {
        self.state.costs.own.add(u64::from(frame.len));
        self.lanes.frames.insert(frame)
    }

    /// Delivers a frame that came over the link to the switch.
    #[inline]
    pub(super) fn deliver(&mut self, id: FrameId) {
        self.state.costs.delivered += 1;
        self.shared.delivered.push((self.state.lane.reverse(), id));
    }

    /// Discards a frame that came over the link.
    #[inline]
    pub(super) fn discard(&mut self, id: FrameId) -> Frame {
        self.state.costs.discarded += 1;
        self.lanes.frames.remove(id)
    }

    /// Enqueues a frame at the loopback port of a switch.
    pub(super) fn enqueue(&mut self, switch: SwitchId, buffered: BufferedFrame) {
        let loopback = &mut self.shared.loopbacks[switch.index()];
        loopback.enqueue(buffered);
        loopback.arm(self.lanes, self.now, switch);
    }
}
