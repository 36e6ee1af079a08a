//! One end of a link with link-local retransmission: an endpoint of [`proto::link`](wiremend_proto::link) whose handles are frames.

use wiremend_proto::link::{Disposal, Endpoint, Transmit, Waiting};
use wiremend_units::Bytes;

use super::end::EndContext;
use crate::frame::{Frame, FrameId, Header};

/// The frame that leaves next.
#[inline]
pub(super) fn next(end: &mut Endpoint<FrameId>, cx: &mut EndContext<'_>) -> Option<FrameId> {
    let waiting = cx.egress.peek(cx.now).map(|(class, len)| Waiting {
        len: Bytes::new(u64::from(len)),
        ordered: cx.state.ordered & (1 << class) != 0,
    });
    Some(match end.poll_transmit(cx.now, waiting)? {
        Transmit::Plain => {
            let id = cx.take_head()?;
            if cx.state.has_started() { cx.attach(id, Header::Bare) } else { id }
        }
        Transmit::Fresh(signal) => {
            let id = cx.take_head()?;
            let kept = cx.lanes.keep_copy(id);
            end.on_sent(cx.now, kept);
            cx.attach(id, Header::Link(signal))
        }
        Transmit::Again(signal, kept) => {
            let id = cx.lanes.frames.duplicate(kept);
            let frame = cx.lanes.frames.get_mut(id);
            *frame = frame.sent_again();
            cx.state.costs.resent.add(u64::from(frame.len));
            cx.attach(id, Header::Link(signal))
        }
        Transmit::Own(signal) => {
            let id = cx.make_own(Frame::own());
            cx.attach(id, Header::Link(signal))
        }
    })
}

/// Does with handles what the end has decided.
#[inline]
pub(super) fn dispose(end: &mut Endpoint<FrameId>, cx: &mut EndContext<'_>) {
    while let Some(disposal) = end.poll() {
        match disposal {
            Disposal::Deliver(id) => cx.hand_on(id),
            Disposal::Discard(id) => {
                cx.take_away(id);
            }
            Disposal::Release(id) => {
                cx.lanes.release_copy(id);
            }
        }
    }
}
