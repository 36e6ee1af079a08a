//! Invalid trimming, load balancing and collectives, refused with place and remedy.

use wiremend_scenario::load;

use crate::refusal::{assert_refused, refusal};

/// A test adds lines from line 6 on.
const GOOD: &str =
    "title = \"t\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n";
const FLOWS: &str = "[[workload]]\nkind = \"flows\"\nbytes = \"1MB\"\npattern = \"permutation\"\n";

#[test]
fn trimming_that_cannot_be_is_refused() {
    let trim = |[fields]: [&str; 1]| format!("{GOOD}{FLOWS}[switch.trim]\n{fields}\n");
    let deep = trim(["threshold = \"200kB\""]).replace("leaves", "buffer = \"100kB\"\nleaves");
    assert_eq!(
        refusal(&deep),
        "s.toml:12:1: a `threshold` of 200kB is above the `topology.buffer` of 100kB, so packets would be dropped before they \
         are trimmed; set at most that"
    );
    assert_refused(
        trim,
        r#"
        threshold = "0B" | s.toml:12:13: must be above zero; expected a size such as "64KiB" or "1MB"
        weight = 0 | s.toml:12:10: a weight of 0 is out of range; expected a number from 0.01 to 1000, "fan-in" or "ratio"
        weight = -1.5 | s.toml:12:10: a weight of -1.5 is out of range; expected a number from 0.01 to 1000, "fan-in" or "ratio"
        weight = "fan" | s.toml:12:10: found the text `fan`; expected a number from 0.01 to 1000, "fan-in" or "ratio"
        fan_in = 0 | s.toml:12:10: 0 is out of range; expected a whole number from 1 to 65535
        headers = "0B" | s.toml:12:11: must be above zero; expected a size such as "64KiB" or "1MB"
        class = 0 | s.toml:12:9: class 0 is that of a workload, and header-only packets need their own class; choose another
        class = 4\n[[switch.class]]\nnumber = 4 | s.toml:12:9: class 4 is in [[switch.class]], and header-only packets need their own class; choose another
        [switch.lossless]\nclasses = [0] | s.toml:11:1: a lossless switch pauses its neighbours before it trims; remove [switch.trim] or [switch.lossless]
    "#,
    );
}

/// The table starts at line 12.
#[test]
fn transports_that_cannot_be_trimmed_so_are_refused() {
    let dcp = |[transport, table]: [&str; 2]| format!("{GOOD}{FLOWS}[transport]\n{transport}\n{table}\n");
    assert_refused(
        dcp,
        r#"
        recovery = "go-back-n" | [transport.dcp]\nunit = 64 | s.toml:13:1: no queue pair uses a transport for trimming; set recovery = "dcp", "ndp" or "cp"
        recovery = "dcp" | [transport.dcp]\nburst = 64 | s.toml:13:1: `burst` needs recovery = "ndp"; remove it, or set recovery = "ndp"
        recovery = "ndp" | [transport.dcp]\nbatch = 4 | s.toml:13:1: `batch` needs recovery = "dcp"; remove it, or set recovery = "dcp"
        recovery = "dcp" | [transport.dcp]\ntracked = 400 | s.toml:13:1: `tracked` needs tracking = "bitmap" or "linked-chunks"; remove it, or set tracking = "bitmap" or "linked-chunks"
        recovery = "rack-tlp" | [transport.selective-repeat]\nlag = 4 | s.toml:13:1: `lag` needs recovery = "mp-rdma"; remove it, or set recovery = "mp-rdma"
        recovery = "dcp" | [transport.dcp]\nunit = 0 | s.toml:14:8: 0 is out of range; expected a whole number from 1 to 4194304
        recovery = "dcp" | [transport.dcp]\nprobe = "0us" | s.toml:14:9: must be above zero; expected a time such as "1us"
        recovery = "dcp" | [transport.dcp]\ntracking = "bits" | s.toml:14:12: unknown value `bits`; allowed: counter, sums, bitmap, linked-chunks
    "#,
    );
    let read = dcp(["recovery = \"cp\"\noperation = \"read\"", ""]);
    assert!(refusal(&read).contains("\"cp\" has no READ; use write or send"), "{}", refusal(&read));
}

#[test]
fn ways_and_links_that_cannot_be_are_refused() {
    let switch = |[fields]: [&str; 1]| format!("{GOOD}{FLOWS}[switch]\n{fields}\n");
    let link = |[fields]: [&str; 1]| format!("{GOOD}[[topology.link]]\n{fields}\n{FLOWS}");
    let far = |[fields]: [&str; 1]| GOOD.replace("leaf-spine\"", &format!("cross-dc\"\n{fields}")) + FLOWS;
    assert_refused(
        switch,
        r#"
        balance = "random" | s.toml:12:11: unknown value `random`; allowed: ecmp, spray, adaptive, flowlet
        balance = "spray"\nflowlet_gap = "1us" | s.toml:12:11: `flowlet_gap` needs balance = "flowlet"; set it, or remove `flowlet_gap`
        flowlet_gap = "0s" | s.toml:12:15: must be above zero; expected a time such as "1us"
        [[switch.buffer]]\nswitches = []\nbytes = "1MB" | s.toml:13:12: the list is empty; expected switches: "edge", "core", a switch such as "spine0", or a list of switches
    "#,
    );
    assert_refused(
        link,
        r#"
        links = "leaf0-spine0" | s.toml:7:1: no change for these links; set `rate` or `delay` or both
        links = "leaf0-spine0"\nrate = "1kbps" | s.toml:7:1: a link of 1kbps is too slow; at least 1Mbps
    "#,
    );
    assert_refused(
        far,
        r#"
        long_links = 3 | s.toml:4:14: 3 long links for 2 spines; at most one per spine
        long_delay = "11s" | s.toml:2:1: a delay of 11s is too long; at most 10s
    "#,
    );
}

#[test]
fn groups_that_cannot_be_are_refused_with_what_can() {
    let reduce = |[fields]: [&str; 1]| {
        format!("{GOOD}[[workload]]\nkind = \"allreduce\"\nbytes = \"1MB\"\n{fields}\n")
    };
    let large = reduce([""]).replace("1MB", "40GB");
    assert_eq!(refusal(&large), "s.toml:7:1: 40GB needs messages of 5GB; at most 2GiB each");
    assert_refused(
        |[fields]| format!("{GOOD}{FLOWS}{fields}\n"),
        "
        rounds = 3 | s.toml:7:1: repeated flows need `every` and `rounds` above 1; set both or neither
    ",
    );
    assert_refused(
        reduce,
        r#"
        groups = 3 | s.toml:10:10: 3 groups of equal size are impossible with 8 hosts; give 2 or 4 groups, or name 6 of them in `hosts`
        groups = 8 | s.toml:10:10: 8 groups of equal size are impossible with 8 hosts; give 4
        groups = 2\nhosts = "h0..h6" | s.toml:10:10: 2 groups of equal size are impossible with 7 hosts; give 1, or name 6 of them in `hosts`
        groups = 0 | s.toml:10:10: 0 groups; expected 1 to 65536, or the members of each
        groups = ["h0..h3", "h5"] | s.toml:10:10: a group has only one member; give each group at least two
        groups = ["h0..h3", "h3, h5"] | s.toml:10:10: `h3` is listed twice; a host belongs to one group
        groups = ["h0..h3", "h4, h8"] | s.toml:10:10: unknown host `h8`; the hosts are h0 to h7
        groups = ["h0..h3"]\nhosts = "all" | s.toml:11:9: `groups` lists all members; remove `hosts`
        algorithm = "halving-doubling"\ngroups = ["h0..h2"] | s.toml:11:10: halving-doubling needs 2, 4, 8, … members, and a group has 3; use algorithm = "ring"
        iterations = 0 | s.toml:10:14: 0 is out of range; expected a whole number from 1 to 1000000
        [transport]\noperation = "read" | s.toml:7:1: the responder of a READ gets no notification, so it cannot continue; use write or send for collectives
    "#,
    );
}

#[test]
fn groups_read_back_as_they_were_written() {
    for groups in ["4", "[\"h0..h3\", \"h4, 6, last\"]"] {
        let text = format!("{GOOD}[[workload]]\nkind = \"alltoall\"\nbytes = \"1MB\"\ngroups = {groups}\n");
        let file = load("s.toml", &text, &[]).expect("it is right");
        let written = toml::to_string(&file.scenario).expect("it can be written");
        assert!(written.contains(&format!("groups = {groups}\n")), "{written}");
    }
}

#[test]
fn weights_of_the_control_class_read_back_as_they_were_written() {
    for (weight, same) in [
        ("1.5", "1.5"),
        ("4", "4"),
        ("0.01", "0.01"),
        ("\"fan-in\"", "\"fan-in\""),
        ("\"ratio\"", "\"ratio\""),
    ] {
        let text = format!("{GOOD}{FLOWS}[switch.trim]\nweight = {weight}\n");
        let file = load("s.toml", &text, &[]).expect("it is right");
        let written = toml::to_string(&file.scenario.switch).expect("it can be written");
        assert!(written.contains(&format!("weight = {same}\n")), "{written}");
    }
}
