//! `wiremend check`: cycles of buffers with their figures, or none with the reason.

use crate::program::{assert_has, wiremend, wiremend_with};

/// The PFC draft's Fig. 1: two 40G switches.
const TWO: &str = "title = \"two switches\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 2\nrate = \"40Gbps\"\n\
    [[workload]]\nkind = \"flows\"\npattern = \"point-to-point\"\nsrc = \"h0\"\ndst = \"h3\"\nbytes = \"1KiB\"\n";

const LOOP: [&str; 4] = ["check", "-", "--override", "s1:h3:s0"];

#[test]
fn a_fat_tree_has_no_cycle_and_the_reason_is_given() {
    let text = wiremend(&["check", "tour"]).ok();
    for part in
        ["Checked    ", " lanes between them", "no deadlock: no buffer can wait", "goes up, away", "4 ranks"]
    {
        assert!(text.replace("\n           ", " ").contains(part), "`{part}` in {text}");
    }
    let json = wiremend(&["check", "tour", "--set", "topology.k=4", "--json"]).json();
    assert_eq!((&json["deadlock_free"], &json["order"]["up_down"]), (&true.into(), &true.into()));
    let counts = ["switches", "lanes", "classes", "dependencies"].map(|key| json[key].as_u64().unwrap());
    assert_eq!(counts, [20, 64, 8, 128]);
    assert!(json["failures"].is_null() && json["components"].as_array().is_some_and(Vec::is_empty));
}

#[test]
fn the_loop_of_two_switches_has_its_figures() {
    let ended = wiremend_with(TWO, &[&LOOP[..], &["--rate", "2Gbps", "--alpha", "1"]].concat());
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let text = ended.stdout.replace("\n           ", " ");
    assert_has(
        &text,
        "\
        2 lanes can wait for each other in cycles | Loop       of 2 switches, for h3: s0>s1 → s1>s0 | \
        deadlock above 1.25Gbps at TTL 64 | at 2Gbps in about 128ms (α = 1, 12MB shared)",
    );
    for (ttl, least) in [("64", 1_250_000_000), ("32", 2_500_000_000_u64), ("16", 5_000_000_000)] {
        let ended = wiremend_with(TWO, &[&LOOP[..], &["--ttl", ttl, "--rate", "1Gbps", "--json"]].concat());
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        let json: serde_json::Value = serde_json::from_str(&ended.stdout).expect("stdout is JSON");
        let cycle = &json["components"][0]["cycles"][0];
        assert_eq!(cycle["kind"], "loop");
        assert_eq!(cycle["switches"], serde_json::json!(["s0", "s1"]));
        assert_eq!(cycle["destinations"], serde_json::json!(["h3"]));
        assert_eq!(cycle["least_rate_bps"], least);
        assert_eq!(cycle["least_rate_fluid_bps"], least);
        assert!(cycle["time_to_fill_s"].is_null(), "1 Gb/s drain");
    }
}

#[test]
fn failed_links_make_loops_until_all_switches_reroute() {
    let ended = wiremend(&["check", "tour", "--set", "topology.k=4", "--fail", "1", "--json"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).expect("stdout is JSON");
    let failures = &json["failures"];
    let counts = ["cases", "examined", "cyclic_at_the_link", "cyclic_everywhere"]
        .map(|key| failures[key].as_u64().unwrap());
    assert_eq!(counts, [32, 2, 32, 0]);
    assert_eq!(failures["examples"][0]["links"], serde_json::json!(["edge0-0-agg0-0"]));
    assert_eq!(failures["examples"][0]["rerouted"], "at-the-link");
    let text = wiremend(&["check", "tour", "--set", "topology.k=4", "--fail", "1"])
        .stdout
        .replace("\n           ", " ");
    assert_has(
        &text,
        "32 combinations of up to 1 failed link (2 checked | 32 with cycles while only | none after all",
    );
    // Two switches have no way around the link between them, and nobody to send back to.
    let text = wiremend_with(TWO, &["check", "-", "--fail", "1"]).ok();
    assert!(text.contains("1 combination of up to 1 failed link: none with cycles"), "{text}");
    let text = wiremend_with(TWO, &[&LOOP[..], &["--fail", "1"]].concat()).stdout;
    assert!(text.contains("not checked"), "{text}");
}

#[test]
fn buffers_ttl_and_classes_come_from_the_scenario() {
    let of = |more: &[&str]| {
        let ended = wiremend(&[&["check", "deadlock", "--rate", "5Gbps", "--json"], more].concat());
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        let json: serde_json::Value = serde_json::from_str(&ended.stdout).expect("stdout is JSON");
        (json["buffers"].clone(), json["components"][0]["cycles"][0]["time_to_fill_s"].as_f64().unwrap())
    };
    let (usual, fill) = of(&[]);
    assert_eq!((&usual["alpha"], &usual["ttl"]), (&"1/16".into(), &64.into()));
    assert_eq!(usual["lossless_classes"], serde_json::json!([3]));
    let shared = usual["shared_bytes"].as_u64().unwrap();
    assert!((11_000_000..12_000_000).contains(&shared), "{shared}");
    let (larger, slower) = of(&["--set", "switch.lossless.alpha=1", "--set", "switch.lossless.buffer=24MB"]);
    assert!(
        larger["shared_bytes"].as_u64().unwrap() > shared && slower > 10.0 * fill,
        "{larger} {slower} {fill}"
    );
    let (short, _) = of(&["--set", "workload.0.ttl=70"]);
    assert_eq!(short["ttl"], 70, "the highest of the lossless traffic");
    let (given, _) = of(&["--ttl", "80", "--alpha", "1/8", "--buffer", "5MB"]);
    assert_eq!(
        (&given["ttl"], &given["alpha"], &given["shared_bytes"]),
        (&80.into(), &"1/8".into(), &5_000_000.into())
    );
    let text = wiremend(&["check", "deadlock", "--set", "switch.lossless.classes=[5]"]).stdout;
    assert!(text.contains("no workload sends in a lossless class"), "{text}");
}

#[test]
fn bad_input_is_refused_with_the_remedy() {
    let cases: &[(&[&str], &str)] = &[
        (&["--override", "s1:h3"], "write SWITCH:DEST:NEXT"),
        (&["--override", "s9:h3:s0"], "unknown switch `s9`"),
        (&["--override", "h1:h3:s0"], "`h1` is a host"),
        (&["--override", "s1:h9:s0"], "unknown destination `h9`"),
        (&["--override", "s1:h3:s7"], "unknown neighbour `s7`"),
        (&["--override", "s1:h3:h0"], "no link connects `s1` and `h0`; its neighbours are h2, h3, s0"),
        (&["--override", "s1:h3:h2"], "does not forward"),
        (&["--override", "s1:h3:s0", "--override", "s1:h3:s0"], "remove one"),
        (&["--ttl", "0"], "from 1 to 255"),
        (&["--ttl", "256"], "from 1 to 255"),
        (&["--alpha", "0"], "from 1/128 to 8"),
        (&["--alpha", "9"], "from 1/128 to 8"),
        (&["--rate", "fast"], "--rate"),
        (&["--rate", "0Gbps"], "--rate"),
        (&["--buffer", "0B"], "1kB to 1000GB"),
        (&["--fail", "4"], "--fail"),
        (&["--variant", "nope"], "unknown variant"),
        (&["--set", "topology.switches=0"], "topology.switches"),
    ];
    for (arguments, part) in cases {
        let line = wiremend_with(TWO, &[&["check", "-"], *arguments].concat()).refused(2);
        assert!(line.contains(part), "`{part}` in {line}");
    }
    let line = wiremend(&["check", "tour", "--set", "topology.k=8", "--fail", "3"]).refused(2);
    assert!(
        line.contains("--fail: 2796416 combinations of failed links are too many: at most 10000"),
        "{line}"
    );
    wiremend(&["check", "tuor"]).refused_for(2, "did you mean `tour`");
}
