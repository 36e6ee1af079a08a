//! Fabrics in tiers: link numbers, path counts, and invalid files.

use std::fmt::Write as _;

use proptest::prelude::*;
use wiremend_fabric::tiers::{FabricShape, PathCounts, Tiers, TiersFault, parse_csv, parse_json};
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
    assert_eq!(error.place.unwrap().0, 2);
    assert!(error.to_string().contains("unknown field `gpbs`"), "{error}");
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
        ("switch,agg,1,1", "switch,agg,1,1\nswitch,tor-c,0,1", "ToR `tor-c` has no uplinks"),
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
                prop_assert_eq!(paths.changed().contains(tor), paths.count(*tor) != before);
            }
        }
    }

    #[test]
    fn no_text_causes_a_panic(text in "(switch|link|[a-c0-3]|,|\n|#|\"|\u{7f}){0,60}") {
        let _ = parse_csv(&text);
        let _ = parse_json(&text);
    }
}
