//! ECN marking by the curve of RED.
//!
//! A frame is marked on arrival at a port, by the transmission time of the frames before it. This is the same
//! for ports that fix departures ahead and those that do not. Each port has its own random stream.

use wiremend_units::{LaneId, Span, mix, stream_seed};
use wiremend_wire::Ecn;

use crate::frame::FrameId;
use crate::link::Lanes;
use crate::network::purpose;

/// The curve, and the state of each port.
pub(crate) struct Marking {
    curve: RedCurve,
    /// By lane.
    ports: Vec<MarkingPort>,
}

/// No mark up to `kmin` bytes, always a mark above `kmax`, and between them with a probability that rises
/// from 0 to `pmax`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RedCurve {
    pub(crate) kmin_bytes: u64,
    pub(crate) kmax_bytes: u64,
    /// In parts of 2³².
    pub(crate) pmax_parts: u64,
}

#[derive(Clone, Copy)]
struct MarkingPort {
    random: u64,
    marked: u64,
}

impl Marking {
    pub(crate) fn new(curve: RedCurve, seed: u64, lanes: usize) -> Self {
        let port = |lane| MarkingPort { random: stream_seed(seed, purpose::MARKS, lane as u64), marked: 0 };
        Self { curve, ports: (0..lanes).map(port).collect() }
    }

    pub(crate) fn marked(&self, lane: LaneId) -> u64 {
        self.ports[lane.index()].marked
    }

    /// Marks a frame that finds `queue` before it at a port, with the probability of the curve.
    #[inline]
    pub(crate) fn on_frame(&mut self, lanes: &mut Lanes, lane: LaneId, id: FrameId, queue: Span) {
        let kmin = lanes.wire_time(lane, self.curve.kmin_bytes);
        if queue > kmin {
            self.draw(lanes, lane, id, queue, kmin);
        }
    }

    #[cold]
    fn draw(&mut self, lanes: &mut Lanes, lane: LaneId, id: FrameId, queue: Span, kmin: Span) {
        let kmax = lanes.wire_time(lane, self.curve.kmax_bytes);
        let frame = lanes.frame_mut(id);
        if frame.ecn() == Ecn::NotEct {
            return;
        }
        let port = &mut self.ports[lane.index()];
        port.random = port.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        if self.curve.marks(queue, kmin, kmax, mix(port.random) >> 32) {
            port.marked += 1;
            frame.mark();
        }
    }
}

impl RedCurve {
    /// Returns whether a frame behind `queue` is marked; `kmin` and `kmax` are times, `draw` has 32 random
    /// bits.
    fn marks(&self, queue: Span, kmin: Span, kmax: Span, draw: u64) -> bool {
        if queue > kmax {
            return true;
        }
        let (above, width) = (queue.as_ps() - kmin.as_ps(), kmax.as_ps() - kmin.as_ps());
        u128::from(draw) * u128::from(width) < u128::from(self.pmax_parts) * u128::from(above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the share of marked frames in thousandths, for a queue of `queue_bytes` at one nanosecond per
    /// byte.
    fn share(queue_bytes: u64) -> u64 {
        let curve = RedCurve { kmin_bytes: 5_000, kmax_bytes: 200_000, pmax_parts: (1 << 32) / 100 };
        let time = |bytes: u64| Span::from_ns(bytes);
        let marked = (0..100_000_u64).filter(|step| {
            let draw = mix(*step) >> 32;
            queue_bytes > curve.kmin_bytes
                && curve.marks(time(queue_bytes), time(curve.kmin_bytes), time(curve.kmax_bytes), draw)
        });
        marked.count() as u64 / 100
    }

    #[test]
    fn the_curve_rises_from_kmin_to_kmax_and_is_certain_above() {
        assert_eq!((share(0), share(5_000), share(5_001)), (0, 0, 0));
        assert!((4..=6).contains(&share(102_500)), "half of one percent: {}", share(102_500));
        assert!((9..=11).contains(&share(200_000)));
        assert_eq!((share(200_001), share(900_000)), (1_000, 1_000));
    }

    #[test]
    fn a_step_is_a_valid_curve() {
        let curve = RedCurve { kmin_bytes: 100, kmax_bytes: 100, pmax_parts: 1 << 32 };
        assert!(curve.marks(Span::from_ns(101), Span::from_ns(100), Span::from_ns(100), u64::from(u32::MAX)));
    }
}
