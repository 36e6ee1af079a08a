//! Cyclic buffer dependencies: all of them are found, and no others.

use std::collections::BTreeSet;
use std::num::NonZeroU8;

use proptest::prelude::*;
use wiremend_fabric::deadlock::{
    Alpha, CheckError, DeadlockCheck, DeadlockVerdict, Destination, FailureCases, Reroute, RouteOverride,
    RoutingLoop,
};
use wiremend_fabric::{Cable, Cables, Graph, NamedLink, Node, Topology};
use wiremend_units::{Bytes, HostId, LaneId, LinkId, NodeId, Rate, Span, SwitchId};

const CABLE: Cable = Cable { rate: Rate::gbps(40), delay: Span::from_us(1) };
const CABLES: Cables = Cables { host: CABLE, switch: CABLE };

#[test]
fn up_down_routes_have_no_cycle() {
    let shapes = [
        (Topology::FatTree { k: 4 }, 4),
        (Topology::FatTree { k: 8 }, 4),
        (Topology::LeafSpine { leaves: 5, spines: 3, hosts_per_leaf: 2 }, 2),
    ];
    for (shape, ranks) in shapes {
        let graph = shape.build(CABLES).unwrap();
        let verdict = DeadlockCheck::new(&graph, &[]).unwrap().verdict();
        let order = verdict.order.expect("there is no cycle");
        assert!(order.up_down && order.ranks == ranks, "{shape:?}: {order:?}");
        assert!(verdict.components.is_empty() && verdict.dependencies > 0);
    }
}

/// In each aggregation switch of a fat-tree with k = 4, every edge waits for both cores and the other edge,
/// and every core for both edges. In each core every pod waits for the three others.
#[test]
fn a_fat_tree_has_the_dependencies_of_its_paths() {
    let graph = Topology::FatTree { k: 4 }.build(CABLES).unwrap();
    let check = DeadlockCheck::new(&graph, &[]).unwrap();
    assert_eq!((check.lane_count(), check.class_count()), (64, 8));
    assert_eq!(check.verdict().dependencies, 8 * (2 * 3 + 2 * 2) + 4 * 4 * 3);
}

#[test]
fn a_chain_has_no_cycle() {
    let graph = Topology::Chain { switches: 4, hosts_per_end: 1 }.build(CABLES).unwrap();
    let order = DeadlockCheck::new(&graph, &[]).unwrap().verdict().order.expect("there is no cycle");
    assert_eq!((order.ranks, order.up_down), (3, false));
}

/// All packets arrive, none circulates, and still all can block each other.
#[test]
fn a_ring_with_one_direction_has_a_cycle_without_a_loop() {
    let graph = ring(3);
    let clockwise = (0..3).map(|at| {
        let [here, next, behind] = [at, (at + 1) % 3, (at + 2) % 3].map(|place| format!("s{place}"));
        over(&graph, &here, &behind, &next)
    });
    let verdict = DeadlockCheck::new(&graph, &clockwise.collect::<Vec<_>>()).unwrap().verdict();
    assert_eq!(names(&graph, &verdict), [["s0>s1", "s1>s2", "s2>s0"]]);
    let cycle = &verdict.components[0].cycles[0];
    assert!(cycle.looping.is_empty() && cycle.routing_loop(&graph).is_none());
    assert!(DeadlockCheck::new(&graph, &[]).unwrap().verdict().order.is_some(), "one hop waits for nobody");
    // With five switches, shortest paths have two hops in both directions.
    let graph = ring(5);
    assert_eq!(names(&graph, &DeadlockCheck::new(&graph, &[]).unwrap().verdict()).len(), 2);
}

/// Fig. 1 of the PFC draft: A and B forward the same packets to each other.
#[test]
fn two_switches_that_forward_to_each_other_are_a_loop() {
    let graph = Topology::Chain { switches: 2, hosts_per_end: 2 }.build(CABLES).unwrap();
    let check = DeadlockCheck::new(&graph, &[over(&graph, "s1", "h3", "s0")]).unwrap();
    assert_eq!(check.class_count(), 3);
    let verdict = check.verdict();
    assert_eq!(names(&graph, &verdict), [["s0>s1", "s1>s0"]]);
    let cycle = &verdict.components[0].cycles[0];
    assert_eq!(cycle.looping, [Destination { tor: SwitchId(1), host: Some(HostId(3)) }]);
    let found = cycle.routing_loop(&graph).expect("the cycle is a loop");
    assert_eq!(found, RoutingLoop { switches: 2, rate: Rate::gbps(40) });
    for (hops, mbps) in [(64, 1250), (32, 2500), (16, 5000)] {
        assert_eq!(found.fluid_rate(ttl(hops)).bits_per_s(), mbps * 1_000_000);
        assert_eq!(found.exact_rate(ttl(hops)).bits_per_s(), mbps * 1_000_000);
    }
}

/// An override after which packets still arrive is not a loop, nor is one equal to a shortest path.
#[test]
fn an_override_that_still_delivers_is_not_a_loop() {
    let graph = Topology::FatTree { k: 4 }.build(CABLES).unwrap();
    for (switch, to, next) in
        [("edge0-0", "h15", "agg0-1"), ("edge3-1", "h15", "h15"), ("agg0-0", "edge3-1", "core1")]
    {
        let verdict = DeadlockCheck::new(&graph, &[over(&graph, switch, to, next)]).unwrap().verdict();
        assert!(verdict.order.is_some_and(|order| order.up_down), "{switch} to {to}");
    }
    let down = DeadlockCheck::new(&graph, &[over(&graph, "agg3-0", "edge3-1", "edge3-0")]).unwrap().verdict();
    let cycle = &down.components[0].cycles[0];
    assert_eq!(cycle.looping, [Destination { tor: switch(&graph, "edge3-1"), host: None }]);
    assert_eq!(cycle.lanes.len(), 2, "edge3-0 may send back up to where it came from");
}

/// P1: with n = 3 and TTL 32 the fluid model is 3 % above the exact rate.
#[test]
fn the_first_lane_of_a_loop_limits_the_rate() {
    let three = RoutingLoop { switches: 3, rate: Rate::gbps(40) };
    assert_eq!(three.fluid_rate(ttl(32)).bits_per_s(), 3_750_000_000);
    assert_eq!(three.exact_rate(ttl(32)).bits_per_s(), 3_636_363_636);
    assert_eq!(three.exact_rate(ttl(2)), Rate::gbps(40), "nothing comes around");
}

/// P2: shorter with more packets, a smaller α, a larger TTL; no deadlock below the minimum rate.
#[test]
fn time_to_fill_depends_on_rate_alpha_and_ttl() {
    let two = RoutingLoop { switches: 2, rate: Rate::gbps(40) };
    let fill = |mbps: u64, hops, alpha: &str| {
        let rate = Rate::from_bits_per_s(mbps * 1_000_000);
        two.time_to_fill(rate, ttl(hops), alpha.parse().unwrap(), Bytes::new(12_000_000))
    };
    assert_eq!(fill(1250, 64, "1"), None);
    assert_eq!(fill(500, 64, "1"), None);
    // 2 × 6 MB at 2 Gb/s − 1.25 Gb/s.
    assert_eq!(fill(2000, 64, "1"), Some(Span::from_ms(128)));
    assert_eq!(fill(2250, 64, "0.5"), Some(Span::from_ms(64)));
    assert!(fill(3000, 64, "1") < fill(2000, 64, "1"));
    assert!(fill(2000, 64, "1/16") < fill(2000, 64, "1/4"));
    assert!(fill(6000, 16, "1/16") > fill(6000, 32, "1/16"));
    for wrong in ["0", "1/129", "8.1", "1/0", "-1", "", "x", "1e3", "NaN", "99999999999999999999"] {
        assert!(wrong.parse::<Alpha>().is_err(), "{wrong}");
    }
    for right in ["1/128", "8", "0.0078125", "1"] {
        assert!(right.parse::<Alpha>().is_ok(), "{right}");
    }
}

#[test]
fn invalid_overrides_are_rejected() {
    let graph = Topology::FatTree { k: 4 }.build(CABLES).unwrap();
    let refused =
        |overrides: &[RouteOverride]| DeadlockCheck::new(&graph, overrides).err().expect("it is rejected");
    let far = over(&graph, "edge0-0", "h15", "core0");
    assert_eq!(refused(&[far]), CheckError::NotNeighbours(far));
    assert!(refused(&[far]).describe(&graph).contains("its neighbours are h0, h1, agg0-0, agg0-1"));
    let core = over(&graph, "edge0-0", "core0", "agg0-0");
    assert_eq!(refused(&[core]), CheckError::NoHosts(core));
    let host = over(&graph, "edge0-0", "h15", "h0");
    assert_eq!(refused(&[host]), CheckError::IntoHost(host));
    let twice = over(&graph, "edge0-0", "h15", "agg0-0");
    assert_eq!(refused(&[twice, twice]), CheckError::Twice(twice));
}

/// After convergence a fat-tree still has up-down routes. While only the switches at the failed link know,
/// they send packets back, and each link causes a loop.
#[test]
fn a_failed_link_causes_loops_until_convergence() {
    let topology = Topology::FatTree { k: 4 };
    let graph = topology.build(CABLES).unwrap();
    let check = DeadlockCheck::new(&graph, &[]).unwrap();
    let alike = check.survey(&FailureCases::one_of_each_kind(&topology, &graph).unwrap()).unwrap();
    let all = check.survey(&FailureCases::up_to(1, &graph).unwrap()).unwrap();
    assert_eq!((alike.cases, alike.examined, alike.by_symmetry), (32, 2, true));
    assert_eq!((all.cases, all.examined, all.by_symmetry), (32, 32, false));
    for survey in [&alike, &all] {
        assert_eq!((survey.cyclic_everywhere, survey.cyclic_at_the_link), (0, 32));
    }
    let case = &alike.examples[0];
    assert_eq!(
        (graph.link_name(case.links[0]).as_str(), case.reroute),
        ("edge0-0-agg0-0", Reroute::AtTheLink)
    );
    assert_eq!(names(&graph, &case.verdict), [["edge0-1>agg0-0", "agg0-0>edge0-1"]]);
}

/// A ring of four has no cycle with a link down, and a survey of cyclic routes returns `None`.
#[test]
fn a_cyclic_network_is_not_surveyed() {
    let graph = ring(4);
    let check = DeadlockCheck::new(&graph, &[]).unwrap();
    assert!(check.survey(&FailureCases::up_to(1, &graph).unwrap()).is_none());
    let link = graph.link_by_name("s0-s1").unwrap();
    assert!(check.failed(&[link], Reroute::Everywhere).order.is_some());
    assert_eq!(
        FailureCases::up_to(3, &Topology::FatTree { k: 8 }.build(CABLES).unwrap()).unwrap_err(),
        CheckError::TooManyCases { cases: 2_796_416, max: 10_000 }
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// On random networks with random overrides and a failed link, verdicts equal a plain enumeration.
    #[test]
    fn verdicts_equal_brute_force((graph, wanted, failing) in networks()) {
        let overrides: Vec<RouteOverride> = wanted.into_iter().filter_map(|draw| drawn(&graph, draw)).take(1).collect();
        let check = DeadlockCheck::new(&graph, &overrides).unwrap();
        compare(&graph, &check.verdict(), &Plain::new(&graph, &overrides, &[], Reroute::Everywhere))?;
        let links: Vec<LinkId> = (0..graph.links().len() as u32)
            .map(LinkId)
            .filter(|link| graph.node(graph.link(*link).a) != Node::Host(HostId(graph.link(*link).a.0)))
            .collect();
        let failed = [links[failing % links.len()]];
        for reroute in [Reroute::Everywhere, Reroute::AtTheLink] {
            compare(&graph, &check.failed(&failed, reroute), &Plain::new(&graph, &overrides, &failed, reroute))?;
        }
        let Some(survey) = check.survey(&FailureCases::up_to(1, &graph).unwrap()) else {
            return Ok(());
        };
        let cyclic = |reroute| links.iter().filter(|link| !Plain::new(&graph, &overrides, &[**link], reroute).cyclic().is_empty()).count();
        prop_assert_eq!(survey.cyclic_everywhere as usize, cyclic(Reroute::Everywhere));
        prop_assert_eq!(survey.cyclic_at_the_link as usize, cyclic(Reroute::AtTheLink));
    }
}

fn compare(graph: &Graph, verdict: &DeadlockVerdict, plain: &Plain) -> Result<(), TestCaseError> {
    prop_assert_eq!(verdict.dependencies as usize, plain.edges.len());
    let cyclic = plain.cyclic();
    prop_assert_eq!(verdict.order.is_some(), cyclic.is_empty());
    prop_assert_eq!(
        verdict.components.iter().map(|component| component.lanes as usize).sum::<usize>(),
        cyclic.len()
    );
    let mut loops = false;
    for cycle in verdict.components.iter().flat_map(|component| &component.cycles) {
        for (at, lane) in cycle.lanes.iter().enumerate() {
            let next = cycle.lanes[(at + 1) % cycle.lanes.len()];
            prop_assert!(plain.edges.contains(&(*lane, next)), "{}", graph.lane_name(*lane));
        }
        loops |= !cycle.looping.is_empty();
    }
    prop_assert_eq!(loops, plain.loops);
    Ok(())
}

/// Enumerates every packet from every host to every host on every path, hop by hop.
struct Plain {
    edges: BTreeSet<(LaneId, LaneId)>,
    loops: bool,
}

impl Plain {
    fn new(graph: &Graph, overrides: &[RouteOverride], failed: &[LinkId], reroute: Reroute) -> Self {
        let mut edges = BTreeSet::new();
        let mut loops = false;
        for dst in graph.hosts() {
            let hops = [&[], failed].map(|failed| hops_to(graph, failed, graph.host_node(dst)));
            let next = |node: NodeId| next_hops(graph, overrides, failed, reroute, node, dst, &hops);
            let mut own = BTreeSet::new();
            let mut open: Vec<LaneId> =
                graph.hosts().filter(|src| *src != dst).map(|src| graph.uplink(src)).collect();
            let mut seen: BTreeSet<LaneId> = open.iter().copied().collect();
            while let Some(lane) = open.pop() {
                for out in next(graph.lane_to(lane)) {
                    if is_between(graph, lane) && is_between(graph, out) {
                        own.insert((lane, out));
                    }
                    if seen.insert(out) {
                        open.push(out);
                    }
                }
            }
            loops |= !cyclic(&own).is_empty();
            edges.extend(own);
        }
        Self { edges, loops }
    }

    fn cyclic(&self) -> BTreeSet<LaneId> {
        cyclic(&self.edges)
    }
}

/// Lanes that can be reached from themselves.
fn cyclic(edges: &BTreeSet<(LaneId, LaneId)>) -> BTreeSet<LaneId> {
    let after =
        |lane: LaneId| edges.range((lane, LaneId(0))..=(lane, LaneId(u32::MAX))).map(|(_, next)| *next);
    let reaches_itself = |start: LaneId| {
        let (mut open, mut seen) = (vec![start], BTreeSet::new());
        while let Some(lane) = open.pop() {
            open.extend(after(lane).filter(|next| seen.insert(*next)));
        }
        seen.contains(&start)
    };
    edges.iter().map(|(lane, _)| *lane).filter(|lane| reaches_itself(*lane)).collect()
}

fn next_hops(
    graph: &Graph,
    overrides: &[RouteOverride],
    failed: &[LinkId],
    reroute: Reroute,
    node: NodeId,
    dst: HostId,
    [before, after]: &[Vec<Option<usize>>; 2],
) -> Vec<LaneId> {
    let Node::Switch(switch) = graph.node(node) else { return Vec::new() };
    let is_alive = |lane: &LaneId| !failed.contains(&lane.link());
    let meant = |rule: &&RouteOverride| {
        rule.switch == switch
            && (rule.to == graph.host_node(dst) || rule.to == graph.switch_node(graph.tor(dst)))
    };
    if let Some(rule) = overrides.iter().find(meant) {
        let to_next = |lane: &LaneId| graph.lane_to(*lane) == rule.next;
        return graph.ports(node).iter().copied().filter(to_next).filter(is_alive).collect();
    }
    let shortest = |hops: &[Option<usize>]| -> Vec<LaneId> {
        let is_nearer = |lane: &LaneId| {
            hops[node.index()]
                .is_some_and(|here| hops[graph.lane_to(*lane).index()] == Some(here.wrapping_sub(1)))
        };
        graph.ports(node).iter().copied().filter(is_alive).filter(is_nearer).collect()
    };
    let old = shortest(before);
    if reroute == Reroute::Everywhere || old.is_empty() { shortest(after) } else { old }
}

fn hops_to(graph: &Graph, failed: &[LinkId], end: NodeId) -> Vec<Option<usize>> {
    let mut hops = vec![None; graph.node_count() as usize];
    hops[end.index()] = Some(0);
    for far in 0..graph.node_count() as usize {
        for lane in graph.lanes().filter(|lane| !failed.contains(&lane.link())) {
            let (from, to) = (graph.lane_from(lane), graph.lane_to(lane));
            // Other hosts do not forward.
            if hops[to.index()] == Some(far) && hops[from.index()].is_none() {
                hops[from.index()] = Some(far + 1);
            }
        }
    }
    hops
}

fn is_between(graph: &Graph, lane: LaneId) -> bool {
    [graph.lane_from(lane), graph.lane_to(lane)].iter().all(|end| matches!(graph.node(*end), Node::Switch(_)))
}

/// A small network, random overrides, and a random link.
fn networks() -> impl Strategy<Value = (Graph, Vec<(usize, usize, usize)>, usize)> {
    let shapes = prop_oneof![
        Just(Topology::FatTree { k: 4 }.build(CABLES).unwrap()),
        Just(Topology::LeafSpine { leaves: 3, spines: 2, hosts_per_leaf: 1 }.build(CABLES).unwrap()),
        (3_usize..7).prop_map(ring),
        (
            2_usize..8,
            prop::collection::vec((0_usize..8, 0_usize..8), 0..10),
            prop::collection::vec(0_usize..8, 2..6)
        )
            .prop_map(|(switches, across, homes)| random(switches, &across, &homes)),
    ];
    (shapes, prop::collection::vec((0_usize..100, 0_usize..100, 0_usize..100), 0..2), 0_usize..100)
}

fn drawn(graph: &Graph, (at, to, next): (usize, usize, usize)) -> Option<RouteOverride> {
    let switch = SwitchId(at as u32 % graph.switch_count());
    let dst = HostId(to as u32 % graph.host_count());
    let to = if to % 3 == 0 { graph.switch_node(graph.tor(dst)) } else { graph.host_node(dst) };
    let ports = graph.ports(graph.switch_node(switch));
    let next = graph.lane_to(ports[next % ports.len()]);
    matches!(graph.node(next), Node::Switch(_)).then_some(RouteOverride { switch, to, next })
}

fn random(switches: usize, across: &[(usize, usize)], homes: &[usize]) -> Graph {
    let line = (1..switches).map(|at| (format!("s{}", at - 1), format!("s{at}")));
    let across = across.iter().map(|(a, b)| (a % switches, b % switches)).filter(|(a, b)| a != b);
    let across = across.map(|(a, b)| (format!("s{a}"), format!("s{b}")));
    let hosts =
        homes.iter().enumerate().map(|(host, home)| (format!("h{host}"), format!("s{}", home % switches)));
    written(homes.len(), switches, &line.chain(across).chain(hosts).collect::<Vec<_>>())
}

/// Switches in a ring, with a host on each.
fn ring(switches: usize) -> Graph {
    let around = (0..switches).map(|at| (format!("s{at}"), format!("s{}", (at + 1) % switches)));
    let hosts = (0..switches).map(|at| (format!("h{at}"), format!("s{at}")));
    written(switches, switches, &around.chain(hosts).collect::<Vec<_>>())
}

fn written(hosts: usize, switches: usize, links: &[(String, String)]) -> Graph {
    let named = |prefix: char, count: usize| (0..count).map(|at| format!("{prefix}{at}")).collect::<Vec<_>>();
    let links: Vec<_> = links.iter().map(|(a, b)| NamedLink { a, b, cable: CABLE }).collect();
    Graph::from_links(&named('h', hosts), &named('s', switches), &links).unwrap()
}

fn over(graph: &Graph, at: &str, to: &str, next: &str) -> RouteOverride {
    let node = |name: &str| graph.node_by_name(name).unwrap();
    RouteOverride { switch: switch(graph, at), to: node(to), next: node(next) }
}

fn switch(graph: &Graph, name: &str) -> SwitchId {
    match graph.node(graph.node_by_name(name).unwrap()) {
        Node::Switch(switch) => switch,
        Node::Host(host) => panic!("{host} is a host"),
    }
}

fn names(graph: &Graph, verdict: &DeadlockVerdict) -> Vec<Vec<String>> {
    let cycles = verdict.components.iter().filter_map(|component| component.cycles.first());
    cycles.map(|cycle| cycle.lanes.iter().map(|lane| graph.lane_name(*lane)).collect()).collect()
}

fn ttl(hops: u8) -> NonZeroU8 {
    NonZeroU8::new(hops).unwrap()
}
