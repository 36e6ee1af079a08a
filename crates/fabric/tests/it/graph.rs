//! Topologies match their papers, invalid networks are rejected, and names map back.

use proptest::prelude::*;
use wiremend_fabric::{
    Cable, Cables, Graph, GraphError, LINKS_MAX, LinkRole, NODES_MAX, NamedLink, Node, SwitchRole, Topology,
};
use wiremend_units::{HostId, LaneId, LinkId, NodeId, Rate, Span, SwitchId};

const HOST: Cable = Cable { rate: Rate::gbps(25), delay: Span::from_ns(500) };
const SWITCH: Cable = Cable { rate: Rate::gbps(100), delay: Span::from_us(1) };
const CABLES: Cables = Cables { host: HOST, switch: SWITCH };

#[test]
fn a_fat_tree_has_the_counts_and_wiring_of_the_paper() {
    for k in [2, 4, 8, 16] {
        let graph = Topology::FatTree { k }.build(CABLES).unwrap();
        assert_eq!(graph.host_count(), k * k * k / 4);
        assert_eq!(graph.switch_count(), k * k + k * k / 4);
        assert_eq!(graph.links().len() as u32, 3 * k * k * k / 4);
        for switch in graph.switches() {
            assert_eq!(graph.ports(graph.switch_node(switch)).len() as u32, k, "each switch has k ports");
        }
    }
    let graph = Topology::FatTree { k: 4 }.build(CABLES).unwrap();
    // Hosts are numbered pod by pod, two per edge switch.
    assert_eq!(graph.name(graph.switch_node(graph.tor(HostId(6)))), "edge1-1");
    // Aggregation switch i of each pod reaches cores i·k/2 and i·k/2 + 1.
    for (lane, there) in [("agg2-1>core2", true), ("agg2-1>core3", true), ("agg2-1>core1", false)] {
        assert_eq!(graph.lane_by_name(lane).is_some(), there, "{lane}");
    }
    assert!(graph.link_by_name("edge0-1-agg0-0").is_some());
    assert!(graph.link_by_name("edge0-1-agg1-0").is_none());
    let count = |role| graph.switches().filter(|switch| graph.role(*switch) == role).count();
    let roles = [SwitchRole::Edge, SwitchRole::Aggregation, SwitchRole::Core, SwitchRole::Other];
    assert_eq!(roles.map(count), [8, 8, 4, 0]);
}

#[test]
fn links_have_the_cable_of_their_role() {
    let graph = Topology::LeafSpine { leaves: 3, spines: 2, hosts_per_leaf: 4 }.build(CABLES).unwrap();
    for (index, link) in graph.links().iter().enumerate() {
        let cable = Cable { rate: link.rate, delay: link.delay };
        match graph.link_role(LinkId(index as u32)) {
            LinkRole::Host => assert_eq!(cable, HOST),
            LinkRole::Switch => assert_eq!(cable, SWITCH),
        }
    }
}

#[test]
fn oversubscription_is_host_rate_over_uplink_rate() {
    let leaf_spine = |hosts_per_leaf, spines| Topology::LeafSpine { leaves: 2, spines, hosts_per_leaf };
    let ratio = |topology: Topology| topology.build(CABLES).unwrap().oversubscription();
    assert_eq!(ratio(leaf_spine(16, 2)), Some(2.0));
    assert_eq!(ratio(leaf_spine(16, 4)), Some(1.0));
    assert_eq!(ratio(Topology::FatTree { k: 4 }), Some(0.25));
    assert_eq!(ratio(Topology::Pair), None);
}

#[test]
fn a_chain_has_hosts_at_both_ends() {
    let graph = Topology::Chain { switches: 3, hosts_per_end: 2 }.build(CABLES).unwrap();
    let tors: Vec<u32> = graph.hosts().map(|host| graph.tor(host).0).collect();
    assert_eq!(tors, [0, 0, 2, 2]);
    assert_eq!(graph.role(SwitchId(1)), SwitchRole::Other);
    let single = Topology::Chain { switches: 1, hosts_per_end: 1 }.build(CABLES).unwrap();
    assert_eq!((single.host_count(), single.links().len()), (2, 2));
    let pair = Topology::Pair.build(CABLES).unwrap();
    assert_eq!(pair.link_name(LinkId(1)), "h1-tor");
}

/// The computed size equals the built network.
#[test]
fn size_equals_the_built_network() {
    let topologies = [
        Topology::Pair,
        Topology::Chain { switches: 1, hosts_per_end: 3 },
        Topology::Chain { switches: 5, hosts_per_end: 2 },
        Topology::FatTree { k: 6 },
        Topology::LeafSpine { leaves: 5, spines: 3, hosts_per_leaf: 7 },
    ];
    for topology in topologies {
        let (size, graph) = (topology.size(), topology.build(CABLES).unwrap());
        let mut tors: Vec<_> = graph.hosts().map(|host| graph.tor(host)).collect();
        tors.dedup();
        let built = (graph.host_count(), graph.switch_count(), tors.len() as u32, graph.links().len() as u32);
        assert_eq!((size.hosts, size.switches, size.tors, size.links), four(built), "{topology:?}");
    }
    assert_eq!(Topology::FatTree { k: 1000 }.size().hosts, 250_000_000);
    assert_eq!(Topology::FatTree { k: u32::MAX - 1 }.size().links, u64::MAX);
}

#[test]
fn parameters_out_of_range_are_rejected_with_the_range() {
    let refused = |topology: Topology| topology.build(CABLES).unwrap_err().to_string();
    for k in [0, 1, 5, 130, 1000, u32::MAX] {
        assert_eq!(
            refused(Topology::FatTree { k }),
            format!("fat-tree k {k} is not an even number from 2 to 128")
        );
    }
    assert!(refused(Topology::Chain { switches: 0, hosts_per_end: 1 }).contains("at least 1"));
    assert!(refused(Topology::Chain { switches: 1, hosts_per_end: 0 }).contains("at least 1"));
    let huge = Topology::LeafSpine { leaves: 1 << 20, spines: 16, hosts_per_leaf: 1 << 30 };
    assert_eq!(
        huge.build(CABLES).unwrap_err(),
        GraphError::TooMany { what: "nodes", count: (1 << 50) + (1 << 20) + 16, max: NODES_MAX }
    );
    let meshed = Topology::LeafSpine { leaves: 1 << 12, spines: 1 << 12, hosts_per_leaf: 1 };
    assert!(refused(meshed).contains(&format!("at most {LINKS_MAX}")));
    assert!(refused(Topology::LeafSpine { leaves: 1, spines: 1, hosts_per_leaf: 1 }).contains("at least 2"));
}

#[test]
fn invalid_networks_are_rejected() {
    let error = |hosts: &[&str], switches: &[&str], links: &[(&str, &str)]| {
        written(hosts, switches, links).unwrap_err().to_string()
    };
    let ok = [("a", "x"), ("b", "x")];
    assert!(written(&["a", "b"], &["x"], &ok).is_ok());
    let cases = [
        (error(&["a", "b"], &["x"], &[("a", "x"), ("b", "y")]), "link 2 ends at `y`"),
        (error(&["a", "b"], &["x"], &[("a", "x"), ("b", "x"), ("x", "x")]), "from `x` to itself"),
        (error(&["a", "b"], &["x"], &[("a", "x")]), "host `b` has 0 links"),
        (error(&["a", "b"], &["x", "y"], &[("a", "x"), ("b", "x"), ("y", "a")]), "host `a` has 2 links"),
        (error(&["a", "b"], &["x"], &[("a", "b")]), "the hosts `a` and `b`"),
        (
            error(&["a", "b"], &["x", "y"], &[("a", "x"), ("b", "y")]),
            "host `b` cannot be reached from host `a`",
        ),
        (error(&["a"], &["x"], &[("a", "x")]), "1 hosts"),
        (error(&[], &[], &[]), "0 hosts"),
        (error(&["a", "a"], &["x"], &ok), "two nodes are called `a`"),
        (error(&["a", "x"], &["x"], &ok), "two nodes are called `x`"),
        (error(&["a", "b c"], &["x"], &ok), "`b c` is not a node's name"),
        (error(&["a", ""], &["x"], &ok), "`` is not a node's name"),
        (error(&["a", "b>c"], &["x"], &ok), "is not a node's name"),
        (error(&["a", &"b".repeat(65)], &["x"], &ok), "1 to 64"),
    ];
    for (error, expected) in cases {
        assert!(error.contains(expected), "{error} / {expected}");
    }
}

#[test]
fn graphs_from_links_keep_names_and_parallel_links() {
    let links = [("a", "x"), ("y", "b"), ("x", "y"), ("y", "x"), ("x", "y")];
    let graph = written(&["a", "b"], &["x", "y", "spare"], &links).unwrap();
    let names: Vec<String> = (0..5).map(|link| graph.link_name(LinkId(link))).collect();
    // The host's end comes first.
    assert_eq!(names, ["a-x", "b-y", "x-y", "y-x#2", "x-y#3"]);
    assert_eq!(graph.lane_name(LaneId(7)), "x>y#2");
    assert_eq!(graph.link_by_name("x-y#2"), Some(LinkId(3)));
    for wrong in ["x-y#4", "x-y#0", "x-y#", "x-b", "x", "", "-", "x>y"] {
        assert_eq!(graph.link_by_name(wrong), None, "{wrong}");
    }
    for wrong in ["x>y#4", "x-y", ">", "x>", "x>y>x", "a>b"] {
        assert_eq!(graph.lane_by_name(wrong), None, "{wrong}");
    }
    assert_eq!(
        [0, 1, 2].map(|switch| graph.role(SwitchId(switch))),
        [SwitchRole::Edge, SwitchRole::Edge, SwitchRole::Other]
    );
}

proptest! {
    /// In every topology each port is an end of its link, and each name maps to its element.
    #[test]
    fn ports_and_names_are_consistent(topology in topologies()) {
        let graph = topology.build(CABLES).unwrap();
        let mut seen = vec![0; graph.lane_count() as usize];
        for node in graph.nodes() {
            for lane in graph.ports(node) {
                seen[lane.index()] += 1;
                prop_assert_eq!(graph.lane_from(*lane), node);
                prop_assert_eq!(graph.lane_to(lane.reverse()), node);
            }
            prop_assert!(graph.ports(node).is_sorted());
            prop_assert_eq!(graph.node_by_name(graph.name(node)), Some(node));
            match graph.node(node) {
                Node::Host(host) => prop_assert_eq!(graph.host_node(host), node),
                Node::Switch(switch) => prop_assert_eq!(graph.switch_node(switch), node),
            }
        }
        prop_assert!(seen.iter().all(|count| *count == 1));
        for lane in graph.lanes() {
            prop_assert_eq!(graph.lane_by_name(&graph.lane_name(lane)), Some(lane));
            prop_assert_eq!(graph.link_by_name(&graph.link_name(lane.link())), Some(lane.link()));
        }
        prop_assert_eq!(graph.lane_to(graph.uplink(HostId(0))), NodeId(graph.host_count() + graph.tor(HostId(0)).0));
    }
}

fn topologies() -> impl Strategy<Value = Topology> {
    prop_oneof![
        (1_u32..6, 1_u32..5)
            .prop_map(|(switches, hosts_per_end)| Topology::Chain { switches, hosts_per_end }),
        (1_u32..4).prop_map(|half| Topology::FatTree { k: 2 * half }),
        (2_u32..6, 1_u32..5, 1_u32..5).prop_map(|(leaves, spines, hosts_per_leaf)| Topology::LeafSpine {
            leaves,
            spines,
            hosts_per_leaf
        }),
    ]
}

fn written(hosts: &[&str], switches: &[&str], links: &[(&str, &str)]) -> Result<Graph, GraphError> {
    let links: Vec<_> = links.iter().map(|(a, b)| NamedLink { a, b, cable: SWITCH }).collect();
    Graph::from_links(hosts, switches, &links)
}

fn four(numbers: (u32, u32, u32, u32)) -> (u64, u64, u64, u64) {
    (numbers.0.into(), numbers.1.into(), numbers.2.into(), numbers.3.into())
}
