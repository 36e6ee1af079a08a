//! How a switch spreads packets over ways of the same length, if not by a hash of the connection.
//!
//! Every switch draws from a stream of its own, so that what one does never depends on how many threads simulate the others.

use wiremend_units::{LaneId, Span, SwitchId, Time, mix, stream_seed};

use crate::network::{Way, purpose};

/// What the switches of a part remember.
pub(crate) struct Balancer {
    manner: Manner,
    /// By switch; draws so far move it on.
    random: Vec<u64>,
    /// By switch; made when it sees its first packet.
    flowlets: Vec<Vec<Flowlet>>,
    /// Kept between choices for its capacity.
    ties: Vec<LaneId>,
}

/// How a way is chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Manner {
    /// At random.
    Spray,
    /// Where the fewest bytes of the packet's class wait; of several such, at random.
    Adaptive,
    /// As the last packet of the connection, if that is no longer ago; else at random.
    Flowlet { gap: Span },
}

/// The last packet that a register saw: when, and which way of those that there were.
#[derive(Clone, Copy)]
struct Flowlet {
    last: Time,
    way: u16,
}

/// Registers of a switch, as hardware has them: connections are told apart by a hash, and some share one.
const FLOWLETS: usize = 1 << 14;

impl Balancer {
    pub(crate) fn new(manner: Manner, seed: u64, switches: usize) -> Self {
        let stream = |switch| stream_seed(seed, purpose::BALANCE, switch as u64);
        Self {
            manner,
            random: (0..switches).map(stream).collect(),
            flowlets: (0..switches).map(|_| Vec::new()).collect(),
            ties: Vec::new(),
        }
    }

    /// One of several ways for a packet; `queued`: what it would wait for at a port.
    #[inline]
    pub(crate) fn choose(
        &mut self,
        now: Time,
        switch: SwitchId,
        way: Way,
        lanes: &[LaneId],
        queued: impl FnMut(LaneId) -> u128,
    ) -> LaneId {
        if let [only] = lanes {
            return *only;
        }
        match self.manner {
            Manner::Spray => lanes[self.draw(switch, lanes.len())],
            Manner::Adaptive => self.least(switch, lanes, queued),
            Manner::Flowlet { gap } => self.same_or_new(now, switch, way, gap, lanes),
        }
    }

    fn least(
        &mut self,
        switch: SwitchId,
        lanes: &[LaneId],
        mut queued: impl FnMut(LaneId) -> u128,
    ) -> LaneId {
        let mut least = u128::MAX;
        self.ties.clear();
        for &lane in lanes {
            let queued = queued(lane);
            if queued < least {
                least = queued;
                self.ties.clear();
            }
            if queued == least {
                self.ties.push(lane);
            }
        }
        if let [only] = self.ties[..] {
            return only;
        }
        let drawn = self.draw(switch, self.ties.len());
        self.ties[drawn]
    }

    fn same_or_new(&mut self, now: Time, switch: SwitchId, way: Way, gap: Span, lanes: &[LaneId]) -> LaneId {
        let fresh = self.draw(switch, lanes.len()) as u16;
        let flowlets = &mut self.flowlets[switch.index()];
        if flowlets.is_empty() {
            flowlets.resize(FLOWLETS, Flowlet { last: Time::ZERO, way: u16::MAX });
        }
        let flowlet = &mut flowlets[(way.hash() >> 32) as usize % FLOWLETS];
        let is_over = now.since(flowlet.last) > gap || usize::from(flowlet.way) >= lanes.len();
        if is_over {
            flowlet.way = fresh;
        }
        flowlet.last = now;
        lanes[usize::from(flowlet.way)]
    }

    /// A number below `bound`.
    #[inline]
    fn draw(&mut self, switch: SwitchId, bound: usize) -> usize {
        let random = &mut self.random[switch.index()];
        *random = random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (((mix(*random) >> 32) * bound as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiremend_units::HostId;

    const LANES: [LaneId; 3] = [LaneId(4), LaneId(6), LaneId(9)];
    const SWITCH: SwitchId = SwitchId(1);
    const WAY: Way = Way { src: HostId(1), dst: HostId(2), entropy: 0xC001 };

    #[test]
    fn draws_are_even_and_each_switch_has_its_own() {
        let mut balancer = Balancer::new(Manner::Spray, 7, 2);
        let mut counts = [0; 3];
        (0..30_000).for_each(|_| counts[balancer.draw(SWITCH, 3)] += 1);
        assert!(counts.iter().all(|count: &i32| count.abs_diff(10_000) < 300), "{counts:?}");
        let mut other = Balancer::new(Manner::Spray, 7, 2);
        (0..99).for_each(|_| assert!(other.draw(SwitchId(0), 3) < 3));
        let mut fresh = Balancer::new(Manner::Spray, 7, 2);
        let draws = |balancer: &mut Balancer| (0..50).map(|_| balancer.draw(SWITCH, 100)).collect::<Vec<_>>();
        assert_eq!(draws(&mut other), draws(&mut fresh));
    }

    #[test]
    fn a_flowlet_keeps_its_way_until_a_gap() {
        let mut balancer = Balancer::new(Manner::Flowlet { gap: Span::from_us(50) }, 7, 2);
        let mut at =
            |us: u64| balancer.same_or_new(Time::from_ns(us * 1000), SWITCH, WAY, Span::from_us(50), &LANES);
        let first = at(1);
        assert!((2..40).all(|step| at(step * 50 - 49) == first || step == 2), "50 µs are no gap");
        let changed = (40..140).filter(|step| at(step * 51) != at(step * 51 + 1)).count();
        assert_eq!(changed, 0, "within a flowlet nothing changes");
        let mut ways: Vec<_> = (200..300).map(|step| at(step * 151)).collect();
        ways.sort_unstable();
        ways.dedup();
        assert_eq!(ways, LANES, "after gaps all ways are taken");
    }
}
