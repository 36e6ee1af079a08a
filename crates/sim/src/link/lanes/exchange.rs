//! The exchange of frames with other partitions. On two threads a sixth of the packet-hops of a permutation goes this
//! way, so the receiver prefetches where it will put each frame.

use wiremend_units::{LaneId, Time};

use super::Lanes;
use crate::event::EventSource;
use crate::frame::FrameId;
use crate::link::Outbox;
use crate::link::outbox::InFlight;
use crate::memory::prefetch;

/// How many frames ahead the receiver prefetches a lane, then (nearer) its ring's next entry.
const LANES_AHEAD: usize = 12;
const ENTRIES_AHEAD: usize = 6;

impl Lanes {
    /// Moves a frame to the outbox of the partition in which its lane ends.
    pub(super) fn hand_over(&mut self, lane: LaneId, at: Time, id: FrameId) {
        let outbox = &mut self.outbox[usize::from(self.ports[lane.index()].to_partition)];
        if let Some(feedback) = self.frames.detach(id) {
            outbox.feedback.push((outbox.frames.len(), feedback));
        }
        let frame = self.frames.remove(id);
        if frame.has_header {
            let packed = self.headers.packed(id);
            let fits = self.headers.large(id).is_none();
            outbox.headers.push(fits.then_some(packed));
            if !fits {
                outbox.large.push((self.headers.remove(id), self.headers.detach(id)));
            }
        }
        outbox.frames.push(InFlight { lane, at, frame });
    }

    /// Takes over the frames that another partition has sent.
    pub(crate) fn take_over(&mut self, outbox: &mut Outbox) {
        let mut feedback = outbox.feedback.drain(..).peekable();
        let mut headers = outbox.headers.drain(..);
        let mut large = outbox.large.drain(..);
        for (place, InFlight { lane, at, frame }) in outbox.frames.iter().enumerate() {
            if let Some(ahead) = outbox.frames.get(place + LANES_AHEAD) {
                prefetch(&self.rings[ahead.lane.index()]);
                self.queue.prefetch(EventSource(ahead.lane.0));
                self.prefetch_free(LANES_AHEAD);
            }
            if let Some(ahead) = outbox.frames.get(place + ENTRIES_AHEAD) {
                self.rings[ahead.lane.index()].prefetch_end(&self.pool);
            }
            let id = self.frames.insert(*frame);
            if frame.has_header {
                if let Some(packed) = headers.next().expect("a frame with a header") {
                    self.headers.insert_packed(id, packed);
                } else {
                    let (header, block) = large.next().expect("a header that did not fit");
                    self.headers.insert(id, header);
                    if let Some(block) = block {
                        self.headers.attach(id, block);
                    }
                }
            }
            if let Some((_, feedback)) = feedback.next_if(|(of, _)| *of == place) {
                self.frames.attach(id, feedback);
            }
            self.carry(*lane, *at, id);
        }
        drop((feedback, headers, large));
        outbox.frames.clear();
        for (lane, at, header) in outbox.controls.drain(..) {
            self.receive_control(lane, at, header);
        }
    }

    /// Prefetches the slot that a frame will get after `ahead` others.
    #[inline]
    fn prefetch_free(&self, ahead: usize) {
        if let Some(id) = self.frames.free_slot(ahead) {
            self.frames.prefetch(id);
            self.headers.prefetch(id);
        }
    }

    /// Returns the outbox to the sender over `lane`, if it belongs to another partition.
    pub(crate) fn outbox_of_sender(&mut self, lane: LaneId) -> Option<&mut Outbox> {
        let back = &self.ports[lane.reverse().index()];
        back.is_remote().then(|| &mut self.outbox[usize::from(back.to_partition)])
    }
}
