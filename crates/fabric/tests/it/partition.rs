//! Networks are cut at long links, and components are balanced over threads.

use proptest::prelude::*;
use wiremend_fabric::{Cable, Cables, Graph, LinkRole, NamedLink, Partition, Topology};
use wiremend_units::{LinkId, Rate, Span};

const SHORT: Span = Span::from_ns(100);
const LONG: Span = Span::from_us(1);

#[test]
fn equal_delays_give_a_component_per_switch() {
    let graph = build(Topology::FatTree { k: 4 }, LONG, LONG);
    let plan = plan(&graph);
    assert_eq!((plan.components, plan.lookahead), (20, LONG));
    for host in graph.hosts() {
        let tor = graph.switch_node(graph.tor(host));
        assert_eq!(component(&plan, graph.host_node(host)), component(&plan, tor));
    }
}

/// Delays of host links do not matter, because they are never cut.
#[test]
fn hosts_stay_with_their_switch() {
    let graph = build(Topology::LeafSpine { leaves: 4, spines: 2, hosts_per_leaf: 3 }, LONG * 10, SHORT);
    let plan = plan(&graph);
    assert_eq!((plan.components, plan.lookahead), (6, SHORT));
}

/// Two distant racks are cut between them, not inside.
#[test]
fn the_longest_links_are_cut_first() {
    let far = Span::from_us(50);
    let links = [
        ("a", "x0", SHORT),
        ("b", "x1", SHORT),
        ("x0", "x1", LONG),
        ("c", "y0", SHORT),
        ("d", "y1", SHORT),
        ("y0", "y1", LONG),
        ("x0", "y0", far),
        ("x1", "y1", far + SHORT),
    ];
    let graph = written(&["a", "b", "c", "d"], &["x0", "x1", "y0", "y1"], &links);
    let plan = plan(&graph);
    assert_eq!((plan.components, plan.lookahead), (2, far));
    assert_eq!(plan.component_of_node, [0, 0, 1, 1, 0, 0, 1, 1]);
}

/// A single long link at the edge of the network is not sufficient: the rest would be one heavy component.
#[test]
fn unbalanced_cuts_are_refined() {
    let far = Span::from_us(50);
    let links = [
        ("a", "x", SHORT),
        ("b", "y", SHORT),
        ("c", "z", SHORT),
        ("d", "w", SHORT),
        ("e", "corner", SHORT),
        ("x", "y", LONG),
        ("y", "z", LONG),
        ("z", "w", LONG),
        ("w", "x", LONG),
        ("x", "corner", far),
    ];
    let graph = written(&["a", "b", "c", "d", "e"], &["x", "y", "z", "w", "corner"], &links);
    let plan = plan(&graph);
    assert_eq!((plan.components, plan.lookahead), (5, LONG));
}

#[test]
fn networks_that_cannot_be_cut_stay_whole() {
    let pair = plan(&build(Topology::Pair, LONG, LONG));
    assert_eq!((pair.components, pair.lookahead), (1, LONG));
    let no_delay = plan(&build(Topology::FatTree { k: 4 }, Span::ZERO, Span::ZERO));
    assert_eq!((no_delay.components, no_delay.lookahead), (1, Span::from_us(1)));
    let only_hosts = plan(&build(Topology::FatTree { k: 4 }, SHORT, Span::ZERO));
    assert_eq!((only_hosts.components, only_hosts.lookahead), (1, SHORT));
}

/// The larger delay of a link's two directions does not count.
#[test]
fn the_smaller_delay_of_a_link_counts() {
    let graph = build(Topology::Chain { switches: 2, hosts_per_end: 1 }, LONG, LONG);
    let mut delays = delays(&graph);
    let between = graph.lane_by_name("s1>s0").unwrap();
    delays[between.index()] = SHORT;
    assert_eq!(Partition::new(&graph, &delays).lookahead, SHORT);
}

#[test]
fn pods_stay_whole_and_cores_are_spread() {
    for (k, parts) in [(4, 2), (8, 2), (16, 2), (8, 4), (16, 4), (4, 4)] {
        let graph = build(Topology::FatTree { k }, LONG, LONG);
        let part = plan(&graph).assign(&graph, parts);
        for (index, link) in graph.links().iter().enumerate() {
            let name = graph.link_name(LinkId(index as u32));
            if !name.contains("core") {
                assert_eq!(part[link.a.index()], part[link.b.index()], "{name} is inside a pod");
            }
        }
        let loads = loads(&graph, &part, parts);
        assert!(loads.iter().all(|load| *load == loads[0]), "k={k}, {parts} parts: {loads:?}");
    }
}

/// Four pods on three threads: a pod is split rather than giving one thread twice the work.
#[test]
fn pods_are_split_if_the_parts_would_be_unbalanced() {
    for (k, parts) in [(4, 3), (6, 4), (8, 3), (16, 3)] {
        let graph = build(Topology::FatTree { k }, LONG, LONG);
        let part = plan(&graph).assign(&graph, parts);
        let loads = loads(&graph, &part, parts);
        let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
        assert!(*most as f64 <= *least as f64 * 1.35, "k={k}, {parts} parts: {loads:?}");
    }
}

#[test]
fn a_chain_is_cut_in_the_middle() {
    let graph = build(Topology::Chain { switches: 8, hosts_per_end: 1 }, LONG, LONG);
    let part = plan(&graph).assign(&graph, 2);
    let switches: Vec<u32> = graph.switches().map(|switch| part[graph.switch_node(switch).index()]).collect();
    assert_eq!(switches, [0, 0, 0, 0, 1, 1, 1, 1]);
}

/// A ring with a host on every switch has no tiers: it is cut into two arcs.
#[test]
fn a_ring_is_cut_in_two_arcs() {
    let names: Vec<String> = (0..8).map(|index| format!("s{index}")).collect();
    let hosts: Vec<String> = (0..8).map(|index| format!("h{index}")).collect();
    let mut links: Vec<(&str, &str, Span)> =
        (0..8).map(|i| (&*names[i], &*names[(i + 1) % 8], LONG)).collect();
    links.extend((0..8).map(|i| (&*hosts[i], &*names[i], SHORT)));
    let hosts: Vec<&str> = hosts.iter().map(|name| &**name).collect();
    let switches: Vec<&str> = names.iter().map(|name| &**name).collect();
    let graph = written(&hosts, &switches, &links);
    let part = plan(&graph).assign(&graph, 2);
    let cut = graph.links().iter().filter(|link| part[link.a.index()] != part[link.b.index()]).count();
    assert_eq!(cut, 2);
    assert_eq!(loads(&graph, &part, 2), [16, 16]);
}

proptest! {
    /// For any delays, only links between switches are cut, none shorter than the lookahead. For any number
    /// of parts, components stay whole.
    #[test]
    fn partitions_respect_lookahead_and_components(
        k in prop::sample::select(vec![2_u32, 4, 6]),
        kinds in prop::collection::vec(0_u64..4, 1..40),
        parts in 1_usize..9,
    ) {
        let graph = build(Topology::FatTree { k }, LONG, LONG);
        let delays: Vec<Span> = graph.lanes().map(|lane| SHORT * kinds[lane.index() % kinds.len()]).collect();
        let plan = Partition::new(&graph, &delays);
        prop_assert!(plan.lookahead > Span::ZERO);
        for lane in graph.lanes() {
            if component(&plan, graph.lane_from(lane)) != component(&plan, graph.lane_to(lane)) {
                prop_assert!(delays[lane.index()] >= plan.lookahead);
                prop_assert_eq!(graph.link_role(lane.link()), LinkRole::Switch);
            }
        }
        prop_assert!(plan.component_of_node.iter().all(|component| *component < plan.components));
        let part = plan.assign(&graph, parts);
        let mut part_of = vec![None; plan.components as usize];
        for (component, part) in plan.component_of_node.iter().zip(&part) {
            prop_assert!((*part as usize) < parts);
            prop_assert_eq!(*part_of[*component as usize].get_or_insert(*part), *part);
        }
        prop_assert!(part_of.iter().all(Option::is_some), "components are numbered without holes");
    }
}

fn build(topology: Topology, host_delay: Span, switch_delay: Span) -> Graph {
    let cable = |delay| Cable { rate: Rate::gbps(100), delay };
    topology.build(Cables { host: cable(host_delay), switch: cable(switch_delay) }).unwrap()
}

fn written(hosts: &[&str], switches: &[&str], links: &[(&str, &str, Span)]) -> Graph {
    let link = |&(a, b, delay)| NamedLink { a, b, cable: Cable { rate: Rate::gbps(100), delay } };
    Graph::from_links(hosts, switches, &links.iter().map(link).collect::<Vec<_>>()).unwrap()
}

fn delays(graph: &Graph) -> Vec<Span> {
    graph.lanes().map(|lane| graph.link(lane.link()).delay).collect()
}

fn plan(graph: &Graph) -> Partition {
    Partition::new(graph, &delays(graph))
}

fn component(plan: &Partition, node: wiremend_units::NodeId) -> u32 {
    plan.component_of_node[node.index()]
}

/// Number of lane ends in each part.
fn loads(graph: &Graph, part: &[u32], parts: usize) -> Vec<usize> {
    let mut loads = vec![0; parts];
    for node in graph.nodes() {
        loads[part[node.index()] as usize] += graph.ports(node).len();
    }
    loads
}
