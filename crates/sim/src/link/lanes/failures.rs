//! Lanes of links that fail at times.

use std::sync::Arc;

use wiremend_proto::Packet;
use wiremend_units::{LaneId, Time};

use super::Lanes;
use crate::frame::{Body, Frame, FrameId, LossCause};
use crate::link::WireFlags;
use crate::network::{FailedFrame, Failures, FlowKey};

impl Lanes {
    /// Lets links fail.
    pub(crate) fn fail(&mut self, failures: &Arc<Failures>) {
        for (lane, port) in self.ports.iter_mut().enumerate() {
            if failures.has(LaneId(lane as u32).link()) {
                port.flags.set(WireFlags::FAILS);
            }
        }
        self.failed = vec![0; self.ports.len()];
        self.failures = Some(Arc::clone(failures));
    }

    /// Returns when the link of a lane fails next.
    pub(crate) fn next_failure(&self, now: Time, lane: LaneId) -> Time {
        let failures = self.failures.as_ref();
        failures.and_then(|failures| failures.next_failure(lane.link(), now)).unwrap_or(Time::MAX)
    }

    /// Returns the loss of a frame that is on its way while the link has failed.
    #[inline(never)]
    pub(super) fn failure(&self, start: Time, lane: LaneId, at: Time, id: FrameId) -> Option<LossCause> {
        let frame = self.frames.get(id);
        let key = FlowKey { src: frame.src, dst: frame.dst, entropy: frame.entropy };
        let key = (!matches!(frame.body, Body::Link)).then_some(key);
        let is_lost = self.failures.as_ref().is_some_and(|all| all.is_lost(lane.link(), start, at, key));
        let is_response = frame.packet().is_some_and(Packet::is_response);
        is_lost.then_some(LossCause::Failure { is_response })
    }

    /// Discards a frame at the time at which it would have arrived over a link that has failed.
    #[cold]
    pub(crate) fn discard_failed(&mut self, at: Time, lane: LaneId, id: FrameId, is_response: bool) {
        self.failed[lane.index()] += 1;
        if self.frames.get(id).has_header {
            self.headers.remove(id);
        }
        self.headers.detach(id);
        let Frame { src, dst, serial, .. } = self.frames.remove(id);
        // Frames without a connection have no number.
        if serial != 0 {
            self.failed_frames.push(FailedFrame {
                at,
                requester: if is_response { dst } else { src },
                serial,
            });
        }
    }
}
