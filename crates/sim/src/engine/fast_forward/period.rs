//! A candidate for the period of a pattern: the time after which the frames on lanes repeat.

use wiremend_proto::Packet;
use wiremend_units::{LaneId, Span, Time};

use crate::engine::Partition;
use crate::frame::{Body, Frame};

/// A frame on a lane: its time of arrival, and what distinguishes it from others.
type Passage = (Time, u64);

/// Finds the period of the frames that are on lanes now. That is longer than the pattern if connections send all the
/// time.
#[derive(Default)]
pub(super) struct PeriodFinder {
    frames: Vec<Passage>,
}

/// Watches the frames that arrive over some lanes for a while, to find longer periods: those of connections that wait
/// for acknowledgements.
pub(super) struct LaneWatch {
    lanes: Vec<(LaneId, Vec<Passage>)>,
}

/// The shortest period that some lanes have in common. It does not depend on the order of lanes.
#[derive(Default)]
struct CommonPeriod {
    /// 0: no lane has a period.
    all: u64,
    shortest: u64,
}

const LANES_MAX: usize = 64;
/// A lane is watched until this number of frames has arrived.
const PASSAGES_MAX: usize = 1024;
/// With fewer frames nothing is known about the period of a lane.
const FRAMES_MIN: usize = 3;
const PASSAGES_MIN: usize = 8;
/// A longer period is not looked for, in periods of the lane with the shortest.
const MULTIPLE_MAX: u64 = 16;

impl PeriodFinder {
    /// Returns the shortest time after which the frames on each lane repeat, as far as there are enough of them.
    pub(super) fn find<'a>(&mut self, partitions: impl Iterator<Item = &'a Partition>) -> Option<Span> {
        let mut common = CommonPeriod::default();
        for partition in partitions {
            for number in 0..partition.lanes.ports.len() {
                self.frames.clear();
                for (at, id) in partition.lanes.on_lane(LaneId(number as u32)) {
                    self.frames.push((at, facts(partition.lanes.frames.get(id))));
                }
                if self.frames.len() >= FRAMES_MIN {
                    common.add(period(&self.frames, 0)?)?;
                }
            }
        }
        common.get()
    }
}

impl LaneWatch {
    /// Watches lanes on which there are frames now.
    pub(super) fn new<'a>(partitions: impl Iterator<Item = &'a Partition>) -> Self {
        let mut used = Vec::new();
        for partition in partitions {
            let lanes = (0..partition.lanes.ports.len() as u32).map(LaneId);
            used.extend(lanes.filter(|lane| !partition.lanes.is_idle(*lane)));
        }
        used.sort_unstable();
        let step = used.len().div_ceil(LANES_MAX).max(1);
        Self { lanes: used.into_iter().step_by(step).map(|lane| (lane, Vec::new())).collect() }
    }

    /// Adds the frames that are on the watched lanes of a partition now, except those that were before. Frames that came
    /// and went in between are missed; a wrong period does no harm.
    pub(super) fn add(&mut self, partition: &Partition) {
        for (lane, passages) in &mut self.lanes {
            let last = passages.last().map_or(Time::ZERO, |(at, _)| *at);
            let frames = partition.lanes.on_lane(*lane).filter(|(at, _)| *at > last);
            passages.extend(frames.map(|(at, id)| (at, facts(partition.lanes.frames.get(id)))));
        }
    }

    /// Returns whether a lane has been watched long enough.
    pub(super) fn is_over(&self) -> bool {
        self.lanes.iter().any(|(_, passages)| passages.len() >= PASSAGES_MAX)
    }

    /// Returns the shortest time after which the frames repeat on each lane. Only the later half of the frames counts, so
    /// that the pattern may begin late.
    pub(super) fn period(&self) -> Option<Span> {
        let mut common = CommonPeriod::default();
        let passages = self.lanes.iter().map(|(_, passages)| passages);
        for passages in passages.filter(|passages| passages.len() >= PASSAGES_MIN) {
            common.add(period(passages, passages.len() / 2)?)?;
        }
        common.get()
    }
}

impl CommonPeriod {
    /// Adds the period of a lane. Returns `None` if the common period would be too long.
    fn add(&mut self, period: u64) -> Option<()> {
        if self.all == 0 {
            (self.all, self.shortest) = (period, period);
        }
        self.all = self.all / gcd(self.all, period) * period;
        self.shortest = self.shortest.min(period);
        (self.all <= self.shortest * MULTIPLE_MAX).then_some(())
    }

    fn get(&self) -> Option<Span> {
        (self.all > 0).then(|| Span::from_ps(self.all))
    }
}

/// Returns the shortest time after which the passages repeat, from passage number `start` on.
fn period(passages: &[Passage], start: usize) -> Option<u64> {
    // The comparison of states excludes what is wrong. To demand that half of the frames repeat avoids most of that.
    let lag_max = passages.len() / 2;
    let repeats = |lag: &usize| {
        let later = &passages[start.max(*lag)..];
        let earlier = &passages[start.max(*lag) - lag..];
        let period = later[0].0.since(earlier[0].0);
        later
            .iter()
            .zip(earlier)
            .all(|(later, earlier)| later.1 == earlier.1 && later.0.since(earlier.0) == period)
    };
    let lag = (1..=lag_max).find(repeats)?;
    let from = start.max(lag);
    Some(passages[from].0.since(passages[from - lag].0).as_ps()).filter(|period| *period > 0)
}

fn facts(frame: &Frame) -> u64 {
    let asks_for_ack = matches!(&frame.body, Body::Packet(Packet::Rc(packet)) if packet.ack_req());
    let addresses = u64::from(frame.src.0) << 40 ^ u64::from(frame.dst.0) << 17;
    addresses ^ u64::from(frame.len) << 1 ^ u64::from(asks_for_ack)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
