//! Load balancing of switches over equal-cost paths, beyond ECMP.
//!
//! Every switch has its own random stream, so that its choices do not depend on the number of threads.

use wiremend_units::{LaneId, Span, SwitchId, Time, mix, stream_seed};

use crate::network::{FlowKey, purpose};

/// State of the load balancers of a partition.
pub(crate) struct Balancer {
    policy: BalancePolicy,
    /// Random state, by switch.
    random: Vec<u64>,
    /// Flowlet tables, by switch; allocated at the first packet.
    flowlets: Vec<Vec<Flowlet>>,
    /// Reused between calls.
    ties: Vec<LaneId>,
}

/// How a lane is chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BalancePolicy {
    Spray,
    /// The lane with the fewest queued bytes of the packet's class; ties are broken at random.
    Adaptive,
    /// The lane of the connection's last packet, if that is at most `gap` ago; otherwise at random.
    Flowlet {
        gap: Span,
    },
}

/// The last packet in a table entry: its time, and the index of its lane.
#[derive(Clone, Copy)]
struct Flowlet {
    last: Time,
    choice: u16,
}

/// Flowlet table entries of a switch. As in hardware, a hash of the connection selects the entry, and
/// connections may share one.
const FLOWLETS: usize = 1 << 14;

impl Balancer {
    pub(crate) fn new(policy: BalancePolicy, seed: u64, switches: usize) -> Self {
        let stream = |switch| stream_seed(seed, purpose::BALANCE, switch as u64);
        Self {
            policy,
            random: (0..switches).map(stream).collect(),
            flowlets: (0..switches).map(|_| Vec::new()).collect(),
            ties: Vec::new(),
        }
    }

    /// Chooses a lane for a packet; `queued` returns the queue that it would find at a port.
    #[inline]
    pub(crate) fn choose(
        &mut self,
        now: Time,
        switch: SwitchId,
        key: FlowKey,
        lanes: &[LaneId],
        queued: impl FnMut(LaneId) -> u128,
    ) -> LaneId {
        if let [only] = lanes {
            return *only;
        }
        match self.policy {
            BalancePolicy::Spray => lanes[self.draw(switch, lanes.len())],
            BalancePolicy::Adaptive => self.least_queued(switch, lanes, queued),
            BalancePolicy::Flowlet { gap } => self.flowlet_lane(now, switch, key, gap, lanes),
        }
    }

    fn least_queued(
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

    fn flowlet_lane(
        &mut self,
        now: Time,
        switch: SwitchId,
        key: FlowKey,
        gap: Span,
        lanes: &[LaneId],
    ) -> LaneId {
        let fresh = self.draw(switch, lanes.len()) as u16;
        let flowlets = &mut self.flowlets[switch.index()];
        if flowlets.is_empty() {
            flowlets.resize(FLOWLETS, Flowlet { last: Time::ZERO, choice: u16::MAX });
        }
        let flowlet = &mut flowlets[(key.hash() >> 32) as usize % FLOWLETS];
        let is_over = now.since(flowlet.last) > gap || usize::from(flowlet.choice) >= lanes.len();
        if is_over {
            flowlet.choice = fresh;
        }
        flowlet.last = now;
        lanes[usize::from(flowlet.choice)]
    }

    /// Draws a number below `bound`.
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
    const KEY: FlowKey = FlowKey { src: HostId(1), dst: HostId(2), entropy: 0xC001 };

    #[test]
    fn draws_are_uniform_and_independent_per_switch() {
        let mut balancer = Balancer::new(BalancePolicy::Spray, 7, 2);
        let mut counts = [0; 3];
        (0..30_000).for_each(|_| counts[balancer.draw(SWITCH, 3)] += 1);
        assert!(counts.iter().all(|count: &i32| count.abs_diff(10_000) < 300), "{counts:?}");
        let mut other = Balancer::new(BalancePolicy::Spray, 7, 2);
        (0..99).for_each(|_| assert!(other.draw(SwitchId(0), 3) < 3));
        let mut fresh = Balancer::new(BalancePolicy::Spray, 7, 2);
        let draws = |balancer: &mut Balancer| (0..50).map(|_| balancer.draw(SWITCH, 100)).collect::<Vec<_>>();
        assert_eq!(draws(&mut other), draws(&mut fresh));
    }

    #[test]
    fn a_flowlet_keeps_its_lane_until_a_gap() {
        let mut balancer = Balancer::new(BalancePolicy::Flowlet { gap: Span::from_us(50) }, 7, 2);
        let mut at =
            |us: u64| balancer.flowlet_lane(Time::from_ns(us * 1000), SWITCH, KEY, Span::from_us(50), &LANES);
        let first = at(1);
        assert!((2..40).all(|step| at(step * 50 - 49) == first || step == 2), "50 µs is not a gap");
        let changed = (40..140).filter(|step| at(step * 51) != at(step * 51 + 1)).count();
        assert_eq!(changed, 0, "a flowlet keeps its lane");
        let mut chosen: Vec<_> = (200..300).map(|step| at(step * 151)).collect();
        chosen.sort_unstable();
        chosen.dedup();
        assert_eq!(chosen, LANES, "gaps lead to all lanes");
    }
}
