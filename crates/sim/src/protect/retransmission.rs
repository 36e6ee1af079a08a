//! One end of a link with link-local retransmission: an endpoint of [`proto::link`](wiremend_proto::link)
//! whose handles are frame ids.

use wiremend_proto::link::{DataHeader, Disposal, Endpoint, LinkHeader, QueueHead, Transmit, UsualTransmit};
use wiremend_units::Time;
use wiremend_wire::MIN_FRAME_BYTES;

use super::end_context::EndContext;
use super::link_end::EndState;
use crate::frame::{Frame, FrameId, Header, PackedHeader};
use crate::link::Lanes;
use crate::port::QueuedFrame;

/// Sends what is next over the free wire. Returns whether there is something.
#[inline(never)]
pub(super) fn send(end: &mut Endpoint<FrameId>, cx: &mut EndContext<'_>) -> bool {
    let waiting = cx.egress.peek(cx.now).map(|(class, len)| cx.state.queue_head(class, len));
    match end.poll_usual(cx.now, waiting) {
        Some(UsualTransmit::New(header)) => {
            let head = cx.take_head().expect("the head that was polled");
            send_new(end, cx, head, header);
        }
        Some(UsualTransmit::Control(header)) => {
            send_control(cx.lanes, cx.state, cx.now, PackedHeader::control(header));
        }
        None if waiting.is_none() && !end.has_pending() => return false,
        None => return send_unusual(end, cx, waiting),
    }
    true
}

/// Sends a dummy or an ACK frame. Returns when it has left.
#[inline]
pub(super) fn send_control(lanes: &mut Lanes, state: &mut EndState, now: Time, header: PackedHeader) -> Time {
    state.costs.own.add(u64::from(MIN_FRAME_BYTES));
    lanes.transmit_control(now, state.lane, header)
}

/// Sends a frame behind a header, and keeps a copy if one may be needed.
#[inline]
pub(super) fn send_new(
    end: &mut Endpoint<FrameId>,
    cx: &mut EndContext<'_>,
    head: QueuedFrame,
    header: DataHeader,
) {
    let added = LinkHeader::from(header).added_len() as u16;
    send_packed(end, cx, head, PackedHeader::data_header(header), added);
}

#[inline(never)]
fn send_packed(
    end: &mut Endpoint<FrameId>,
    cx: &mut EndContext<'_>,
    head: QueuedFrame,
    header: PackedHeader,
    added: u16,
) {
    let (id, lane, len) = (head.frame(), cx.state.lane, head.len() + added);
    let copy = copy_if_needed(end, cx, id, len);
    end.on_sent_with(cx.now, copy);
    cx.state.costs.header_bytes += u64::from(added);
    // The frame may not be in the cache; writing does not wait for it.
    let frame = cx.lanes.frames.get_mut(id);
    frame.len = len;
    frame.has_header = true;
    cx.lanes.headers.insert_packed(id, header);
    let cost = cx.lanes.frame_time(lane, len);
    cx.lanes.depart(cx.now, lane, id, (len, cost));
}

/// Keeps a copy of a frame that leaves with `len` bytes, header included, if it may be requested again.
///
/// What certainly passes the link arrives in order, and frames before it that were lost are settled when they are
/// acknowledged. So the receiver delivers it at once, unless a frame that had arrived behind a missing one was
/// discarded.
#[inline]
fn copy_if_needed(
    end: &Endpoint<FrameId>,
    cx: &mut EndContext<'_>,
    id: FrameId,
    len: u16,
) -> Option<FrameId> {
    let unacked = end.unacked();
    if !cx.lanes.ports[cx.state.lane.index()].will_pass(len) {
        cx.state.recovered_from = unacked.end + 1;
    }
    let is_needed = unacked.start < cx.state.recovered_from || cx.shared.has_discarded;
    is_needed.then(|| cx.lanes.keep_copy(id))
}

#[inline(never)]
fn send_unusual(end: &mut Endpoint<FrameId>, cx: &mut EndContext<'_>, head: Option<QueueHead>) -> bool {
    let Some(transmit) = end.poll_transmit(cx.now, head) else { return false };
    let id = match transmit {
        Transmit::Plain => {
            let Some(id) = cx.take_head().map(|head| head.frame()) else { return false };
            if cx.state.has_started() { cx.attach(id, Header::Unprotected) } else { id }
        }
        Transmit::New(signal) => {
            let Some(head) = cx.take_head() else { return false };
            let copy = copy_if_needed(end, cx, head.frame(), head.len() + signal.added_len() as u16);
            end.on_sent_with(cx.now, copy);
            cx.attach(head.frame(), Header::Link(signal))
        }
        Transmit::Retransmission(signal, kept) => {
            let id = cx.lanes.frames.duplicate(kept);
            let frame = cx.lanes.frames.get_mut(id);
            *frame = frame.as_retransmission();
            cx.state.costs.resent.add(u64::from(frame.len));
            cx.attach(id, Header::Link(signal))
        }
        Transmit::Control(signal) => {
            let id = cx.insert_link_frame(Frame::link_frame());
            cx.attach(id, Header::Link(signal))
        }
    };
    cx.lanes.transmit(cx.now, cx.state.lane, id);
    true
}

/// Processes the decisions of the endpoint.
pub(super) fn dispose(end: &mut Endpoint<FrameId>, cx: &mut EndContext<'_>) {
    while let Some(disposal) = end.poll() {
        match disposal {
            Disposal::Deliver(id) => cx.deliver(id),
            Disposal::Discard(id) => {
                let counters = end.counters();
                cx.shared.has_discarded |= counters.overflowed + counters.ignored > 0;
                cx.discard(id);
            }
            Disposal::Release(id) => {
                cx.lanes.release_copy(id);
            }
        }
    }
}
