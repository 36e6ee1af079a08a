//! The ledger of claims.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{assert_has, command, ended, files, wiremend};

#[test]
fn livelock_and_waste_are_reproduced() {
    let ledger = wiremend(&["repro", "V1", "v2", "--quick", "--json"]).json();
    let claims = ledger["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 2);
    for (claim, id) in claims.iter().zip(["V1", "V2"]) {
        for field in ["id", "verdict", "paper", "measured", "why", "source", "method"] {
            assert!(claim[field].as_str().is_some_and(|text| !text.is_empty()), "{field} of {claim}");
        }
        assert_eq!(
            (claim["id"].as_str(), claim["verdict"].as_str()),
            (Some(id), Some("reproduced")),
            "{claim}"
        );
        assert!(claim["checks"].as_array().unwrap().iter().all(|check| check["holds"] == true), "{claim}");
    }
    let measured = claims[0]["measured"].as_str().unwrap();
    for operation in ["SEND", "WRITE", "READ"] {
        assert!(measured.contains(&format!("go-back-0 {operation}: goodput 0 b/s, link 99")), "{measured}");
    }
}

#[test]
fn claims_are_listed_and_told() {
    let text = wiremend(&["repro"]).ok();
    assert!(text.contains("V1") && text.contains("Guo et al."), "{text}");
    let text = wiremend(&["repro", "V2", "--quick"]).ok();
    assert_has(
        &text,
        "V2 what one drop costs go-back-N: reproduced | paper | method | measured | why | checks",
    );
}

#[test]
fn a_mechanism_that_is_changed_turns_its_claims_red() {
    for (claim, set) in [
        // Frames are hit whatever their size.
        ("J1", "impair.0.kind=frames"),
        // Links are worse than they should be.
        ("J2", "impair.0.rate=2e-6"),
        // No NAK is lost.
        ("J3", "impair.0.direction=forward"),
        // Without copies there are as many timeouts as there were without the mechanism.
        ("J7", "mend.retransmission_copies=0"),
        ("J8", "mend.dummies=0"),
        // The next flow shows a lost tail.
        ("J5", "transport.qp=per-pair"),
        // Protection that never starts.
        ("L9", "protect.0.start=1000s"),
        // Where no tail is lost, no timer decides.
        ("L10", "impair.0.rate=1e-5"),
        // Without order there is something left to the ends.
        ("W1", "protect.0.by=linkguardian-nb"),
        // Without go-back-0 there is no livelock.
        ("V1", "transport.recovery=go-back-n"),
        // Without drops there is none either.
        ("V1", "impair=[]"),
        // Go-back-0 wastes all that came before the drop.
        ("V2", "transport.recovery=go-back-0"),
        // Without a drop there is nothing to waste.
        ("V2", "impair=[]"),
        // Nobody looks long enough to see that nothing moves.
        ("P1", "deadlock.still=3s"),
        // Without a wrong entry there is no loop.
        ("P3", "route=[]"),
    ] {
        let ended = wiremend(&["repro", claim, "--quick", "--json", "--set", set]);
        assert_eq!(ended.code, Some(1), "{claim} {set}: {}", ended.stderr);
        let ledger: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(ledger["claims"][0]["verdict"], "not reproduced", "{claim} {set}");
        assert_eq!(ledger["changed"][0], *set);
    }
    let ended = wiremend(&["repro", "V1", "--quick", "--set", "transport.recovery=go-back-n"]);
    assert!(ended.stdout.contains("✗ goodput, go-back-0 SEND: "), "{}", ended.stdout);
    assert!(ended.stdout.contains("changed in all runs: transport.recovery=go-back-n"), "{}", ended.stdout);
}

#[test]
fn what_cannot_be_changed_or_is_no_claim_is_refused() {
    wiremend(&["repro", "V1O"]).refused_for(2, "unknown claim `V1O`; did you mean `V1`?");
    let line = wiremend(&["repro", "V1", "--set", "transport.recovry=go-back-n"]).refused(2);
    assert!(line.contains("did you mean `recovery`?"), "{line}");
    wiremend(&["repro", "V1", "--all"]).refused(2);
    wiremend(&["repro", "V1", "--quick", "--set", "variant=[]"]).refused(2);
    wiremend(&["repro", "V1", "--out", "/dev/null/ledger"]).refused(3);
}

#[test]
fn a_ledger_leaves_a_gallery_a_document_and_figures() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("ledger");
    let text = wiremend(&["repro", "V1", "V2", "J1", "--quick", "--out", out.to_str().unwrap()]).ok();
    assert!(text.contains("V1   ✓ reproduced") && text.contains("0 not reproduced"), "{text}");
    assert!(text.contains("J1   ≠ differs") && text.contains("A zero-length WRITE carries a RETH"), "{text}");
    assert_eq!(files(&out), ["VALIDATION.md", "gallery.html", "images", "ledger.json", "runs"]);
    let ledger: Value = serde_json::from_str(&fs::read_to_string(out.join("ledger.json")).unwrap()).unwrap();
    let page = fs::read_to_string(out.join("VALIDATION.md")).unwrap();
    let gallery = fs::read_to_string(out.join("gallery.html")).unwrap();
    assert_eq!(ledger["command"], "wiremend repro V1 V2 J1 --quick");
    for claim in ledger["claims"].as_array().unwrap() {
        let (id, verdict) = (claim["id"].as_str().unwrap(), claim["verdict"].as_str().unwrap());
        assert!(page.contains(&format!("| [{id}](#{}) | {verdict} | ", id.to_lowercase())), "{id} in {page}");
        assert!(gallery.contains(&format!("<section id=\"{id}\">")), "{id}");
        for figure in claim["figures"].as_array().unwrap() {
            let name = format!("images/claims/{}.svg", figure["name"].as_str().unwrap());
            assert!(page.contains(&name) && out.join(&name).is_file(), "{name}");
        }
    }
}

#[test]
fn claims_join_a_ledger_of_before() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    wiremend(&["repro", "J2", "V2", "--quick", "--out", &at("before")]).ok();
    let before = at("before/ledger.json");
    wiremend(&["repro", "V1", "V2", "--quick", "--out", &at("now"), "--merge", &before]).ok();
    let ledger: Value = serde_json::from_str(&fs::read_to_string(at("now/ledger.json")).unwrap()).unwrap();
    let origins: Vec<_> = ledger["claims"]
        .as_array()
        .unwrap()
        .iter()
        .map(|claim| (&claim["id"], &claim["origin"]["command"]))
        .collect();
    let (old, new) = ("wiremend repro J2 V2 --quick", "wiremend repro V1 V2 --quick");
    assert_eq!(
        format!("{origins:?}"),
        format!(
            "{:?}",
            [("J2", old), ("V1", new), ("V2", new)].map(|(id, by)| (Value::from(id), Value::from(by)))
        )
    );
    let page = fs::read_to_string(at("now/VALIDATION.md")).unwrap();
    assert!(
        page.contains(&format!("| J2 | `{old}` | quick |"))
            && page.contains(&format!("| V1 V2 | `{new}` | quick |")),
        "{page}"
    );
    wiremend(&["repro", "V2", "--out", &at("full"), "--merge", &before]).refused_for(2, "other effort");
    fs::write(at("bad.json"), "{}").unwrap();
    let line =
        wiremend(&["repro", "V2", "--quick", "--out", &at("x"), "--merge", &at("bad.json")]).refused(2);
    assert!(line.contains("bad.json: missing field"), "{line}");
}

#[test]
fn results_with_changes_are_marked_and_not_written_to_the_document() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    wiremend(&["repro", "V2", "--quick", "--set", "transport.first_psn=0", "--out", out]).ok();
    assert_eq!(files(directory.path()), ["gallery.html", "images", "ledger.json", "runs"]);
    let gallery = fs::read_to_string(directory.path().join("gallery.html")).unwrap();
    assert!(gallery.contains("transport.first_psn=0"), "{gallery}");
}

#[test]
fn threads_do_not_matter_and_what_is_kept_is_not_computed_again() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    let claims = |arguments: &[&str]| {
        let mut ledger = wiremend(&[&["repro", "V1", "V2", "--quick", "--json"], arguments].concat()).json();
        let computing = ledger["computing_s"].as_f64().unwrap();
        for claim in ledger["claims"].as_array_mut().unwrap() {
            claim["computing_s"].take();
        }
        (ledger["claims"].take(), computing)
    };
    let (first, computing) = claims(&["--threads", "2", "--out", out]);
    assert_eq!(first, claims(&["--threads", "1"]).0);
    let kept = files(&directory.path().join("runs"));
    assert_eq!(kept.len(), 15, "six runs of V1 and nine of V2");
    // The time that is told is the time of the runs that were kept, to the last digit.
    assert_eq!(claims(&["--out", out]), (first.clone(), computing));
    // As after an interruption: some are there, some are not, one is damaged.
    for name in kept.iter().step_by(2) {
        fs::remove_file(directory.path().join("runs").join(name)).unwrap();
    }
    fs::write(directory.path().join("runs").join(&kept[1]), "{\"program\":").unwrap();
    assert_eq!(claims(&["--out", out]).0, first);
    assert_eq!(files(&directory.path().join("runs")), kept);
}

#[cfg(unix)]
#[test]
fn after_ctrl_c_the_same_command_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    // Long enough that it cannot end by itself.
    let arguments = ["repro", "V1", "--threads", "1", "--set", "stop.after=100s", "--out", out];
    let mut program = command();
    let child = program.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let runs = directory.path().join("runs");
    let started = Instant::now();
    while !runs.is_dir() {
        assert!(started.elapsed() < Duration::from_secs(30), "it never started");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let ended = ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("what is done is kept in"), "{}", ended.stderr);
    assert_eq!(files(directory.path()), ["runs"]);
    assert!(files(&runs).iter().all(|name| !name.contains("partial")), "{:?}", files(&runs));
}

/// Fewer iterations are enough to see what is missing.
#[test]
fn a_mechanism_that_is_left_out_turns_the_ping_pong_red() {
    let judged = |set: &str| {
        let fewer = "workload.0.iterations=50000";
        let ended = wiremend(&["repro", "J12", "--quick", "--json", "--set", fewer, "--set", set]);
        let ledger: Value = serde_json::from_str(&ended.stdout).unwrap();
        (ended.code, ledger["claims"][0]["verdict"].as_str().unwrap().to_owned())
    };
    assert_eq!(judged("mend.check_epsn=false"), (Some(0), "reproduced".to_owned()));
    for set in ["mend.dummies=0", "mend.nak_copies=0", "mend.retransmission_copies=0"] {
        assert_eq!(judged(set), (Some(1), "not reproduced".to_owned()), "{set}");
    }
}
