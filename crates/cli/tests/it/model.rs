//! `wiremend model`: exact and printed formulas as table, JSON and plot, and errors.

use std::fs;

use tempfile::tempdir;

use crate::program::{assert_has, wiremend, wiremend_in};

const PING_PONG: [&str; 7] = ["model", "--beta", "1/128", "--bytes", "1024B", "--next", "at-once"];

#[test]
fn both_forms_stand_side_by_side() {
    let text = wiremend(&["model", "--beta", "1e-3", "--links", "4", "--dummies", "2"]).ok();
    assert_has(
        &text,
        "1102 B | 78 B | 66 B | E(1/S) = 0.0576 | 5.98e-4 | as printed | exact | off by | retransmission | mended",
    );
    let tail = text.lines().find(|line| line.starts_with("timeout: tail packet")).expect("a line");
    assert!(tail.ends_with('×') || tail.ends_with('%'), "{tail}");
}

/// The ping-pong at 1/128 without mechanisms: tail β/(1 − β), and the ACKs of packets that arrived.
#[test]
fn json_has_every_number() {
    let json = wiremend(&[&PING_PONG[..], &["--json"]].concat()).json();
    let number = |path: &str| json.pointer(path).and_then(serde_json::Value::as_f64).expect(path);
    assert!((number("/per_flow/bare/timeouts/tail_packet") - 1.0 / 127.0).abs() < 1e-9);
    assert!((number("/per_flow/bare/timeouts/tail_ack") - 4.738e-4).abs() < 1e-6);
    assert!((number("/link/alpha") - 8.896_522e-7).abs() < 1e-12);
    assert!((number("/per_packet/tail_packet/printed") - 1.0 / 128.0).abs() < 1e-12);
    assert!((number("/per_packet/tail_packet/error") + 1.0 / 128.0).abs() < 1e-6);
    assert!(json["per_packet"]["retransmission"]["error"].is_null(), "nothing is sent twice");
    let more = [
        "--dummies",
        "2",
        "--nak-copies",
        "1",
        "--retransmission-copies",
        "1",
        "--nak-reaction",
        "once",
        "--json",
    ];
    let mended = wiremend(&[&PING_PONG[..], &more].concat()).json();
    let total = mended["per_flow"]["mended"]["timeouts_all"].as_f64().expect("a number");
    assert!((total * 200_000.0 - 0.095).abs() < 0.003, "J12: {total}");
    let dummies = mended["bytes"]["dummies"]["exact"].as_f64().expect("a number");
    assert!((dummies - 156.0 / 1102.0).abs() < 1e-9);
}

/// The next flow on a shared queue pair reveals a lost tail.
#[test]
fn a_next_flow_rescues_tails() {
    let bare = |more: &[&str]| {
        let json = wiremend(&[&["model", "--beta", "1e-3", "--json"][..], more].concat()).json();
        json["per_flow"]["bare"]["timeouts"]["tail_packet"].as_f64().expect("a number")
    };
    assert!(bare(&[]) > 4e-4);
    assert!(bare(&["--gap", "1ms"]) < 1e-20);
    assert!(bare(&["--load", "0.1"]) < 1e-20);
    assert!(bare(&["--gap", "1s"]) > 3e-4);
}

#[test]
fn plots_are_whole_files() {
    let directory = tempdir().unwrap();
    let model = ["model", "--beta", "1e-3", "--dummies", "1", "--plot", "timeouts.svg"];
    wiremend_in(directory.path(), &model).ok();
    wiremend_in(directory.path(), &["model", "phy", "--plot", "phy.svg"]).ok();
    for (name, label) in [("timeouts.svg", "bare: retransmission"), ("phy.svg", "50G with FEC")] {
        let svg = fs::read_to_string(directory.path().join(name)).unwrap();
        assert!(svg.contains(label) && svg.trim_end().ends_with("</svg>"), "{name}");
    }
}

#[test]
fn attenuation_bit_errors_and_counters_give_the_frame_loss() {
    let row = |arguments: &[&str], index: usize, key: &str| {
        let json = wiremend(&[&["model", "phy", "--json"][..], arguments].concat()).json();
        json["rows"][index][key].as_f64().expect("a number")
    };
    // L21: the order in which generations break.
    let breaks: Vec<f64> = [3, 1, 2, 0].map(|index| row(&[], index, "loss_1e-5_db")).to_vec();
    assert!(breaks.is_sorted(), "{breaks:?}");
    let darker =
        row(&["--attenuation", "12"], 0, "frame_loss") / row(&["--attenuation", "11"], 0, "frame_loss");
    assert!(darker > 100.0);
    assert!((row(&["--ber", "1e-12"], 0, "frame_loss") / 1.2144e-8 - 1.0).abs() < 1e-3);
    let counted = ["--corrected-bits", "3e7", "--bits", "3e11"];
    assert!((row(&counted, 2, "frame_loss") / row(&["--ber", "1e-4"], 2, "frame_loss") - 1.0).abs() < 1e-9);
    assert!((row(&["--bad-frames", "12", "--frames", "1e8"], 0, "frame_loss") / 1.2e-7 - 1.0).abs() < 1e-9);
    let codewords = ["--codewords", "1e9,1e8,1e7,1e6", "--uncorrectable", "5"];
    assert!(row(&codewords, 0, "codeword_loss") > 4e-9 && row(&codewords, 2, "codeword_loss") < 1e-15);
}

#[test]
fn bad_input_is_refused_with_the_remedy() {
    let directory = tempdir().unwrap();
    for (name, text) in [
        ("falls.csv", "100,50\n50,100\n"),
        ("percent.csv", "100,50\n200,40\n300,100\n"),
        ("ends.csv", "100,0\n200,90\n"),
        ("one.csv", "100,100\n"),
        ("good.csv", "100,0\n200,100\n"),
    ] {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let cases: &[(&[&str], &str)] = &[
        (&["model"], "give --beta 1e-3"),
        (&["model", "--beta", "0"], "above 0, at most 0.5"),
        (&["model", "--beta", "0.6"], "above 0, at most 0.5"),
        (&["model", "--beta=-1"], "between 0 and 1"),
        (&["model", "--beta", "lots"], "write `1e-3`"),
        (&["model", "--alpha", "0.1"], "loses more than half of all full frames; at most 7.86e-5"),
        (&["model", "--beta", "1e-3", "--omega", "1.5"], "between 0 and 1"),
        (&["model", "--beta", "1e-3", "--load", "1.2"], "above 0 and below 1"),
        (&["model", "--beta", "1e-3", "--dummies", "13"], "from 0 to 12"),
        (&["model", "--beta", "1e-3", "--nak-copies", "99"], "from 0 to 12"),
        (&["model", "--beta", "1e-3", "--links", "33"], "33"),
        (&["model", "--beta", "1e-3", "--mtu", "1500"], "1024, 2048 or 4096"),
        (&["model", "--beta", "1e-3", "--workload", "websaerch"], "did you mean `websearch`?"),
        (&["model", "--beta", "1e-3", "--cdf", "falls.csv"], "falls.csv: line 2: size 50 follows 100"),
        (&["model", "--beta", "1e-3", "--cdf", "percent.csv"], "percent.csv: line 2: 40 % follows 50 %"),
        (&["model", "--beta", "1e-3", "--cdf", "ends.csv"], "ends.csv: line 2: the last point is at 90 %"),
        (&["model", "--beta", "1e-3", "--cdf", "one.csv"], "one.csv: line 1: a distribution of 1 points"),
        (&["model", "--beta", "1e-3", "--cdf", "none.csv"], "none.csv: cannot be read"),
        (&["model", "--beta", "1e-3", "--rtt", "0s"], "--rtt: expected a time above zero"),
        (&["model", "--beta", "1e-3", "--alpha", "1e-9"], "cannot be used with"),
        (&["model", "phy", "--attenuation", "99"], "from 0 to 60"),
        (&["model", "phy", "--corrected-bits", "9", "--bits", "3"], "counts all of them"),
        (&["model", "phy", "--codewords", "0,0"], "all counts are zero"),
        (&["model", "phy", "--codewords", "1,1,1,1,1,1,1,1,1", "--code", "rs528"], "give at most 8"),
        (&["model", "phy", "--frame", "10B"], "64 to 65536"),
    ];
    for (arguments, remedy) in cases {
        let line = wiremend_in(directory.path(), arguments).refused(2);
        assert!(line.contains(remedy), "{arguments:?}: {line}");
    }
    wiremend_in(directory.path(), &["model", "--beta", "1e-3", "--cdf", "good.csv"]).ok();
}
