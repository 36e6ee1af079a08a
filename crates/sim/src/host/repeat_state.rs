//! The state of a host on which the repetition of a pattern depends.

use wiremend_proto::engine::StateVisitor;

use super::{Host, HostCounters};
use crate::event::EventSource;
use crate::frame::frame_sequence;
use crate::link::Lanes;

impl Host {
    /// Visits the state. Applications are not part of it: an event that changes one ends the pattern.
    pub(crate) fn visit_state(&mut self, visitor: &mut impl StateVisitor) {
        let frames = frame_sequence(self.id);
        self.counters.visit_state(visitor, frames);
        visitor.exact(self.opened);
        visitor.exact(self.notices);
        visitor.absent(self.processor.is_none());
        visitor.length(self.inbox.len());
        visitor.length(self.timers.len());
        visitor.length(self.free.len());
        visitor.length(self.connections.len());
        for connection in &mut self.connections {
            connection.visit_state(visitor, self.id);
        }
        self.responders.visit_state(visitor);
        self.nic.visit_state(visitor, frames);
    }

    /// The sources of a host's events that end a pattern.
    pub(crate) fn boundaries(&self, lanes: &Lanes) -> [EventSource; 3] {
        let sources = &lanes.sources;
        [sources.app(self.id), sources.timer(self.id), sources.inbox(self.id)]
    }
}

impl HostCounters {
    fn visit_state(&mut self, visitor: &mut impl StateVisitor, frames: u64) {
        visitor.sequence(frames, &mut self.tx_frames, u64::MAX);
        visitor.counter(&mut self.rx_frames);
        for rare in [
            self.duplicates,
            self.retransmitted_packets,
            self.naks,
            self.nak_copies,
            self.extra_bytes,
            self.late_frames,
            self.raw_refused,
            self.raw_frames,
            self.cnps_sent,
            self.cnps_received,
            self.delivered_messages,
            self.headers_bounced,
            self.headers_returned,
        ] {
            visitor.exact(rare);
        }
    }
}
