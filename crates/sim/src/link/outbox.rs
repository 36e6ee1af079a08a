//! Frames that leave a partition: they wait in an outbox until all partitions have simulated a window.
//!
//! The arrays are written and read in sequence: the processors of two threads exchange each cache line once.

use wiremend_proto::cc::Feedback;
use wiremend_units::{LaneId, Time};

use crate::frame::{Frame, Header, PackedHeader, ParityBlock};
use crate::network::Notice;

/// Frames and notices for another partition.
#[derive(Default)]
pub(crate) struct Outbox {
    pub(super) frames: Vec<InFlight>,
    /// Dummies and ACKs for lanes whose control frames have no events.
    pub(super) controls: Vec<(LaneId, Time, PackedHeader)>,
    pub(crate) notices: Vec<Notice>,
    /// Ends of protected links that must start: the lane that they send over, and the time.
    pub(crate) starts: Vec<(LaneId, Time)>,
    /// Headers of the frames that have one, in order; `None` for those that do not fit.
    pub(super) headers: Vec<Option<PackedHeader>>,
    /// The headers that do not fit, in order.
    pub(super) large: Vec<(Header, Option<ParityBlock>)>,
    /// Feedback of frames, by position among the frames.
    pub(super) feedback: Vec<(usize, Box<Feedback>)>,
}

/// A frame in flight to another partition, and its arrival time.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) lane: LaneId,
    pub(super) at: Time,
    pub(super) frame: Frame,
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
            && self.controls.is_empty()
            && self.notices.is_empty()
            && self.starts.is_empty()
    }

    /// Returns the number of frames.
    pub(super) fn len(&self) -> usize {
        self.frames.len() + self.controls.len()
    }

    #[inline]
    pub(super) fn push_control(&mut self, lane: LaneId, at: Time, header: PackedHeader) {
        self.controls.push((lane, at, header));
    }
}
