//! Routes contain all shortest paths, and only these.

use std::collections::VecDeque;

use proptest::prelude::*;
use wiremend_fabric::{Cable, Cables, Graph, NamedLink, Routes, Topology};
use wiremend_units::{HostId, LaneId, NodeId, Rate, Span, SwitchId, mix};

const CABLE: Cable = Cable { rate: Rate::gbps(100), delay: Span::from_us(1) };
const CABLES: Cables = Cables { host: CABLE, switch: CABLE };

#[test]
fn a_fat_tree_has_all_paths_up_and_one_path_down() {
    let graph = Topology::FatTree { k: 4 }.build(CABLES).unwrap();
    let routes = Routes::shortest(&graph);
    let names = |switch: &str, dst: u32| -> Vec<String> {
        let switch = SwitchId(graph.node_by_name(switch).unwrap().0 - graph.host_count());
        routes.next_hops(switch, HostId(dst)).iter().map(|lane| graph.lane_name(*lane)).collect()
    };
    assert_eq!(names("edge0-0", 15), ["edge0-0>agg0-0", "edge0-0>agg0-1"]);
    assert_eq!(names("edge0-0", 1), ["edge0-0>h1"]);
    assert_eq!(names("agg0-1", 15), ["agg0-1>core2", "agg0-1>core3"]);
    assert_eq!(names("agg0-1", 2), ["agg0-1>edge0-1"]);
    assert_eq!(names("core2", 15), ["core2>agg3-1"]);
}

#[test]
fn parallel_links_are_separate_next_hops() {
    let link = |a, b| NamedLink { a, b, cable: CABLE };
    let links =
        [link("a", "x"), link("b", "y"), link("x", "y"), link("x", "z"), link("x", "y"), link("z", "y")];
    let graph = Graph::from_links(&["a", "b"], &["x", "y", "z", "alone"], &links).unwrap();
    let routes = Routes::shortest(&graph);
    let lanes: Vec<String> =
        routes.next_hops(SwitchId(0), HostId(1)).iter().map(|l| graph.lane_name(*l)).collect();
    assert_eq!(lanes, ["x>y", "x>y#2"]);
    assert!(routes.next_hops(SwitchId(3), HostId(1)).is_empty());
}

/// A thousand hosts, paths chosen by a hash: three hops up, three down, for every choice.
#[test]
fn a_big_fat_tree_is_six_hops_across() {
    let graph = Topology::FatTree { k: 16 }.build(CABLES).unwrap();
    let routes = Routes::shortest(&graph);
    for src in graph.hosts() {
        let dst = HostId((src.0 + 512) % 1024);
        let choose = |switch: SwitchId, lanes: &[LaneId]| {
            lanes[mix(u64::from(switch.0) << 32 | u64::from(src.0)) as usize % lanes.len()]
        };
        assert_eq!(routes.path(&graph, src, dst, choose).len(), 6);
    }
}

proptest! {
    /// On random graphs: exactly the lanes to neighbours one hop closer, in the order of the ports.
    #[test]
    fn next_hops_are_all_shortest_paths(graph in random_graphs()) {
        let routes = Routes::shortest(&graph);
        for dst in graph.hosts() {
            let hops = hops_to(&graph, graph.host_node(dst));
            for switch in graph.switches() {
                let node = graph.switch_node(switch);
                let closer: Vec<_> = graph
                    .ports(node)
                    .iter()
                    .copied()
                    .filter(|lane| hops[node.index()].is_some_and(|h| hops[graph.lane_to(*lane).index()] == Some(h - 1)))
                    .collect();
                prop_assert_eq!(routes.next_hops(switch, dst), &closer[..]);
            }
            for src in graph.hosts().filter(|src| *src != dst) {
                let path = routes.path(&graph, src, dst, |_, lanes| lanes[lanes.len() - 1]);
                prop_assert_eq!(Some(path.len()), hops[src.index()]);
                prop_assert_eq!(graph.lane_to(path[path.len() - 1]), graph.host_node(dst));
            }
        }
    }
}

/// A chain of switches, which connects the graph, with random additional links.
fn random_graphs() -> impl Strategy<Value = Graph> {
    (
        2_usize..9,
        prop::collection::vec((0_usize..9, 0_usize..9), 0..16),
        prop::collection::vec(0_usize..9, 2..7),
    )
        .prop_map(|(count, across, homes)| {
            let switches: Vec<String> = (0..count).map(|index| format!("s{index}")).collect();
            let hosts: Vec<String> = (0..homes.len()).map(|index| format!("h{index}")).collect();
            let mut links: Vec<(&str, &str)> =
                switches.windows(2).map(|pair| (&*pair[0], &*pair[1])).collect();
            links.extend(
                across
                    .iter()
                    .map(|(a, b)| (&*switches[a % count], &*switches[b % count]))
                    .filter(|(a, b)| a != b),
            );
            links.extend(hosts.iter().zip(&homes).map(|(host, home)| (&**host, &*switches[home % count])));
            let links: Vec<_> = links.into_iter().map(|(a, b)| NamedLink { a, b, cable: CABLE }).collect();
            Graph::from_links(&hosts, &switches, &links).unwrap()
        })
}

/// Hops to a host; other hosts do not forward.
fn hops_to(graph: &Graph, dst: NodeId) -> Vec<Option<usize>> {
    let mut hops = vec![None; graph.node_count() as usize];
    hops[dst.index()] = Some(0);
    let mut open = VecDeque::from([dst]);
    while let Some(node) = open.pop_front() {
        if node != dst && node.0 < graph.host_count() {
            continue;
        }
        for lane in graph.ports(node) {
            let to = graph.lane_to(*lane).index();
            if hops[to].is_none() {
                hops[to] = hops[node.index()].map(|hops: usize| hops + 1);
                open.push_back(NodeId(to as u32));
            }
        }
    }
    hops
}
