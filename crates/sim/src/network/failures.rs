//! Links that fail at times, and the routes around them.
//!
//! Whether a link has failed, and which routes switches use, depends on time alone. So failures need no events, and
//! neither threads nor the order of events change what they do.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::OnceLock;

use wiremend_fabric::{Graph, LinkRole, Node, Routes};
use wiremend_units::{HostId, LaneId, LinkId, Span, SwitchId, Time, mix};

use super::FlowKey;

/// The failures of a run.
pub(crate) struct Failures {
    /// By link.
    outages: Vec<Vec<Outages>>,
    /// Starts of the times in which the same links are avoided, and the number of their set: one list for all
    /// switches, or one for each if routing converges hop by hop.
    epochs: Vec<Vec<(Time, u32)>>,
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
    /// Bytes that a port keeps until then.
    pub(crate) cache: u64,
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
    /// Time from the detection until the switches at the link use the new routes.
    pub(crate) reroute: Span,
    /// How much later each further hop does.
    pub(crate) per_hop: Span,
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

    /// Returns the times at which a switch with this distance from the link avoids it.
    fn avoided(&self, hops: u32) -> Vec<(Time, Time)> {
        let Some(Reaction { detect, reroute, per_hop }) = self.reaction else { return Vec::new() };
        let later = Span::from_ps(per_hop.as_ps().saturating_mul(u64::from(hops)));
        let reaction = |at: Time| at.saturating_add(detect).saturating_add(reroute).saturating_add(later);
        let mut avoided: Vec<(Time, Time)> = Vec::new();
        let mut is_avoided = false;
        for (number, (from, until)) in self.times.iter().enumerate() {
            let next = self.times.get(number + 1).map_or(Time::MAX, |(from, _)| *from);
            if !is_avoided && until.since(*from) >= detect {
                avoided.push((reaction(*from), Time::MAX));
                is_avoided = true;
            }
            if is_avoided && next.since(*until) >= detect {
                let last = avoided.last_mut().expect("the link is avoided");
                last.1 = reaction(*until);
                is_avoided = false;
            }
        }
        avoided
    }
}

impl Failures {
    /// Failures of links; routing around failed links between hosts and switches is not possible.
    pub(crate) fn new(graph: &Graph, outages: Vec<Vec<Outages>>) -> Self {
        let is_slow = |outages: &Outages| outages.reaction.is_some_and(|of| of.per_hop > Span::ZERO);
        let is_hop_by_hop = outages.iter().flatten().any(is_slow);
        let mut numbers = BTreeMap::from([(Vec::new(), 0)]);
        let mut changes =
            vec![BTreeMap::new(); if is_hop_by_hop { graph.switch_count() as usize } else { 1 }];
        for (link, outages) in outages.iter().enumerate().filter(|(_, outages)| !outages.is_empty()) {
            let link = LinkId(link as u32);
            if graph.link_role(link) == LinkRole::Host {
                continue;
            }
            let hops = if is_hop_by_hop { distances(graph, link) } else { vec![0] };
            for (changes, hops) in changes.iter_mut().zip(hops) {
                for (from, until) in outages.iter().flat_map(|outages| outages.avoided(hops)) {
                    changes.entry(from).or_insert_with(Vec::new).push((link, true));
                    changes.entry(until).or_insert_with(Vec::new).push((link, false));
                }
            }
        }
        let epochs = changes.into_iter().map(|changes| epochs(changes, &mut numbers)).collect();
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

    /// Returns when a port may send a frame over another path that is lost between `start` and `arrive`, and the bytes that
    /// it keeps until then; `None` if it keeps nothing.
    pub(crate) fn resend(&self, link: LinkId, start: Time, arrive: Time) -> Option<(Time, u64)> {
        self.outages[link.index()].iter().filter(|outages| outages.cache > 0).find_map(|outages| {
            let (from, until) = outages.next(start).filter(|(from, _)| *from < arrive)?;
            let Reaction { detect, reroute, .. } = outages.reaction?;
            let is_detected = until.since(from) >= detect;
            let at = from.saturating_add(detect).saturating_add(reroute).max(start);
            is_detected.then_some((at, outages.cache))
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
        let epochs = self.epochs.get(switch.index()).unwrap_or(&self.epochs[0]);
        let set = epochs[epochs.partition_point(|(from, _)| *from <= now) - 1].1 as usize;
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

/// Returns the times at which the set of avoided links changes, each with the number of the set.
fn epochs(
    mut changes: BTreeMap<Time, Vec<(LinkId, bool)>>,
    numbers: &mut BTreeMap<Vec<LinkId>, u32>,
) -> Vec<(Time, u32)> {
    changes.remove(&Time::MAX);
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
    epochs
}

/// Returns the hops from the nearer end of a link to each switch, over the other links. A switch that has no such path
/// counts as the farthest.
fn distances(graph: &Graph, failed: LinkId) -> Vec<u32> {
    let mut hops = vec![None; graph.switch_count() as usize];
    let mut queue = VecDeque::new();
    let mut reach = |node, distance, queue: &mut VecDeque<_>| {
        if let Node::Switch(switch) = graph.node(node)
            && hops[switch.index()].is_none()
        {
            hops[switch.index()] = Some(distance);
            queue.push_back((node, distance));
        }
    };
    let lane = failed.forward();
    for end in [graph.lane_from(lane), graph.lane_to(lane)] {
        reach(end, 0, &mut queue);
    }
    while let Some((node, distance)) = queue.pop_front() {
        for lane in graph.ports(node).iter().filter(|lane| lane.link() != failed) {
            reach(graph.lane_to(*lane), distance + 1, &mut queue);
        }
    }
    let farthest = hops.iter().flatten().copied().max().unwrap_or(0);
    hops.into_iter().map(|hops| hops.unwrap_or(farthest)).collect()
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
            reaction: Some(Reaction {
                detect: Span::from_us(detect),
                reroute: Span::from_us(1),
                per_hop: Span::ZERO,
            }),
            cache: 0,
        }
    }

    #[test]
    fn lost_frames_are_sent_again_when_routing_has_reacted() {
        let cable = Cable { rate: Rate::gbps(100), delay: Span::from_us(1) };
        let graph = Topology::Pair.build(Cables { host: cable, switch: cable }).expect("a pair is a network");
        let resend = |cache| {
            let all = vec![vec![Outages { cache, ..outages(&[(10, 20), (30, 33)], 5) }], Vec::new()];
            let failures = Failures::new(&graph, all);
            [(1, 10), (9, 11), (12, 13), (19, 22), (31, 32)]
                .map(|(start, arrive)| failures.resend(LinkId(0), at_us(start), at_us(arrive)))
        };
        let at = |us| Some((at_us(us), 9));
        assert_eq!(resend(9), [None, at(16), at(16), at(19), None], "the second failure is not detected");
        assert_eq!(resend(0), [None; 5]);
    }

    #[test]
    fn routing_avoids_a_link_some_time_after_each_change_that_lasts() {
        let avoided = |times: &[(u64, u64)], detect| outages(times, detect).avoided(0);
        let at = at_us;
        assert_eq!(avoided(&[(10, 30)], 5), [(at(16), at(36))]);
        assert_eq!(avoided(&[(10, 14)], 5), [], "it is over before it is detected");
        assert_eq!(avoided(&[(10, 30), (33, 60)], 5), [(at(16), at(66))], "nobody sees that it was up");
        assert_eq!(avoided(&[(10, 30), (50, 52), (70, 80)], 5), [(at(16), at(36)), (at(76), at(86))]);
        assert_eq!(avoided(&[(10, 20), (40, 50)], 0), [(at(11), at(21)), (at(41), at(51))]);
        let forever = Outages { times: vec![(at(3), Time::MAX)], ..outages(&[], 5) };
        assert_eq!(forever.avoided(0), [(at(9), Time::MAX)]);
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
    fn switches_farther_from_the_link_learn_of_it_later() {
        let cable = Cable { rate: Rate::gbps(100), delay: Span::from_us(1) };
        let graph = Topology::LeafSpine { leaves: 3, spines: 2, hosts_per_leaf: 1 }
            .build(Cables { host: cable, switch: cable })
            .expect("leaves and spines are a network");
        let link = graph.link_by_name("leaf0-spine1").expect("the link exists");
        let switch = |name| match graph.node(graph.node_by_name(name).expect("the node exists")) {
            Node::Switch(switch) => switch,
            Node::Host(_) => panic!("a host"),
        };
        let mut all = vec![Vec::new(); graph.links().len()];
        let slow = Reaction { detect: Span::ZERO, reroute: Span::ZERO, per_hop: Span::from_us(4) };
        all[link.index()].push(Outages { reaction: Some(slow), ..outages(&[(10, 50)], 0) });
        let (failures, usual) = (Failures::new(&graph, all), Routes::shortest(&graph));
        // Towards the host of leaf 0: from a spine its leaf or another one, from a leaf one spine or both.
        let paths = |at, name| failures.next_hops(at_us(at), &graph, &usual, switch(name), HostId(0)).len();
        assert_eq!([9, 10, 49, 50].map(|at| paths(at, "spine1")), [1, 2, 2, 1], "an end of the link");
        assert_eq!([10, 13, 14, 53, 54].map(|at| paths(at, "leaf1")), [2, 2, 1, 1, 2], "one hop away");
        assert_eq!(distances(&graph, link)[switch("spine0").index()], 1);
    }

    #[test]
    fn the_share_of_gray_flows_is_as_asked_for() {
        let flows = GrayFlows { below: (0.25 * 4_294_967_296.0) as u32, salt: 7 };
        let key = |entropy| FlowKey { src: HostId(1), dst: HostId(2), entropy };
        let lost = (0..=u16::MAX).filter(|entropy| flows.has(key(*entropy))).count();
        assert!((15_900..16_900).contains(&lost), "{lost} of 65536");
    }
}
