//! `wiremend fleet`: years, traces, plans and errors.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::tempdir;

use crate::program::{assert_has, files, wiremend, wiremend_in, wiremend_with};

fn sample(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/fleet").join(name);
    path.to_str().expect("a plain path").to_owned()
}

/// Two of the four links of a ToR: at 75 % the first is disabled, and the second only after the first is repaired.
const TRACE: &str = "time_s,link,loss_rate,repair_s\n86400,0,1e-3,86400\n86400,1,1e-4,43200\n129600,0,1e-2\n";

#[test]
fn a_trace_with_repair_times_gives_the_counters_that_follow_by_hand() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("t.csv"), TRACE).unwrap();
    let output = |threads: &str| {
        let arguments = ["fleet", "run", "--pods", "2", "--trace", "t.csv", "--threads", threads, "--json"];
        wiremend_in(directory.path(), &arguments).json()
    };
    let json = output("1");
    let corropt = &json["policies"]["corropt"];
    let count = |key: &str| corropt[key].as_u64().unwrap();
    let keys = ["events", "skipped", "recoveries", "refused", "disabled_by_optimizer"];
    assert_eq!(keys.map(count), [3, 1, 2, 1, 1]);
    // Link 1 corrupts from day 1 to day 2, one of 365; link 0 never while it is in.
    let days = |value: &Value| value.as_f64().unwrap() * 365.0;
    let healthy = 768.0 * 1e-18 * 365.0;
    assert!((days(&corropt["penalty_time_mean"]) - 1e-4 - healthy).abs() < 1e-9, "{corropt}");
    assert!((days(&corropt["active_corrupting"]["mean"]) - 1.0).abs() < 1e-9);
    assert!((days(&corropt["disabled"]["mean"]) - 1.5).abs() < 1e-9);
    assert_eq!((&corropt["least_paths"]["min"], &corropt["disabled"]["max"]), (&0.75.into(), &1.into()));
    assert!((corropt["clean_time_share"].as_f64().unwrap() - 364.0 / 365.0).abs() < 1e-9);
    let both = &json["policies"]["linkguardian+corropt"];
    assert!((days(&both["penalty_time_mean"]) - 7.56e-9 - healthy).abs() < 1e-15, "{both}");
    assert_eq!(both["protected_per_pipe"]["max"], 1);
    assert_eq!(json, output("3"), "the number of threads changes nothing");
}

#[test]
fn averages_begin_at_the_given_day() {
    let arguments =
        ["fleet", "run", "--pods", "1", "--trace", "-", "--from-day", "1", "--days", "1", "--json"];
    let json = wiremend_with(TRACE, &arguments).json();
    let corropt = &json["policies"]["corropt"];
    assert_eq!(corropt["active_corrupting"]["mean"], 1.0);
    assert_eq!(corropt["events"], 3);
}

#[test]
fn a_drawn_trace_is_the_same_as_its_file() {
    let directory = tempdir().unwrap();
    wiremend_in(directory.path(), &["fleet", "trace", "--pods", "2", "--seed", "5", "--out", "t.csv"]).ok();
    let run = |more: &[&str]| {
        let policies = "corropt,none,linkguardian+corropt-aware:0.5";
        let arguments = ["fleet", "run", "--pods", "2", "--seed", "5", "--policy", policies, "--json"];
        let arguments = [&arguments[..], more].concat();
        let mut json = wiremend_in(directory.path(), &arguments).json();
        json["trace"] = Value::Null;
        json
    };
    assert_eq!(run(&[]), run(&["--trace", "t.csv"]));
}

#[test]
fn seeds_leave_intervals_and_files_are_written_whole() {
    let directory = tempdir().unwrap();
    let arguments = ["fleet", "run", "--pods", "3", "--seeds", "3", "--out", "o"];
    let text = wiremend_in(directory.path(), &arguments).ok();
    assert!(text.contains("linkguardian+corropt") && text.contains("less loss than corropt"), "{text}");
    assert_eq!(files(&directory.path().join("o")), ["report.html", "series.csv", "summary.json"]);
    let json: Value =
        serde_json::from_str(&fs::read_to_string(directory.path().join("o/summary.json")).unwrap()).unwrap();
    let corropt = &json["policies"]["corropt"];
    let range = corropt["intervals"]["penalty_time_mean"].as_array().unwrap();
    let mean = corropt["penalty_time_mean"].as_f64().unwrap();
    assert!(range[0].as_f64().unwrap() < mean && mean < range[1].as_f64().unwrap(), "{corropt}");
    let html = fs::read_to_string(directory.path().join("o/report.html")).unwrap();
    assert!(html.matches("<svg").count() >= 8 && !html.contains("<script"));
    let series = fs::read_to_string(directory.path().join("o/series.csv")).unwrap();
    assert!(series.starts_with("policy,time_s,penalty,") && series.lines().count() > 1000);
}

#[test]
fn a_plan_lists_drains_and_reasons() {
    let (fabric, state) = (sample("fabric.csv"), sample("state.csv"));
    let plan = ["fleet", "plan", &state, "--fabric", &fabric, "--now", "2026-11-15T12:03:00Z"];
    let json = wiremend(&[&plan[..], &["--json"]].concat()).json();
    let names = |list: &Value| -> Vec<String> {
        let name_of =
            |one: &Value| one["name"].as_str().or(one["links"][0]["name"].as_str()).unwrap().to_owned();
        list.as_array().unwrap().iter().map(name_of).collect()
    };
    let drain = names(&json["drain"]);
    assert_eq!(drain.len(), 6);
    assert_eq!(
        drain[..2],
        ["ams-p1-tor1:Ethernet50 ams-p1-fab2:Ethernet1/1", "ams-p2-tor2:Ethernet52 ams-p2-fab4:Ethernet1/2"]
    );
    let keep = names(&json["keep"]);
    assert_eq!(keep.len(), 5);
    assert!(keep[0].starts_with("ams-p1-tor4:Ethernet49"), "{keep:?}");
    let gbps = |gbps: u64| gbps * 1_000_000_000;
    assert_eq!(
        json["keep"][0]["because"],
        serde_json::json!({ "tor": "ams-p1-tor4", "bps": gbps(300), "required": gbps(525), "total": gbps(700) })
    );
    assert_eq!(
        json["keep"][2]["because"],
        serde_json::json!({ "pod": "ams-p2", "bps": gbps(1000), "required": gbps(1200), "total": gbps(1600) })
    );
    assert_eq!((&json["count"], &json["broken"]), (&"bandwidth".into(), &serde_json::json!([])));
    assert_eq!((&json["check"][0]["line"], json["check"].as_array().unwrap().len()), (&22.into(), 1));
    let drained_by = |returned: &str| -> Vec<String> {
        let steps = json["order"].as_array().unwrap().iter();
        let of = steps.filter(|step| step["returned"][0]["name"].as_str().unwrap().starts_with(returned));
        of.flat_map(|step| names(&step["drain"])).collect()
    };
    assert_eq!(drained_by("ams-p1-tor3:Ethernet49"), ["ams-p1-tor3:Ethernet50 ams-p1-fab2:Ethernet1/3"]);
    let text = wiremend(&plan).ok().replace("\n            ", " ");
    assert_has(
        &text,
        "\
        of 2026-11-15T12:00:00Z, 3 min old | every ToR keeps 75 % of its bandwidth to the top tier when it sends alone, \
        and every pod when all its ToRs send; one of them has a share of its own | \
        state.csv:22:1: `ams-p1-fab1:Ethernet1/4` already has a corrupt row | \
        Drain now   ams-p1-tor1:Ethernet50 | would keep 300 of 700 Gb/s to the top tier, and needs 525 Gb/s | \
        pod ams-p2 with all its ToRs sending would keep 1000 of 1600 Gb/s | \
        when ams-p1-tor3:Ethernet49 ams-p1-fab1:Ethernet1/3 is back, drain | the sum of loss ratios is",
    );
}

/// CorrOpt's count: the fast uplink is one path of 16, and a ToR with 14 paths is broken at 100 %.
#[test]
fn a_plan_can_count_paths() {
    let (fabric, state) = (sample("fabric.csv"), sample("state.csv"));
    let plan =
        ["fleet", "plan", &state, "--fabric", &fabric, "--now", "2026-11-15T12:03:00Z", "--count", "paths"];
    let json = wiremend(&[&plan[..], &["--json"]].concat()).json();
    assert_eq!(
        json["broken"],
        serde_json::json!([{ "tor": "ams-p2-tor6", "paths": 14, "required": 16, "total": 16 }])
    );
    let drained = json["drain"].to_string();
    assert!(drained.contains("ams-p1-tor4:Ethernet49"), "{drained}");
    let text = wiremend(&plan).ok().replace("\n            ", " ");
    assert_has(
        &text,
        "every ToR keeps 75 % of its paths to the top tier, whatever their rates | \
        ToR ams-p2-tor6 has 14 of 16 paths to the top tier, and needs 16: no link is drained that it needs",
    );
    wiremend(&["fleet", "plan", &state, "--count", "path"]).refused_for(2, "did you mean `paths`");
}

/// A ToR with uplinks of 400, 100, 100 and 100 Gb/s would lose 57 % of its bandwidth with the first.
#[test]
fn a_fast_uplink_is_not_drained_as_one_path_of_four() {
    let directory = tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    let links = "link,t,1,s,1,400\nlink,t,2,s,2,100\nlink,t,3,s,3,100\nlink,t,4,s,4,100\n";
    write("fabric.csv", &format!("switch,t,tor\nswitch,s,spine\n{links}"));
    write("state.csv", "time,0\ncorrupt,t:1,1e-3\ncorrupt,t:2,1e-4\n");
    let plan = |more: &[&str]| {
        let plan = ["fleet", "plan", "state.csv", "--fabric", "fabric.csv", "--now", "0"];
        wiremend_in(directory.path(), &[&plan[..], more].concat())
    };
    let text = plan(&["--drain", "t:1"]);
    assert_eq!(text.code, Some(1));
    assert_eq!(
        text.stdout,
        "no   t:1 s:1: ToR t would keep 300 of 700 Gb/s to the top tier, and needs 525 Gb/s\n"
    );
    assert_eq!(plan(&["--drain", "t:1", "--count", "paths"]).ok(), "yes  t:1 s:1\n");
    let json = plan(&["--json"]).json();
    assert_eq!(
        (&json["drain"][0]["links"][0]["name"], &json["keep"][0]["name"]),
        (&"t:2 s:2".into(), &"t:1 s:1".into())
    );
}

/// Shares of single ToRs and pods in the fabric; those of the state win.
#[test]
fn tors_and_pods_can_have_their_own_constraint() {
    let directory = tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    let fabric = "switch,t1,tor,p\nswitch,t2,tor,p\nswitch,s,spine\nlink,t1,1,s,1\nlink,t1,2,s,2\nlink,t2,1,s,3\nlink,t2,2,s,4\n";
    let may = |rows: &str, state: &str, link: &str| {
        write("fabric.csv", &format!("{fabric}{rows}"));
        write("state.csv", &format!("time,0\n{state}"));
        let plan =
            ["fleet", "plan", "state.csv", "--fabric", "fabric.csv", "--now", "0", "--constraint", "0.5"];
        wiremend_in(directory.path(), &[&plan[..], &["--drain", link]].concat()).code
    };
    assert_eq!(may("", "", "t1:1"), Some(0));
    assert_eq!(may("tor,t1,0.6\n", "", "t1:1"), Some(1));
    assert_eq!(may("tor,t1,0.6\n", "", "t2:1"), Some(0));
    assert_eq!(may("tor,t1,0.6\n", "tor,t1,0.5\n", "t1:1"), Some(0));
    assert_eq!(may("pod,p,0.8\ntor,t1,0.5\n", "", "t1:1"), Some(1), "the pod keeps 80 % as a whole");
    assert_eq!(may("pod,p,0.7\ntor,t1,0.5\n", "", "t1:1"), Some(0));
}

/// A link without a port, an uncabled ToR, a link between two ToRs, both ends of a link in the state: each is listed
/// in all outputs, and the plan is that of the rest.
#[test]
fn an_invalid_item_does_not_stop_the_plan() {
    let directory = tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    let good = "switch,t1,tor\nswitch,t2,tor\nswitch,s,spine\nlink,t1,1,s,1\nlink,t1,2,s,2\nlink,t2,1,s,3\nlink,t2,2,s,4\n";
    write("fabric.csv", &format!("{good}switch,t3,tor\nlink,t2,,s,5\nlink,t1,9,t2,9\n"));
    write("state.csv", "time,0\ncorrupt,t1:1,1e-4\ncorrupt,s:1,1e-3\ncorrupt,t1:9,1e-3\ndown,t2:7\n");
    let plan = ["fleet", "plan", "state.csv", "--fabric", "fabric.csv", "--now", "0", "--constraint", "0.5"];
    let json = wiremend_in(directory.path(), &[&plan[..], &["--json", "--out", "o"]].concat()).json();
    let items = json["check"].as_array().unwrap();
    let places: Vec<_> =
        items.iter().map(|item| (item["file"].as_str().unwrap(), item["line"].as_u64().unwrap())).collect();
    assert_eq!(
        places,
        [
            ("fabric.csv", 9),
            ("fabric.csv", 10),
            ("fabric.csv", 8),
            ("state.csv", 3),
            ("state.csv", 4),
            ("state.csv", 5)
        ]
    );
    assert_eq!(
        (json["drain"][0]["links"][0]["name"].as_str(), json["drain"][0]["loss"].as_f64()),
        (Some("t1:1 s:1"), Some(1e-3))
    );
    let text = wiremend_in(directory.path(), &plan).ok().replace("\n            ", " ");
    assert_has(
        &text,
        "fabric.csv:9:9: a link of `t2` has no port: name the port of both ends | \
        fabric.csv:10:6: `t1` and `t2` are in the same tier | \
        fabric.csv:8:8: ToR `t3` has no uplinks: add links, or remove it | \
        state.csv:3:1: `s:1` already has a corrupt row, perhaps from its other end; the higher loss, 1e-3, counts | \
        state.csv:4:1: `t1:9` is a link that the fabric does not count | \
        state.csv:5:1: `t2:7` is not a link of the fabric, but switch `t2` is: correct the port, or add the link to the fabric; until then no ToR at or below t2 loses capacity",
    );
    let page = fs::read_to_string(directory.path().join("o/report.html")).unwrap();
    assert!(page.contains("a link of `t2` has no port"));
    // The ToR with the unknown link keeps what it has.
    let ask = |link: &str| wiremend_in(directory.path(), &[&plan[..], &["--drain", link]].concat());
    let no = ask("t2:1");
    assert!(no.code == Some(1) && no.stdout.contains("check state.csv:5:1:"), "{}", no.stdout);
    assert_eq!(ask("t1:1").code, Some(0));
    // A file that is no fabric at all is refused in one line.
    write("fabric.csv", "time,0\ncorrupt,t1:1,1e-4\n");
    assert!(wiremend_in(directory.path(), &plan).refused(2).contains("fabric.csv:1:1: unknown row `time`"));
}

#[test]
fn one_link_is_answered_by_yes_or_no() {
    let (fabric, state) = (sample("fabric.csv"), sample("state.csv"));
    let ask = |links: &[&str]| {
        let mut arguments =
            vec!["fleet", "plan", &state, "--fabric", &fabric, "--now", "2026-11-15T12:03:00Z"];
        for link in links {
            arguments.extend(["--drain", link]);
        }
        wiremend(&arguments)
    };
    assert_eq!(
        ask(&["ams-p1-tor1:Ethernet50"]).ok().lines().next(),
        Some("yes  ams-p1-tor1:Ethernet50 ams-p1-fab2:Ethernet1/1")
    );
    let no = ask(&["ams-p1-tor3:Ethernet50"]);
    assert_eq!(no.code, Some(1));
    assert!(
        no.stdout.starts_with("no   ") && no.stdout.contains("ToR ams-p1-tor3 would keep 200 of 400 Gb/s"),
        "{}",
        no.stdout
    );
    // Each may go, but not both: the second is asked after the first.
    assert_eq!(ask(&["ams-p1-tor1:Ethernet51"]).code, Some(0));
    assert_eq!(ask(&["ams-p1-tor1:Ethernet50", "ams-p1-tor1:Ethernet51"]).code, Some(1));
    // Whole cables go. Every ToR alone could do without the third, but the pod could not.
    let cable = ask(&["ams-p1-fab2:Ethernet2/1/1", "ams-p1-fab3:Ethernet2/1/1", "ams-p1-fab4:Ethernet2/1/1"]);
    assert!(
        cable.code == Some(1)
            && cable.stdout.contains("with all of its cable: ams-p1-fab3:Ethernet2/1/1")
            && cable.stdout.contains("pod ams-p1 with all its ToRs sending would keep 1000 of 1600 Gb/s"),
        "{}",
        cable.stdout
    );
    assert!(ask(&["ams-p1-tor1:Ethernet99"]).refused(2).contains("unknown link"));
}

#[test]
fn a_plan_leaves_its_pictures() {
    let directory = tempdir().unwrap();
    let (fabric, state) = (sample("fabric.csv"), sample("state.csv"));
    let plan = ["fleet", "plan", &state, "--fabric", &fabric, "--now", "2026-11-15T12:03:00Z", "--out", "p"];
    wiremend_in(directory.path(), &plan).ok();
    assert_eq!(files(&directory.path().join("p")), ["plan.json", "pods.svg", "report.html"]);
    let svg = fs::read_to_string(directory.path().join("p/pods.svg")).unwrap();
    assert!(svg.contains("ams-p1") && svg.contains("corrupts, stays in service"));
}

#[test]
fn a_stale_state_is_refused() {
    let (fabric, state) = (sample("fabric.csv"), sample("state.csv"));
    let plan =
        |more: &[&str]| wiremend(&[&["fleet", "plan", &state, "--fabric", &fabric][..], more].concat());
    plan(&["--now", "2026-11-15T13:00:00Z"]).refused_for(2, "60 min old: too old to plan from");
    assert_eq!(plan(&["--now", "2026-11-15T13:00:00Z", "--max-age", "1h"]).code, Some(0));
    assert!(plan(&["--now", "2026-11-15T11:00:00Z"]).refused(2).contains("which is in the future"));
    assert!(plan(&["--max-age", "soon"]).refused(2).contains("expected an age such as"));
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let directory = tempdir().unwrap();
    let in_file = |text: &str, arguments: &[&str]| {
        fs::write(directory.path().join("f.csv"), text).unwrap();
        wiremend_in(directory.path(), arguments).refused(2)
    };
    let fabric = ["fleet", "run", "--fabric", "f.csv"];
    for (text, part) in [
        ("switch,a,0\nlink,a,1,b,1\n", "f.csv:2:6: a link to the unknown switch `b`"),
        ("switch,a,0\nswitch,c,0\nswitch,b,1\nlink,a,1,b,1\n", "f.csv:2:8: ToR `c` has no uplinks"),
        ("switch,a,1\nswitch,b,1\nlink,a,1,b,1\n", "f.csv:3:6: `a` and `b` are in the same tier"),
        (
            "switch,a,0\nswitch,b,1\nlink,a,1,b,1\nlink,a,1,b,1\n",
            "f.csv:4:6: port `1` of `a` already has link 0",
        ),
        ("\n", "f.csv: no fabric"),
    ] {
        let line = in_file(text, &fabric);
        assert!(line.contains(part), "`{part}` in {line}");
    }
    let trace = ["fleet", "run", "--pods", "1", "--trace", "f.csv"];
    for (text, part) in [
        ("2,0,1e-3\n1,0,1e-3\n", "f.csv:2:1: time 1 is before 2"),
        ("2,384,1e-3\n", "f.csv:1:3: link `384` is not a link of the fabric"),
        ("2,0,1\n", "f.csv:1:5: loss_rate `1` is not a loss rate between 0 and 1"),
    ] {
        let line = in_file(text, &trace);
        assert!(line.contains(part), "`{part}` in {line}");
    }
    for (arguments, part) in [
        (&["--constraint", "0"][..], "expected a fraction above 0, at most 1"),
        (&["--constraint", "1.5"], "expected a fraction above 0, at most 1"),
        (&["--fabric", "facebok"], "did you mean `facebook`"),
        (&["--fabric", "no.csv"], "no.csv: cannot be read"),
        (&["--fabric", "fat-tree", "--k", "5"], "k = 5 is out of range: an even number"),
        (&["--fabric", "fat-tree", "--pods", "5"], "--pods: not for a fat-tree fabric"),
        (&["--policy", "corropt,corropt"], "`corropt` is listed twice"),
        (&["--policy", "nothing"], "unknown policy `nothing`"),
        (&["--table", "papre"], "did you mean `paper`"),
        (&["--trace", "x", "--seeds", "2"], "cannot be used with"),
    ] {
        let line = wiremend(&[&["fleet", "run"], arguments].concat()).refused(2);
        assert!(line.contains(part), "`{part}` in {line}");
    }
}
