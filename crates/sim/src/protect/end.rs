//! What an end of a protected link works with, and what it does with frames.

use wiremend_units::{Bytes, SwitchId, Time};

use super::guard::EndState;
use super::loopback::{Loopback, Turning};
use super::{Delivered, ProtectedId};
use crate::frame::{Block, Frame, FrameId, Header};
use crate::link::Lanes;
use crate::port::{Egress, Waiting};

/// What an end works with while it handles something.
pub(super) struct EndContext<'a> {
    pub(super) now: Time,
    pub(super) port: ProtectedId,
    pub(super) lanes: &'a mut Lanes,
    pub(super) egress: &'a mut Egress,
    pub(super) state: &'a mut EndState,
    pub(super) shared: &'a mut Shared,
    /// What has left the queues of the port, with its class.
    pub(super) head: Option<(u8, Waiting)>,
}

/// What the protected ports of a part share.
#[derive(Default)]
pub(super) struct Shared {
    /// What links have handed on; forwarded after each event.
    pub(super) delivered: Delivered,
    /// By switch; none without the prototype.
    pub(super) loopbacks: Vec<Loopback>,
}

/// A frame that has come over a link, and its length.
pub(super) type Incoming = (FrameId, Bytes);

impl EndContext<'_> {
    /// The frame that leaves next of those that wait.
    #[inline]
    pub(super) fn take_head(&mut self) -> Option<FrameId> {
        self.head = self.egress.pop(self.now);
        self.head.map(|(_, waiting)| waiting.frame)
    }

    /// A frame leaves behind a header.
    #[inline]
    pub(super) fn attach(&mut self, id: FrameId, header: Header) -> FrameId {
        self.state.costs.header_bytes += u64::from(header.added_len());
        self.lanes.attach_header(id, header);
        id
    }

    /// A parity leaves behind a header, with what it is made of.
    pub(super) fn attach_block(&mut self, id: FrameId, header: Header, block: Block) -> FrameId {
        self.attach(id, header);
        self.lanes.headers.attach(self.lanes.frames.get(id).header, block);
        id
    }

    /// A frame of the link's own.
    #[inline]
    pub(super) fn make_own(&mut self, frame: Frame) -> FrameId {
        self.state.costs.own.add(u64::from(frame.len));
        self.lanes.frames.insert(frame)
    }

    /// A frame that came over the link goes its way.
    #[inline]
    pub(super) fn hand_on(&mut self, id: FrameId) {
        self.state.costs.handed_on += 1;
        self.shared.delivered.push((self.state.lane.reverse(), id));
    }

    /// A frame that came over the link goes no further.
    #[inline]
    pub(super) fn take_away(&mut self, id: FrameId) -> Frame {
        self.state.costs.taken += 1;
        self.lanes.frames.remove(id)
    }

    /// A frame joins the queue of the loopback port of a switch.
    pub(super) fn enqueue(&mut self, switch: SwitchId, turning: Turning) {
        let loopback = &mut self.shared.loopbacks[switch.index()];
        loopback.enqueue(turning);
        loopback.arm(self.lanes, self.now, switch);
    }

    /// A copy of a frame that leaves follows it to the loopback port of a switch.
    pub(super) fn mirror(&mut self, switch: SwitchId, turning: Turning) {
        let loopback = &mut self.shared.loopbacks[switch.index()];
        loopback.mirror(self.now, turning);
        loopback.arm(self.lanes, self.now, switch);
    }
}
