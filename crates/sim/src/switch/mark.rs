//! Marks that switches put on frames when their queue is long (ECN, by the curve of RED).
//!
//! A frame is judged when it comes to a port, by the time that what is before it there will take: the same for a port
//! that settles departures ahead and one that does not. Each port draws from a stream of its own.

use wiremend_units::{LaneId, Span, Time, mix, stream_seed};
use wiremend_wire::Ecn;

use crate::frame::FrameId;
use crate::link::Wires;
use crate::network::purpose;

/// The curve, and what each port has made of it.
pub(crate) struct Marking {
    curve: Curve,
    /// By lane.
    ports: Vec<Port>,
}

/// No mark up to `kmin` bytes, always one above `kmax`, and between them with a probability that rises from 0 to `pmax`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curve {
    pub(crate) kmin_bytes: u64,
    pub(crate) kmax_bytes: u64,
    /// In parts of 2³².
    pub(crate) pmax_parts: u64,
}

#[derive(Clone, Copy)]
struct Port {
    /// Draws so far move it on.
    random: u64,
    marked: u64,
}

impl Marking {
    pub(crate) fn new(curve: Curve, seed: u64, lanes: usize) -> Self {
        let port = |lane| Port { random: stream_seed(seed, purpose::MARKS, lane as u64), marked: 0 };
        Self { curve, ports: (0..lanes).map(port).collect() }
    }

    pub(crate) fn marked(&self, lane: LaneId) -> u64 {
        self.ports[lane.index()].marked
    }
}

impl Curve {
    /// Whether a frame is marked before which `queue` waits; `kmin` and `kmax` as times, and 32 random bits.
    fn marks(&self, queue: Span, kmin: Span, kmax: Span, draw: u64) -> bool {
        if queue > kmax {
            return true;
        }
        let (above, width) = (queue.as_ps() - kmin.as_ps(), kmax.as_ps() - kmin.as_ps());
        u128::from(draw) * u128::from(width) < u128::from(self.pmax_parts) * u128::from(above)
    }
}

impl Wires {
    /// Marks a frame that comes to a port where `queue` is before it, if the curve and chance want so.
    #[inline]
    pub(crate) fn mark(&mut self, lane: LaneId, id: FrameId, queue: Span) {
        let Some(marking) = &self.marking else { return };
        let kmin = self.ports[lane.index()].time_of(marking.curve.kmin_bytes, self.rate(lane));
        if queue > kmin {
            self.draw_mark(lane, id, queue, kmin);
        }
    }

    /// The same where a departure is settled at once.
    #[inline]
    pub(crate) fn mark_plain(&mut self, now: Time, lane: LaneId, id: FrameId) {
        let queue = self.ports[lane.index()].busy_until.since(now);
        self.mark(lane, id, queue);
    }

    /// The same where frames wait in classes.
    pub(crate) fn mark_waiting(&mut self, now: Time, lane: LaneId, id: FrameId) {
        if self.marking.is_some() {
            let class = self.frames.get(id).class;
            let egress = self.egresses[lane.index()].as_ref().expect("a port with an egress");
            let leaving = self.ports[lane.index()].busy_until.since(now);
            self.mark(lane, id, leaving + egress.backlog_of(class));
        }
    }

    #[cold]
    fn draw_mark(&mut self, lane: LaneId, id: FrameId, queue: Span, kmin: Span) {
        let rate = self.rate(lane);
        let frame = self.frames.get_mut(id);
        let marking = self.marking.as_mut().expect("a switch that marks");
        if frame.ecn == Ecn::NotCapable {
            return;
        }
        let kmax = self.ports[lane.index()].time_of(marking.curve.kmax_bytes, rate);
        let port = &mut marking.ports[lane.index()];
        port.random = port.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        if marking.curve.marks(queue, kmin, kmax, mix(port.random) >> 32) {
            port.marked += 1;
            frame.ecn = Ecn::Congested;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of draws that mark, in thousandths, at a queue of so many bytes on a line of a nanosecond a byte.
    fn share(queue_bytes: u64) -> u64 {
        let curve = Curve { kmin_bytes: 5_000, kmax_bytes: 200_000, pmax_parts: (1 << 32) / 100 };
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
    fn a_step_is_a_curve_too() {
        let curve = Curve { kmin_bytes: 100, kmax_bytes: 100, pmax_parts: 1 << 32 };
        assert!(curve.marks(Span::from_ns(101), Span::from_ns(100), Span::from_ns(100), u64::from(u32::MAX)));
    }
}
