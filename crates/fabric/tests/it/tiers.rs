//! Fabrics in tiers: link numbers, path counts, and invalid files.

use std::fmt::Write as _;

use proptest::prelude::*;
use wiremend_fabric::tiers::{
    Bandwidths, FabricShape, PathCounts, ScopeAmounts as _, ScopeId, Tiers, TiersFault, parse_csv,
    parse_json, read_csv, read_json,
};
use wiremend_units::{LinkId, Rate, SwitchId};

const RATE: Rate = Rate::gbps(100);

#[test]
fn facebooks_fabric_has_the_published_link_numbers() {
    let tiers = FabricShape::FACEBOOK.build(RATE).unwrap();
    assert_eq!((tiers.link_count(), tiers.switch_count(), tiers.pod_count()), (100_224, 13_764, 261));
    assert_eq!((tiers.tors().len(), tiers.tier_count()), (12_528, 3));
    let ends = |link: u32| {
        let link = tiers.link(LinkId(link));
        (tiers.name(link.lower), tiers.name(link.upper))
    };
    assert_eq!(ends(7 * 192 + 13 * 4 + 2), ("tor7-13", "fab7-2"));
    assert_eq!(ends(50_112 + 3 * 48 * 261 + 5 * 261 + 200), ("fab200-3", "spine3-5"));
    assert_eq!(tiers.pod(tiers.switch_by_name("fab200-3").unwrap()), Some(200));
    assert_eq!(tiers.pod(tiers.switch_by_name("spine3-5").unwrap()), None);
}

/// Port numbers used for pipes: a ToR's by fabric switch, a spine's by pod.
#[test]
fn ports_follow_the_links() {
    let tiers = FabricShape::FACEBOOK.build(RATE).unwrap();
    let port = |link: u32, name: &str| tiers.port_index(LinkId(link), tiers.switch_by_name(name).unwrap());
    assert_eq!((port(7 * 192 + 13 * 4 + 2, "tor7-13"), port(7 * 192 + 13 * 4 + 2, "fab7-2")), (2, 13));
    let up = 50_112 + 3 * 48 * 261 + 5 * 261 + 200;
    assert_eq!((port(up, "fab200-3"), port(up, "spine3-5")), (48 + 5, 200));
    assert_eq!(tiers.link_by_name("tor7-13:2"), Some(LinkId(7 * 192 + 13 * 4 + 2)));
    assert_eq!(tiers.link_by_name(&tiers.link_name(LinkId(up))), Some(LinkId(up)));
    assert_eq!(tiers.link_by_name("100223"), Some(LinkId(100_223)));
    for wrong in ["100224", "tor7-13:4", "tor7-13", "tor7-13:2 fab7-3:13", ""] {
        assert_eq!(tiers.link_by_name(wrong), None, "{wrong}");
    }
}

#[test]
fn every_shape_has_the_expected_path_counts() {
    for (shape, links, ways) in [
        (FabricShape::FACEBOOK, 100_224, 192),
        (FabricShape::Facebook { pods: 3, tors: 2, fabrics: 4, spines: 5 }, 24 + 60, 20),
        (FabricShape::FatTree { k: 8 }, 256, 16),
        (FabricShape::LeafSpine { leaves: 6, spines: 4 }, 24, 4),
    ] {
        let tiers = shape.build(RATE).unwrap();
        assert_eq!(tiers.link_count(), links, "{shape:?}");
        let paths = PathCounts::new(&tiers);
        assert!(tiers.tors().iter().all(|tor| paths.count(*tor) == ways), "{shape:?}");
    }
    let fat_tree = FabricShape::FatTree { k: 4 }.build(RATE).unwrap();
    assert!(fat_tree.switch_by_name("core3").is_some() && fat_tree.switch_by_name("core4").is_none());
    for wrong in [
        FabricShape::FatTree { k: 5 },
        FabricShape::LeafSpine { leaves: 0, spines: 1 },
        FabricShape::FatTree { k: 100_000 },
    ] {
        assert!(wrong.build(RATE).is_err(), "{wrong:?}");
    }
}

/// Two ToRs, a LAG of two links, a breakout of two links, and a ToR that skips a tier.
const FILE: &str = "\
# an export
switch,tor-a,tor,1
switch,tor-b,0,1
switch,agg,1,1
switch,s1,spine
switch,s2,spine
link,tor-a,Eth1,agg,Eth1,100,po1
link,agg,Eth2,tor-a,Eth2,100,po1
link,tor-b,Eth1,agg,Eth3,40
link,tor-b,Eth9,s2,Eth9
link,agg,Eth7/1,s1,Eth1,100,,cable7
link,agg,Eth7/2,s2,Eth1,100,,cable7
";

#[test]
fn files_may_have_lags_breakouts_and_shortcuts() {
    let tiers = parse_csv(FILE).unwrap();
    let paths = PathCounts::new(&tiers);
    let ways = |name: &str| paths.count(tiers.switch_by_name(name).unwrap());
    assert_eq!((ways("tor-a"), ways("tor-b"), ways("agg")), (4, 3, 2));
    assert_eq!(tiers.link(LinkId(2)).rate, Rate::gbps(40));
    assert_eq!(tiers.link_by_name("agg:Eth2"), Some(LinkId(1)));
    assert_eq!(tiers.link_name(LinkId(1)), "tor-a:Eth2 agg:Eth2");
    assert_eq!(tiers.repaired_with(LinkId(4)), [LinkId(4), LinkId(5)]);
    assert_eq!(tiers.repaired_with(LinkId(0)), [LinkId(0)]);
}

#[test]
fn json_and_csv_give_the_same_fabric() {
    let json = r#"{"switches": [{"name": "t", "tier": 0, "pod": "p"}, {"name": "s", "tier": "spine"}],
        "links": [{"a": {"switch": "s", "port": "1"}, "b": {"switch": "t", "port": "9"}, "gbps": 400, "lag": "x"}]}"#;
    let tiers = parse_json(json).unwrap();
    assert_eq!(tiers.link_name(LinkId(0)), "t:9 s:1");
    assert_eq!((tiers.pod_name(0), tiers.link(LinkId(0)).rate), ("p", Rate::gbps(400)));
    let error = parse_json(&json.replace("\"gbps\"", "\"gpbs\"")).unwrap_err();
    assert!(error.to_string().contains("links[0]: unknown field `gpbs`"), "{error}");
    let error = parse_json(&json.replace("\"switch\": \"s\"", "\"switch\": \"z\"")).unwrap_err();
    assert!(error.to_string().contains("links[0]: a link to the unknown switch `z`"), "{error}");
    assert!(parse_json("[[[[").is_err() && parse_json("").is_err());
}

#[test]
fn invalid_fabrics_are_rejected_with_a_position() {
    let changed = |from: &str, to: &str| parse_csv(&FILE.replace(from, to)).unwrap_err().to_string();
    for (from, to, reason) in [
        ("link,tor-b,Eth9,s2,Eth9", "link,tor-b,Eth9,s3,Eth9", "10:6: a link to the unknown switch `s3`"),
        ("switch,tor-b,0,1", "switch,tor-a,0,1", "3:8: switch `tor-a` is given twice"),
        ("switch,s1,spine", "switch,s1,spire", "5:11: `spire` is not a tier"),
        (
            "link,agg,Eth2,tor-a,Eth2",
            "link,tor-b,Eth2,tor-a,Eth2",
            "8:6: `tor-b` and `tor-a` are in the same tier",
        ),
        ("agg,Eth3,40", "agg,Eth3,-40", "9:26: `-40` is not a rate"),
        ("agg,Eth3,40", "agg,Eth1,40", "9:6: port `Eth1` of `agg` already has link 0"),
        ("link,tor-b,Eth9,s2,Eth9", "link,tor-b,Eth9,s2", "10:1: 4 values do not match"),
        ("link,tor-b,Eth9,s2,Eth9", "lnik,tor-b,Eth9,s2,Eth9", "10:1: unknown row `lnik`"),
        ("switch,agg,1,1", "switch,agg,1,1\nswitch,tor-c,0,1", "5:8: ToR `tor-c` has no uplinks"),
        (",100,po1\n", ",x\n", "`x` is not a rate"),
    ] {
        let error = changed(from, to);
        assert!(error.contains(reason), "{error} has not {reason}");
    }
    let dead_end = "switch,t,0\nswitch,a,1\nswitch,b,1\nswitch,s,2\nlink,t,1,a,1\nlink,b,1,s,1\n";
    assert!(matches!(parse_csv(dead_end).unwrap_err().fault, TiersFault::NoPathUp(name) if name == "t"));
    for nothing in ["", "# x\n", "switch,t,0\n", "link,a,1,b,2\n", ",,,,", "switch", "\u{0}"] {
        assert!(parse_csv(nothing).is_err(), "{nothing:?}");
    }
}

/// Whatever is wrong with one item, the others remain, and the item is listed with its place and remedy.
#[test]
fn an_invalid_item_stops_only_itself() {
    for (row, reason, links) in [
        ("link,tor-b,,agg,Eth5", "12:12: a link of `tor-b` has no port: name the port of both ends", 6),
        ("link,tor-b,Eth5,agg,", "12:21: a link of `agg` has no port", 6),
        ("link,tor-a,Eth5,tor-b,Eth5", "12:6: `tor-a` and `tor-b` are in the same tier", 6),
        ("link,tor-b,Eth1,s1,Eth5", "12:6: port `Eth1` of `tor-b` already has link 2", 6),
        ("switch,tor-c,tor,1", "12:8: ToR `tor-c` has no uplinks: add links, or remove it", 6),
        ("lag,agg,tor-a,po2,2", "12:5: no links between these switches have the LAG `po2`", 6),
        (
            "lag,agg,tor-a,po1,3",
            "12:5: LAG `po1` has 2 links and a minimum of 3, and would never be up; 2 is used",
            6,
        ),
        ("lag,agg,tor-a,po1,0", "12:19: `0` is not a minimum of links", 6),
        ("tor,agg,0.5", "12:5: `agg` is not a ToR of the fabric", 6),
        ("pod,x,0.5", "12:5: `x` is not a pod of the fabric", 6),
        ("pod,1,1.5", "12:7: `1.5` is not a constraint", 6),
    ] {
        let file = read_csv(&format!("{FILE}{row}\n")).unwrap();
        let [skipped] = &file.skipped[..] else { panic!("{row}: {:?}", file.skipped) };
        let line = FILE.lines().count() + 1;
        assert!(
            skipped.to_string().starts_with(&reason.replacen("12", &line.to_string(), 1)),
            "`{reason}` in {skipped}"
        );
        assert_eq!((file.tiers.link_count(), file.tiers.tors().len()), (links, 2), "{row}");
    }
    // Without a valid constraint nothing may be taken.
    let file = read_csv(&format!("{FILE}tor,tor-a,75\n")).unwrap();
    assert_eq!(file.tiers.constraints().tors.values().copied().collect::<Vec<_>>(), [1.0]);
    let json = r#"{"switches": [{"name": "t", "tier": 0}, {"name": "s", "tier": 1}],
        "links": [{"a": {"switch": "t", "port": "1"}, "b": {"switch": "s", "port": "1"}}],
        "tors": [{"name": 1}, {"name": "x", "constraint": 0.5}], "pods": [{"name": "t", "constraint": 2}, {"name": "y", "constraint": 1}]}"#;
    let file = read_json(json).unwrap();
    let starts = file.skipped.iter().map(|skipped| skipped.to_string()[..7].to_owned());
    assert_eq!(starts.collect::<Vec<_>>(), ["tors[0]", "pods[0]", "tors[1]", "pods[1]"]);
    assert_eq!(file.tiers.constraints().pods.values().copied().collect::<Vec<_>>(), [1.0]);
    let json = r#"{"switches": [{"name": "t", "tier": 0}, {"name": "u", "tier": 0}, {"name": "s", "tier": 1}, {"tier": 1}],
        "links": [{"a": {"switch": "t", "port": "1"}, "b": {"switch": "s", "port": "1"}},
                  {"a": {"switch": "t", "port": "2"}, "b": {"switch": "s"}},
                  {"a": {"switch": "t", "port": 2}, "b": {"switch": "s", "port": "3"}}],
        "lags": [{"a": "t", "b": "s", "lag": "x", "min_links": 2}], "tors": [{"name": "t", "constraint": 0.9}]}"#;
    let file = read_json(json).unwrap();
    let skipped: Vec<_> = file.skipped.iter().map(ToString::to_string).collect();
    for (skipped, start) in skipped.iter().zip([
        "switches[3]: missing field `name`",
        "links[1]: a link of `s` has no port",
        "links[2]: invalid type: integer",
        "lags[0]: no links between",
        "switches[1]: ToR `u` has no uplinks",
    ]) {
        assert!(skipped.starts_with(start), "`{start}` in {skipped}");
    }
    assert_eq!((skipped.len(), file.tiers.tors().len(), file.tiers.constraints().tors.len()), (5, 1, 1));
}

/// Two of three links of a LAG with a minimum of two, and then none of them.
#[test]
fn a_lag_below_its_minimum_is_down_as_a_whole() {
    let text = "switch,t,0\nswitch,s,1\nlink,t,1,s,1,100,po1\nlink,t,2,s,2,100,po1\nlink,t,3,s,3,400,po1\n\
                link,s,4,t,4,100\nlag,s,t,po1,2\n";
    let tiers = parse_csv(text).unwrap();
    let (mut paths, mut bandwidths) = (PathCounts::new(&tiers), Bandwidths::new(&tiers));
    let tor = tiers.tors()[0];
    let mut counted = Vec::new();
    for (link, up) in [(0, false), (2, false), (0, true), (2, true)] {
        if up {
            paths.bring_up(LinkId(link));
            bandwidths.bring_up(LinkId(link));
        } else {
            paths.take_down(LinkId(link));
            bandwidths.take_down(LinkId(link));
        }
        counted.push((paths.count(tor), bandwidths.amount(ScopeId::tor(tor)) / 1_000_000_000));
    }
    assert_eq!(counted, [(3, 600), (1, 100), (3, 300), (4, 700)]);
    assert!(paths.carries(LinkId(1)) && bandwidths.carries(LinkId(1)));
}

/// Path counts above the limit are rejected.
#[test]
fn too_many_paths_are_rejected() {
    let mut text = String::new();
    for tier in 0..16 {
        let _ = writeln!(text, "switch,s{tier},{tier}");
    }
    for tier in 0..15 {
        for port in 0..8 {
            let _ = writeln!(text, "link,s{tier},u{port},s{},d{port}", tier + 1);
        }
    }
    assert_eq!(parse_csv(&text).unwrap_err().fault, TiersFault::TooManyPaths);
}

/// A fabric of up to four tiers with random links, including parallel links and shortcuts.
fn any_fabric() -> impl Strategy<Value = Tiers> {
    let sizes = proptest::collection::vec(1_usize..4, 2..5);
    (sizes, proptest::collection::vec(any::<(u16, u16)>(), 0..40)).prop_map(|(sizes, picks)| {
        let mut text = String::new();
        let mut all = Vec::new();
        for (tier, size) in sizes.iter().enumerate() {
            for index in 0..*size {
                let _ = writeln!(text, "switch,s{tier}-{index},{tier}");
                all.push((tier, index));
            }
        }
        let mut ports = 0;
        let mut link = |(a, i): (usize, usize), (b, j): (usize, usize)| {
            ports += 1;
            let _ = writeln!(text, "link,s{a}-{i},p{ports},s{b}-{j},p{ports}");
        };
        for (tier, index) in all.iter().copied().filter(|(tier, _)| tier + 1 < sizes.len()) {
            link((tier, index), (tier + 1, 0));
        }
        for (a, b) in picks {
            let (a, b) = (all[a as usize % all.len()], all[b as usize % all.len()]);
            if a.0 != b.0 {
                link(a, b);
            }
        }
        parse_csv(&text).unwrap()
    })
}

/// Counts the paths by enumeration.
fn walked(tiers: &Tiers, paths: &PathCounts<'_>, from: SwitchId) -> u64 {
    if tiers.tier(from) + 1 == tiers.tier_count() {
        return 1;
    }
    let up = tiers.links_above(from).iter().filter(|link| paths.is_up(**link));
    up.map(|link| walked(tiers, paths, tiers.link(*link).upper)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn path_counts_equal_enumeration(tiers in any_fabric(), picks in proptest::collection::vec(any::<(u16, bool)>(), 1..30)) {
        let mut paths = PathCounts::new(&tiers);
        for (pick, up) in picks {
            let before: Vec<_> = tiers.tors().iter().map(|tor| paths.count(*tor)).collect();
            let link = LinkId(u32::from(pick) % tiers.link_count());
            if up { paths.bring_up(link) } else { paths.take_down(link) }
            prop_assert_eq!(paths.is_up(link), up);
            for (tor, before) in tiers.tors().iter().zip(before) {
                prop_assert_eq!(paths.count(*tor), walked(&tiers, &paths, *tor));
                prop_assert_eq!(paths.changed().contains(&ScopeId::tor(*tor)), paths.count(*tor) != before);
            }
        }
    }

    #[test]
    fn no_text_causes_a_panic(text in "(switch|link|[a-c0-3]|,|\n|#|\"|\u{7f}){0,60}") {
        let _ = parse_csv(&text);
        let _ = parse_json(&text);
    }
}
