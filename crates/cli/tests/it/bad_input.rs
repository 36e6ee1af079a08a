//! Bad input: one line with place and reason, the right exit code, and no files left behind.

use std::fs::{self, File};
use std::path::Path;

use tempfile::{TempDir, tempdir};

use crate::program::{ended, files, rows, wiremend, wiremend_in, wiremend_with};

/// Sixteen hosts with flows from a list.
const WITH_LIST: &str = "\
title = \"flows from a file\"
[topology]
kind = \"fat-tree\"
k = 4
[[workload]]
kind = \"list\"
file = \"flows.csv\"
";

const SMALL: &str = "\
title = \"one flow\"
[topology]
kind = \"pair\"
[[workload]]
kind = \"flows\"
pattern = \"point-to-point\"
bytes = \"10KB\"
";

/// What a page is asked to show must exist before it is served.
#[test]
fn pages_of_nothing_are_refused() {
    let directory = tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let links = "[[link]]\nport = \"eth0\"\npeer = \"spine-1:eth0\"\n";
    fs::write(path("machine.toml"), format!("node = \"leaf-1\"\n{links}")).unwrap();
    fs::write(path("twice.toml"), format!("node = \"leaf-1\"\n{links}{links}")).unwrap();
    let (missing, machine, twice) = (path("missing"), path("machine.toml"), path("twice.toml"));
    for (arguments, code, reason) in [
        (vec!["serve"], 2, "--config"),
        (vec!["serve", &missing], 2, "is not a directory"),
        (vec!["serve", "--machine", &missing], 2, "missing"),
        (vec!["serve", "--machine", &twice], 2, "already used by another link"),
        (vec!["serve", "--config", &machine], 2, "unknown field"),
        (vec!["serve", ".", "--machine", &machine], 2, "cannot be used with"),
        (vec!["serve", ".", "--token-file", &machine], 2, "cannot be used with"),
        (vec!["serve", ".", "--listen", "0.0.0.0:1"], 2, "readable by other machines"),
        (vec!["serve", "--machine", &machine, "--sysfs", &missing], 3, "set --sysfs"),
    ] {
        wiremend(&arguments).refused_for(code, reason);
    }
}

#[test]
fn failures_that_make_no_sense_are_refused() {
    let with = |fail: &str| {
        let text = format!(
            "title = \"t\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n\
             [[workload]]\nkind = \"flows\"\npattern = \"permutation\"\nbytes = \"1kB\"\n[[fail]]\n{fail}\n"
        );
        wiremend_with(&text, &["run", "-"])
    };
    for (fail, reason) in [
        ("start = \"1us\"", "nothing fails; name `links` or `switches`"),
        ("links = \"all\"\nswitches = \"edge\"", "both `links` and `switches`"),
        ("links = \"leaf0-spine7\"", "unknown link `leaf0-spine7`"),
        ("switches = \"spine9\"", "unknown switch `spine9`"),
        ("links = \"all\"\nup = \"1us\"", "`up` without `down`"),
        ("links = \"all\"\ndown = \"1us\"\nrandom = true", "`random` without `up`"),
        ("links = \"all\"\ndown = \"0s\"", "must be above zero"),
        ("links = \"all\"\nstart = \"2us\"\nstop = \"1us\"", "`stop` is not later than `start`"),
        ("links = \"all\"\nflows = 0", "`flows` is 0"),
        ("links = \"all\"\nreroute = \"1us\"", "without `detect`; routing reacts only"),
        ("links = \"all\"\ndown = \"1ns\"\nup = \"1ns\"", "failures are more than 4000000"),
    ] {
        with(fail).refused_for(2, reason);
    }
}

/// Flows are numbered from 0 in each workload, and those of the next workload start at 2^40.
#[test]
fn a_listed_flow_that_the_scenario_does_not_have_is_refused() {
    let cbr = "[[workload]]\nkind = \"cbr\"\nsrc = \"h0\"\ndst = \"h1\"\nrate = \"1Gbps\"\nstop = \"9us\"\n";
    let with = |flows: &str| {
        let series = format!("[series]\nevery = \"1us\"\nflows = {flows}\n");
        wiremend_with(&format!("{SMALL}count = 3\n{cbr}{series}"), &["run", "-"])
    };
    for (flows, place, reason) in [
        ("[0, 3]", "stdin:17:9", "no flow 3: workload.0 has 3 flows, numbered from 0 to 2"),
        ("[1099511627776]", "stdin:17:9", "no flow 1099511627776: workload.1 has no flows"),
        ("[2199023255552]", "stdin:17:9", "it would be of workload.2, and the scenario has 2 workloads"),
    ] {
        let line = with(flows).refused(2);
        assert!(line.contains(place) && line.contains(reason), "{line}");
    }
    with("[2]").ok();
}

#[test]
fn a_profile_of_a_nic_is_refused_where_it_stands() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("nic.toml"), "about = \"x\"\n[timer]\ntick = 4\n").unwrap();
    for [transport, expected] in rows(
        r#"
        profile = "soft-roc" | bad.toml:10:11: unknown profile `soft-roc`; did you mean `soft-roce`?
        profile = "soft-roce"\nwindow = 64 | bad.toml:10:11: the profile sets `window` too; remove one of both
        profile = "soft-roce"\nrecovery = "irn" | bad.toml:10:11: a profile is of a NIC with go-back-N
        profile = "none.toml" | bad.toml:10:11: cannot read `none.toml`
        profile = "nic.toml" | bad.toml:10:11: nic.toml:3:8: found the number `4`; expected
    "#,
    ) {
        let text = format!("{SMALL}\n[transport]\n{transport}\n");
        fs::write(directory.path().join("bad.toml"), text).unwrap();
        let line = wiremend_in(directory.path(), &["run", "bad.toml", "--out", "results"]).refused(2);
        assert!(line.starts_with(&format!("wiremend: {expected}")), "{line}");
    }
    assert_eq!(files(directory.path()), ["bad.toml", "nic.toml"]);
}

#[test]
fn an_unknown_scenario_is_answered_with_the_nearest() {
    let line = wiremend(&["run", "tuor"]).refused(2);
    assert!(
        line.starts_with("wiremend: no scenario `tuor`; did you mean `tour`? nearest names: tour, "),
        "{line}"
    );
    assert!(line.len() < 200 && line.contains("; `wiremend list` shows all"), "{line}");
    wiremend(&["show", "nak.toml"]).refused_for(2, "no scenario `nak.toml`");
    wiremend(&["run", "no/such.toml"]).refused_for(2, "no/such.toml: cannot be read: ");
}

#[test]
fn an_unknown_field_is_shown_where_it_stands() {
    let text = SMALL.replace("bytes = \"10KB\"", "byts = \"10KB\"");
    let line = wiremend_with(&text, &["run", "-"]).refused(2);
    assert!(line.starts_with("wiremend: stdin:7:1: unknown field `byts`; did you mean `bytes`?"), "{line}");
}

#[test]
fn an_impairment_of_no_link_is_refused() {
    let text = format!("{SMALL}[[impair]]\nkind = \"frames\"\nlinks = \"switches\"\nrate = 0.5\n");
    let line = wiremend_with(&text, &["run", "-"]).refused(2);
    assert!(line.starts_with("wiremend: stdin:10:9: this network has no links between switches"), "{line}");
}

#[test]
fn bad_values_name_file_line_and_column() {
    let directory = tempdir().unwrap();
    for [from, to, expected] in rows(
        r#"
        bytes = "10KB" | bytes = "10 parsecs" | :7:9: 
        kind = "pair" | kind = "pair"\nrate = "0Gbps" | :4:8: 
        kind = "pair" | kind = "fat-tree"\nk = 5 | :4:5: invalid k = 5; expected an even number
        bytes = "10KB" | bytes = "10KB"\n[[impair]]\nkind = "frames"\nlinks = "all"\nrate = 1.5 | :11:8: 
        bytes = "10KB" | bytes = "10KB"\n[[impair]]\nkind = "frames"\nlinks = "all"\nrate = -0.1 | :11:8: 
        bytes = "10KB" | bytes = "10KB"\nsrc = "h7" | :8:7: unknown host `h7`
        bytes = "10KB" | bytes = "10KB"\n[[impair]]\nkind = "frames"\nlinks = "h0-rot"\nrate = 0 | :10:9: unknown link
        [topology] | [topology | :2:10: not TOML
    "#,
    ) {
        let path = directory.path().join("bad.toml");
        fs::write(&path, SMALL.replace(&from, &to)).unwrap();
        let line = wiremend_in(directory.path(), &["run", "bad.toml", "--out", "results"]).refused(2);
        assert!(line.starts_with(&format!("wiremend: bad.toml{expected}")), "{to}: {line}");
        assert_eq!(files(directory.path()), ["bad.toml"], "{to}");
    }
}

#[test]
fn bytes_that_are_no_text_are_shown_where_they_stand() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("bad.toml"), b"title = \"x\"\na = \"\xff\"\n").unwrap();
    let line = wiremend_in(directory.path(), &["run", "bad.toml"]).refused(2);
    assert!(line.starts_with("wiremend: bad.toml:2:6: not UTF-8"), "{line}");
}

#[test]
fn a_bad_override_names_itself() {
    let line = wiremend(&["run", "tour", "--set", "topology.rate=0Gbps"]).refused(2);
    assert!(line.starts_with("wiremend: --set topology.rate=0Gbps: "), "{line}");
    wiremend(&["run", "tour", "--set", "topology.kk=4"]).refused_for(2, "unknown field `kk`");
    wiremend(&["run", "tour", "--set", "topology"]).refused(2);
}

/// Runs a scenario with this flow list and returns the error.
fn refused_list(write: impl FnOnce(&Path)) -> String {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("list.toml"), WITH_LIST).unwrap();
    write(&directory.path().join("flows.csv"));
    let line = wiremend_in(directory.path(), &["run", "list.toml", "--out", "results"]).refused(2);
    assert!(line.starts_with("wiremend: list.toml:7:8: "), "{line}");
    assert!(!directory.path().join("results").exists(), "nothing is left behind");
    line
}

#[test]
fn a_list_that_names_host_99_of_16_is_refused() {
    let line =
        refused_list(|path| fs::write(path, "src,dst,bytes,start_ns\n0,1,1000,0\n0,99,1000,0\n").unwrap());
    assert!(line.contains("flows.csv: line 3, column 3: dst 99 is not one of the 16 hosts"), "{line}");
}

#[test]
fn a_list_with_a_bad_number_on_line_17_says_so() {
    let mut text = "0,1,1000,0\n".repeat(16);
    text.push_str("0,1,10x0,0\n");
    let line = refused_list(|path| fs::write(path, text).unwrap());
    assert!(line.contains("flows.csv: line 17, column 5: "), "{line}");
}

#[test]
fn an_empty_or_missing_list_is_refused() {
    let line = refused_list(|path| fs::write(path, "").unwrap());
    assert!(line.contains("flows.csv: line 1, column 1: "), "{line}");
    let line = refused_list(|_| ());
    assert!(line.contains("cannot read `flows.csv`"), "{line}");
    let line = refused_list(|path| fs::create_dir(path).unwrap());
    assert!(line.contains("it is a directory"), "{line}");
}

/// A sparse file of one gigabyte must not be read into memory.
/// In a scenario, and for `lab wire`.
#[test]
fn a_list_of_faults_with_a_bad_line_is_refused() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("bad.faults"), "forward data 5 1\nbackward nak 5 1\n").unwrap();
    let why = "bad.faults: line 2: unknown kind `nak`; allowed: data, dummy, ack, missing, hello\n";
    let impair = "[[impair]]\nkind = \"script\"\nlinks = \"all\"\nfaults = \"bad.faults\"\n";
    fs::write(directory.path().join("s.toml"), format!("{SMALL}{impair}")).unwrap();
    let line = wiremend_in(directory.path(), &["run", "s.toml"]).refused(2);
    assert_eq!(line, format!("wiremend: s.toml:11:10: {why}"));
    if cfg!(target_os = "linux") {
        let wire = ["lab", "wire", "--a", "no-such-a", "--b", "no-such-b", "--faults"];
        let line = wiremend_in(directory.path(), &[&wire[..], &["bad.faults"]].concat()).refused(2);
        assert_eq!(line, format!("wiremend: {why}"));
        let line = wiremend_in(directory.path(), &[&wire[..], &["none"]].concat()).refused(2);
        assert!(line.starts_with("wiremend: none: cannot be read: "), "{line}");
    }
}

#[test]
fn a_gigabyte_of_garbage_is_refused_at_its_first_line() {
    let line = refused_list(|path| File::create(path).unwrap().set_len(1 << 30).unwrap());
    assert!(line.contains("flows.csv: line 1, "), "{line}");
    assert!(line.len() < 400, "{line}");
}

#[test]
fn a_scenario_too_long_to_be_one_is_refused() {
    let directory = tempdir().unwrap();
    File::create(directory.path().join("long.toml")).unwrap().set_len(1 << 30).unwrap();
    wiremend_in(directory.path(), &["run", "long.toml"]).refused_for(2, "too long for a scenario");
}

#[test]
fn an_unwritable_directory_exits_with_3() {
    let line = wiremend(&["run", "nak", "--out", "/dev/null/results"]).refused(3);
    assert!(line.contains("cannot create the directory `/dev/null/results`"), "{line}");
    wiremend(&["run", "nak", "--capture", "h0-tor=/dev/null/x.pcapng"]).refused_for(3, "/dev/null/x.pcapng");
}

/// `/dev/full` behaves as a full disk; special files are written in place.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_nothing_half_written() {
    for full in ["flows.parquet", "flows.csv", "links.parquet", "links.csv", "summary.json", "report.html"] {
        let directory = tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", directory.path().join(full)).unwrap();
        let out = directory.path().to_str().unwrap();
        let line = wiremend(&["run", "nak", "--out", out, "--csv"]).refused(3);
        assert!(line.contains("/dev/full"), "{full}: {line}");
        assert_eq!(files(directory.path()), [full]);
    }
    wiremend(&["run", "nak", "--capture", "h0-tor=/dev/full"]).refused_for(3, "/dev/full");
}

/// A file system of 64 KiB, where the test may mount one.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_fills_up_on_the_way_is_left_empty() {
    let directory = tempdir().unwrap();
    let script = "mount -t tmpfs -o size=64k none \"$1\" && { \"$2\" run tour --variant clean --csv --out \"$1/out\"; \
                  code=$?; ls -A \"$1\"; exit $code; }";
    let output = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(directory.path())
        .arg(env!("CARGO_BIN_EXE_wiremend"))
        .output();
    let Ok(output) = output else { return eprintln!("skipped: there is no unshare") };
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("unshare:") || stderr.contains("mount:") {
        return eprintln!("skipped: {stderr}");
    }
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("wiremend: cannot write `"), "{stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "nothing is left behind");
}

/// The largest fat-tree has 524 288 hosts. A lack of memory is found before the network is built.
#[cfg(target_os = "linux")]
#[test]
fn a_network_that_does_not_fit_in_memory_is_refused_before_it_is_built() {
    let directory = tempdir().unwrap();
    let text = SMALL.replace("kind = \"pair\"", "kind = \"fat-tree\"\nk = 128");
    fs::write(directory.path().join("large.toml"), text).unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.args([
        "-c",
        "ulimit -v 1000000 && exec \"$0\" run large.toml --threads 1",
        env!("CARGO_BIN_EXE_wiremend"),
    ]);
    let line = ended(shell.current_dir(directory.path()).output().unwrap()).refused(3);
    assert!(
        line.starts_with("wiremend: large.toml:2:1: ") && line.contains("choose a smaller topology"),
        "{line}"
    );
}

/// Each open flow has a connection.
#[cfg(target_os = "linux")]
#[test]
fn flows_at_once_that_do_not_fit_in_memory_are_refused_before_they_begin() {
    let run = "ulimit -v 1000000 && exec \"$0\" run nak --set workload.0.count=1000000 --threads 1";
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", run, env!("CARGO_BIN_EXE_wiremend")]).output().unwrap();
    let line = ended(output).refused(3);
    assert!(
        line.contains("1000000 concurrent flows need about 1.4GB") && line.contains("transport.qp"),
        "{line}"
    );
}

/// A load whose queues grow without bound stops when memory is full.
#[cfg(target_os = "linux")]
#[test]
fn a_run_that_fills_memory_is_stopped() {
    let mut shell = std::process::Command::new("sh");
    let program = env!("CARGO_BIN_EXE_wiremend");
    let run = "ulimit -v 200000 && exec \"$0\" run bench/incast-k8 --set workload.0.bytes=100MB --threads 1";
    let line = ended(shell.args(["-c", run, program]).output().unwrap()).refused(3);
    assert!(line.contains("memory") && line.contains("transport.window"), "{line}");
}

#[test]
fn unknown_links_variants_flows_and_claims_are_refused() {
    let line = wiremend(&["run", "nak", "--capture", "h0-tro=x.pcapng"]).refused(2);
    assert!(line.contains("unknown link `h0-tro`; did you mean `h0-tor`?"), "{line}");
    let line = wiremend(&["run", "tour", "--variant", "go-back-m"]).refused(2);
    assert!(line.contains("unknown variant `go-back-m`; did you mean `go-back-n`?"), "{line}");
    wiremend(&["trace", "nak", "--flow", "7"]).refused_for(2, "no flow 7; this run has 1");
    wiremend(&["repro", "V9"]).refused_for(2, "unknown claim `V9`");
}

#[test]
fn arguments_that_are_none_are_refused_in_one_line() {
    for arguments in [
        ["run", "tour", "--sedes", "3"],
        ["run", "tour", "--seeds", "0"],
        ["run", "tour", "--threads", "x"],
        ["run", "tour", "--capture", "h0-tor"],
        ["trace", "nak", "--flow", "first"],
        ["run", "nak", "--seeds", "1000000000"],
    ] {
        wiremend(&arguments).refused(2);
    }
    wiremend(&["run"]).refused(2);
    wiremend(&["sing"]).refused(2);
    wiremend(&["run", "nak", "--csv"]).refused(2);
}

/// Two switches with a protected link between them.
const PROTECTED: &str = "\
title = \"a protected link\"
[topology]
kind = \"chain\"
switches = 2
[[workload]]
kind = \"cbr\"
rate = \"10Gbps\"
[stop]
after = \"1us\"
[[protect]]
by = \"linkguardian\"
links = \"switches\"
";

#[test]
fn lossless_switches_that_cannot_work_are_refused_with_the_remedy() {
    let lossless =
        PROTECTED.split("[[protect]]").next().unwrap().to_owned() + "[switch.lossless]\nclasses = [0]\n";
    wiremend_with(&lossless, &["run", "-"]).ok();
    for [line, what] in rows(
        r#"
        alpha = 9 | an alpha of 9 is out of range; expected a factor from 1/128 to 8
        headroom = "10MB" | switch `s0`: headroom of 20MB and reserves of 8kB do not fit into a buffer of 12MB; give
        resume_offset = "12MB" | switch `s0`: a paused port could never resume:
        quanta = 3 | ends before its refresh; it needs at least
    "#,
    ) {
        let refused = wiremend_with(&format!("{lossless}{line}\n"), &["run", "-"]).refused(2);
        assert!(refused.starts_with("wiremend: stdin:") && refused.contains(&what), "{line}: {refused}");
    }
}

#[test]
fn protection_that_cannot_work_is_refused_with_the_remedy() {
    wiremend_with(PROTECTED, &["run", "-"]).ok();
    for [lines, what] in rows(
        r#"
        loss = "1e-9" | the link has: there is nothing to mend
        tx_buffer = "5kB" | `tx_buffer` of 5kB is too small for rate and round trip of the link; at least 
        rx_buffer = "5kB" | `rx_buffer` of 5kB is too small for rate and round trip of the link; at least 
        profile = "prototype"\nrx_buffer = "5kB"\ntx_buffer = "5kB" | `rx_buffer` of 5kB is too small for rate and round trip of the link; at least 
        pause_at = "20kB"\nresume_at = "30kB" | resume_at of 30kB must be below pause_at of 20kB
        copies = 5 | from 1 to 4
        [[protect]]\nby = "linkguardian"\nlinks = "switches" | the link `s0-s1` is protected twice; remove one entry
    "#,
    ) {
        let line = wiremend_with(&format!("{PROTECTED}{lines}\n"), &["run", "-"]).refused(2);
        assert!(line.starts_with("wiremend: stdin:") && line.contains(&what), "{lines}: {line}");
    }
    let at_a_host = PROTECTED.replace("switches\"", "h0-s0\"");
    let line = wiremend_with(&at_a_host, &["run", "-"]).refused(2);
    assert!(
        line.contains("the link `h0-s0` ends at a host; only links between switches can be protected"),
        "{line}"
    );
}

/// The minimum that the error names works, and a byte less does not.
#[test]
fn the_least_buffer_that_is_named_works() {
    let with = |tx: &str| wiremend_with(&format!("{PROTECTED}tx_buffer = \"{tx}\"\n"), &["run", "-"]);
    let line = with("1kB").refused(2);
    let least =
        line.split("at least ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap().to_owned();
    with(&least).ok();
    let kilobytes: u64 = least.strip_suffix("kB").unwrap().parse().unwrap();
    with(&format!("{}B", (kilobytes - 1) * 1_000 - 1)).refused(2);
}

#[test]
fn losses_are_tilted_on_one_direction_of_a_protected_link_only() {
    let tilted = "[[impair]]\nkind = \"tilted\"\nrate = \"1e-3\"\n";
    let refused =
        |lines: &str| wiremend_with(&format!("{PROTECTED}{tilted}{lines}\n"), &["run", "-"]).refused(2);
    assert!(refused("links = \"switches\"").contains("`s1>s0` is the second lane with `tilted`"));
    assert!(refused("links = \"h0-s0\"\ndirection = \"forward\"").contains("is not protected"));
    let good = format!("{PROTECTED}{tilted}links = \"switches\"\ndirection = \"forward\"\n");
    wiremend_with(&good, &["run", "-"]).ok();
}

/// All packets are corrupted: retries are exhausted, and the run reports it and ends.
#[test]
fn a_run_that_can_never_finish_ends_and_names_its_flows() {
    let lossy = format!(
        "{SMALL}[[impair]]\nkind = \"frames\"\nlinks = \"all\"\nrate = 1\n[transport]\ntimeout = 2\n"
    );
    let text = wiremend_with(&lossy, &["run", "-"]).ok();
    assert!(text.contains("0/1") && text.contains("failed: 1 retries exhausted"), "{text}");
    assert!(text.contains("first flows with \"retries exhausted\": 0"), "{text}");
    assert!(text.contains("The flow failed: 1 exhausted its retries; links corrupted 80 frames."), "{text}");
    let summary = wiremend_with(&lossy, &["run", "-", "--json"]).json();
    assert_eq!(summary["variants"][0]["finished"], 0);
    assert_eq!(summary["variants"][0]["failed"]["retry_exceeded"], 1);
}

/// A run that fails removes a directory that it created, but not one that existed.
#[test]
fn only_what_was_made_is_removed() {
    let directory: TempDir = tempdir().unwrap();
    let out = directory.path().join("out");
    fs::create_dir(&out).unwrap();
    fs::write(directory.path().join("list.toml"), WITH_LIST).unwrap();
    wiremend_in(directory.path(), &["run", "list.toml", "--out", "out"]).refused(2);
    assert!(out.is_dir());
    assert!(files(&out).is_empty());
}
