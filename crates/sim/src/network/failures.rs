//! Links that fail at times, and the routes around them.
//!
//! Whether a link has failed, and which routes switches use, depends on time alone. So failures need no events, and
//! neither threads nor the order of events change what they do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use wiremend_fabric::{Graph, LinkRole, Routes};
use wiremend_units::{HostId, LaneId, LinkId, Span, SwitchId, Time, mix};

use super::FlowKey;

/// The failures of a run.
pub(crate) struct Failures {
    /// By link.
    outages: Vec<Vec<Outages>>,
    /// Starts of the times in which the same links are avoided, and the number of their set.
    epochs: Vec<(Time, u32)>,
    /// Sets of links that routing avoids. The first one is empty.
    avoided: Vec<Vec<LinkId>>,
    /// Routes by set, made at the first use.
    routes: Vec<OnceLock<Routes>>,
}

/// The times at which a link loses frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Outages {
    /// Start and end of each, in order.
    pub(crate) times: Vec<(Time, Time)>,
    /// The lost flows; `None`: all.
    pub(crate) gray: Option<GrayFlows>,
    /// When routing reacts; `None`: never.
    pub(crate) reaction: Option<Reaction>,
}

/// A share of flows, chosen by a hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GrayFlows {
    /// Flows with a smaller hash are lost.
    pub(crate) below: u32,
    pub(crate) salt: u64,
}

/// The delays of routing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reaction {
    /// A change that lasts this long is detected.
    pub(crate) detect: Span,
    /// Time from the detection until all switches use the new routes.
    pub(crate) reroute: Span,
}

impl GrayFlows {
    fn has(self, key: FlowKey) -> bool {
        (mix(key.flow() ^ self.salt) >> 32) < u64::from(self.below)
    }
}

impl Outages {
    /// Returns the first outage that ends after `at`.
    fn next(&self, at: Time) -> Option<(Time, Time)> {
        self.times.get(self.times.partition_point(|(_, until)| *until <= at)).copied()
    }

    /// Returns the times at which routing avoids the link.
    fn avoided(&self) -> Vec<(Time, Time)> {
        let Some(Reaction { detect, reroute }) = self.reaction else { return Vec::new() };
        let mut avoided: Vec<(Time, Time)> = Vec::new();
        let mut is_avoided = false;
        for (number, (from, until)) in self.times.iter().enumerate() {
            let next = self.times.get(number + 1).map_or(Time::MAX, |(from, _)| *from);
            if !is_avoided && until.since(*from) >= detect {
                avoided.push((from.saturating_add(detect + reroute), Time::MAX));
                is_avoided = true;
            }
            if is_avoided && next.since(*until) >= detect {
                let last = avoided.last_mut().expect("the link is avoided");
                last.1 = until.saturating_add(detect + reroute);
                is_avoided = false;
            }
        }
        avoided
    }
}

impl Failures {
    /// Failures of links; routing around failed links between hosts and switches is not possible.
    pub(crate) fn new(graph: &Graph, outages: Vec<Vec<Outages>>) -> Self {
        let mut changes: BTreeMap<Time, Vec<(LinkId, bool)>> = BTreeMap::new();
        for (link, outages) in outages.iter().enumerate() {
            let link = LinkId(link as u32);
            if graph.link_role(link) == LinkRole::Host {
                continue;
            }
            for (from, until) in outages.iter().flat_map(Outages::avoided) {
                changes.entry(from).or_default().push((link, true));
                changes.entry(until).or_default().push((link, false));
            }
        }
        changes.remove(&Time::MAX);
        let mut numbers = BTreeMap::from([(Vec::new(), 0)]);
        let (mut epochs, mut counts) = (vec![(Time::ZERO, 0)], BTreeMap::<LinkId, i32>::new());
        for (at, changed) in changes {
            for (link, is_avoided) in changed {
                *counts.entry(link).or_default() += if is_avoided { 1 } else { -1 };
            }
            counts.retain(|_, count| *count != 0);
            let next = numbers.len() as u32;
            let number = *numbers.entry(counts.keys().copied().collect()).or_insert(next);
            epochs.push((at, number));
        }
        let mut avoided = vec![Vec::new(); numbers.len()];
        for (links, number) in numbers {
            avoided[number as usize] = links;
        }
        let routes = avoided.iter().map(|_| OnceLock::new()).collect();
        Self { outages, epochs, avoided, routes }
    }

    /// Returns whether a link ever fails.
    pub(crate) fn has(&self, link: LinkId) -> bool {
        !self.outages[link.index()].is_empty()
    }

    /// Returns whether a frame that starts at `start` and arrives at `arrive` is lost. `key` is `None` for a frame that
    /// belongs to the link itself.
    pub(crate) fn is_lost(&self, link: LinkId, start: Time, arrive: Time, key: Option<FlowKey>) -> bool {
        self.outages[link.index()].iter().any(|outages| {
            let is_down = outages.next(start).is_some_and(|(from, _)| from < arrive);
            is_down && outages.gray.is_none_or(|flows| key.is_some_and(|key| flows.has(key)))
        })
    }

    /// Returns the next time after `now` at which a link fails for all flows.
    pub(crate) fn next_failure(&self, link: LinkId, now: Time) -> Option<Time> {
        let whole = self.outages[link.index()].iter().filter(|outages| outages.gray.is_none());
        let starts = whole.filter_map(|outages| {
            outages.times.get(outages.times.partition_point(|(from, _)| *from <= now)).map(|(from, _)| *from)
        });
        starts.min()
    }

    /// Returns the lanes from a switch towards a host that routing uses at a time; empty if there are none.
    pub(crate) fn next_hops<'a>(
        &'a self,
        now: Time,
        graph: &Graph,
        usual: &'a Routes,
        switch: SwitchId,
        dst: HostId,
    ) -> &'a [LaneId] {
        let epoch = self.epochs.partition_point(|(from, _)| *from <= now) - 1;
        let set = self.epochs[epoch].1 as usize;
        let avoided = &self.avoided[set];
        let routes = if avoided.is_empty() {
            usual
        } else {
            self.routes[set].get_or_init(|| {
                let avoided: BTreeSet<LinkId> = avoided.iter().copied().collect();
                Routes::avoiding(graph, &avoided)
            })
        };
        routes.next_hops(switch, dst)
    }

    /// Returns how many links have failed before `end`, and how often.
    pub(crate) fn counts(&self, end: Time) -> (u64, u64) {
        let of_link = |outages: &Vec<Outages>| -> u64 {
            outages.iter().map(|outages| outages.times.partition_point(|(from, _)| *from < end) as u64).sum()
        };
        let counts: Vec<u64> = self.outages.iter().map(of_link).filter(|count| *count > 0).collect();
        (counts.len() as u64, counts.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiremend_fabric::{Cable, Cables, Topology};
    use wiremend_units::Rate;

    fn at_us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn outages(times: &[(u64, u64)], detect: u64) -> Outages {
        let at = at_us;
        Outages {
            times: times.iter().map(|(from, until)| (at(*from), at(*until))).collect(),
            gray: None,
            reaction: Some(Reaction { detect: Span::from_us(detect), reroute: Span::from_us(1) }),
        }
    }

    #[test]
    fn routing_avoids_a_link_some_time_after_each_change_that_lasts() {
        let avoided = |times: &[(u64, u64)], detect| outages(times, detect).avoided();
        let at = at_us;
        assert_eq!(avoided(&[(10, 30)], 5), [(at(16), at(36))]);
        assert_eq!(avoided(&[(10, 14)], 5), [], "it is over before it is detected");
        assert_eq!(avoided(&[(10, 30), (33, 60)], 5), [(at(16), at(66))], "nobody sees that it was up");
        assert_eq!(avoided(&[(10, 30), (50, 52), (70, 80)], 5), [(at(16), at(36)), (at(76), at(86))]);
        assert_eq!(avoided(&[(10, 20), (40, 50)], 0), [(at(11), at(21)), (at(41), at(51))]);
        let forever = Outages { times: vec![(at(3), Time::MAX)], ..outages(&[], 5) };
        assert_eq!(forever.avoided(), [(at(9), Time::MAX)]);
    }

    #[test]
    fn a_frame_is_lost_if_the_link_is_down_while_it_is_on_its_way() {
        let cable = Cable { rate: Rate::gbps(100), delay: Span::from_us(1) };
        let graph = Topology::Pair.build(Cables { host: cable, switch: cable }).expect("a pair is a network");
        let all = vec![vec![outages(&[(10, 20)], 5)], Vec::new()];
        let failures = Failures::new(&graph, all);
        let at = at_us;
        let lost = |start, arrive| failures.is_lost(LinkId(0), at(start), at(arrive), None);
        let on_its_way = [(1, 10), (1, 11), (12, 13), (19, 25), (20, 25)].map(|(from, to)| lost(from, to));
        assert_eq!(on_its_way, [false, true, true, true, false]);
        assert!(!failures.is_lost(LinkId(1), at(12), at(13), None));
        assert_eq!(failures.next_failure(LinkId(0), at(9)), Some(at(10)));
        assert_eq!(failures.next_failure(LinkId(0), at(10)), None);
        assert_eq!((failures.counts(at(10)), failures.counts(at(11))), ((0, 0), (1, 1)));
    }

    #[test]
    fn the_share_of_gray_flows_is_as_asked_for() {
        let flows = GrayFlows { below: (0.25 * 4_294_967_296.0) as u32, salt: 7 };
        let key = |entropy| FlowKey { src: HostId(1), dst: HostId(2), entropy };
        let lost = (0..=u16::MAX).filter(|entropy| flows.has(key(*entropy))).count();
        assert!((15_900..16_900).contains(&lost), "{lost} of 65536");
    }
}
