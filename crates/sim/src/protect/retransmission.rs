//! One end of a link with link-local retransmission: an endpoint of [`proto::link`](wiremend_proto::link)
//! whose handles are frame ids.

use wiremend_proto::link::{Disposal, Endpoint, QueueHead, Transmit};
use wiremend_units::Bytes;

use super::end_context::EndContext;
use crate::frame::{Frame, FrameId, Header};

#[inline]
pub(super) fn next(end: &mut Endpoint<FrameId>, cx: &mut EndContext<'_>) -> Option<FrameId> {
    let waiting = cx.egress.peek(cx.now).map(|(class, len)| QueueHead {
        len: Bytes::new(u64::from(len)),
        ordered: cx.state.ordered & (1 << class) != 0,
    });
    Some(match end.poll_transmit(cx.now, waiting)? {
        Transmit::Plain => {
            let id = cx.take_head()?;
            if cx.state.has_started() { cx.attach(id, Header::Unprotected) } else { id }
        }
        Transmit::New(signal) => {
            let id = cx.take_head()?;
            let kept = cx.lanes.keep_copy(id);
            end.on_sent(cx.now, kept);
            cx.attach(id, Header::Link(signal))
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
    })
}

/// Processes the decisions of the endpoint.
#[inline]
pub(super) fn dispose(end: &mut Endpoint<FrameId>, cx: &mut EndContext<'_>) {
    while let Some(disposal) = end.poll() {
        match disposal {
            Disposal::Deliver(id) => cx.deliver(id),
            Disposal::Discard(id) => {
                cx.discard(id);
            }
            Disposal::Release(id) => {
                cx.lanes.release_copy(id);
            }
        }
    }
}
