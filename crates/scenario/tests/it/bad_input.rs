//! Every kind of wrong scenario, with its error message.

use wiremend_scenario::load;

use crate::refusal::{assert_refused, refusal};

/// A complete scenario with one line per field, so that a test can replace one.
pub(crate) const GOOD: &str = r#"title = "good"
[topology]
kind = "fat-tree"
k = 4
rate = "100Gbps"
[transport]
mtu = 1024
[[workload]]
kind = "poisson"
sizes = "websearch"
load = 0.5
flows = 100
[[impair]]
kind = "frames"
links = "switches"
rate = "1e-3"
"#;

/// Returns the good scenario with one line replaced.
pub(crate) fn instead([line, other]: [&str; 2]) -> String {
    GOOD.replacen(line, other, 1)
}

/// Returns the good scenario with one more table.
pub(crate) fn with([table]: [&str; 1]) -> String {
    format!("{GOOD}{table}\n")
}

#[test]
fn the_scenario_that_the_cases_break_is_good() {
    load("s.toml", GOOD, &[]).unwrap();
}

#[test]
fn a_wrong_value_is_refused_where_it_stands() {
    assert_refused(
        instead,
        r#"
        rate = "100Gbps" | rate = "0Gbps" | s.toml:5:8: `0Gbps` is not a rate: it must be above zero (write `100Gbps`; units: bps, kbps, Mbps, Gbps, Tbps)
        rate = "100Gbps" | rate = "100Gb" | s.toml:5:8: `100Gb` is not a rate: the unit is unknown (write `100Gbps`; units: bps, kbps, Mbps, Gbps, Tbps)
        rate = "100Gbps" | rate = 100 | s.toml:5:8: found the number `100`; expected a rate such as "100Gbps"
        rate = "100Gbps" | rate = true | s.toml:5:8: found boolean `true`; expected a rate such as "100Gbps"
        rate = "100Gbps" | rate = "999kbps" | s.toml:2:1: a link of 999kbps is too slow; at least 1Mbps
        rate = "100Gbps" | switch_rate = "1bps" | s.toml:2:1: a link of 1bps is too slow; at least 1Mbps
        rate = "100Gbps" | delay = "5parsecs" | s.toml:5:9: `5parsecs` is not a time: the unit is unknown (write `1us`; units: ps, ns, us, µs, ms, s, min, h)
        rate = "100Gbps" | rate = "101Tbps" | s.toml:5:8: `101Tbps` is too large; at most 100Tbps
        rate = "100Gbps" | host_delay = "11s" | s.toml:2:1: a delay of 11s is too long; at most 10s
        rate = "100Gbps" | delay = "9000000s" | s.toml:5:9: `9000000s` is too large; at most 1000000s
        rate = "100Gbps" | buffer = "none" | s.toml:5:10: `none` is not a size: the unit is unknown (write `64KiB`; units: B, kB, KB, MB, GB, KiB, MiB, GiB)
        k = 4 | k = 5 | s.toml:4:5: invalid k = 5; expected an even number from 2 to 128
        k = 4 | k = 130 | s.toml:4:5: invalid k = 130; expected an even number from 2 to 128
        k = 4 | k = -2 | s.toml:4:5: invalid k = -2; expected an even number from 2 to 128
        k = 4 | k = "4" | s.toml:4:5: found the text `4`; expected an even number from 2 to 128
        k = 4 | | s.toml:2:1: missing field `k`; it has no default
        mtu = 1024 | mtu = 1500 | s.toml:7:7: invalid mtu of 1500; expected 256, 512, 1024, 2048 or 4096
        mtu = 1024 | timeout = 32 | s.toml:7:11: 32 is out of range; expected a whole number from 0 to 31
        mtu = 1024 | timeout = 1.5 | s.toml:7:11: found the number `1.5`; expected a whole number from 0 to 31
        mtu = 1024 | retry = 8 | s.toml:7:9: 8 is out of range; expected a whole number from 0 to 7
        mtu = 1024 | window = 0 | s.toml:7:10: 0 is out of range; expected a whole number from 1 to 8388607
        mtu = 1024 | window = "wide" | s.toml:7:10: found the text `wide`; expected "bdp", "paper", "unlimited" or a whole number from 1 to 8388607
        mtu = 1024 | ttl = 0 | s.toml:7:7: 0 is out of range; expected a whole number from 1 to 255
        mtu = 1024 | recovery = "go-back-m" | s.toml:7:12: unknown value `go-back-m`; did you mean `go-back-n`? allowed: go-back-n, go-back-0, selective-repeat, timeout-only, rack-tlp, mp-rdma, dcp, ndp, cp
        mtu = 1024 | operation = "atomic" | s.toml:7:13: unknown value `atomic`; allowed: write, send, read
        load = 0.5 | load = 0 | s.toml:11:8: a load of 0 is out of range; expected a load above 0 and at most 2 such as 0.5
        load = 0.5 | load = 3.5 | s.toml:11:8: a load of 3.5 is out of range; expected a load above 0 and at most 2 such as 0.5
        load = 0.5 | load = nan | s.toml:11:8: a load of NaN is out of range; expected a load above 0 and at most 2 such as 0.5
        load = 0.5 | load = "half" | s.toml:11:8: found the text `half`; expected a load above 0 and at most 2 such as 0.5
        flows = 100 | | s.toml:8:1: flows would arrive without end; set `flows` or `duration` or both
        flows = 100 | duration = "0s" | s.toml:8:1: no flow arrives in a `duration` of zero; set a time above zero
        flows = 100 | flows = 1\ndst = "h16" | s.toml:13:7: unknown host `h16`; the hosts are h0 to h15
        flows = 100 | flows = 1\ndst = [] | s.toml:13:7: the list is empty; expected hosts: "all", a host such as "h3", a range such as "h4..h7" (both ends included), or a list of these
        flows = 100 | flows = 1\ndst = "h7..h4" | s.toml:13:7: the range h7..h4 is reversed; write h4..h7
        flows = 100 | flows = 1\npattern = "incast"\ndst = [1, 2] | s.toml:14:7: 2 destinations; `incast` has one `dst`
        flows = 100 | flows = 1\npattern = "permutation"\ndst = 1 | s.toml:14:7: `permutation` takes no `dst`; set `src` only
        flows = 100 | flows = 1\npattern = "point-to-point"\nsrc = "h3"\ndst = 3 | s.toml:15:7: `h3` would send to itself; `src` and `dst` must differ
        flows = 100 | flows = 1\npattern = "point-to-point"\nsrc = "h0..h3" | s.toml:14:7: 4 sources and 1 destinations; `point-to-point` needs equal numbers
        sizes = "websearch" | sizes = "0B" | s.toml:10:9: empty flows create no load; set a size above zero
        sizes = "websearch" | sizes = "5GB" | s.toml:10:9: a message of 5GB is too long; at most 2GiB
        rate = "1e-3" | rate = "1.5" | s.toml:16:8: `1.5` is not a probability: it must lie between 0 and 1 (write `1e-3`, `0.001` or `1/1000`)
        rate = "1e-3" | rate = -0.5 | s.toml:16:8: `-0.5` is not a probability: it must lie between 0 and 1 (write `1e-3`, `0.001` or `1/1000`)
        rate = "1e-3" | rate = "often" | s.toml:16:8: `often` is not a probability: it is not a number (write `1e-3`, `0.001` or `1/1000`)
        rate = "1e-3" | rate = 0.1\nstart = "2ms"\nstop = "1ms" | s.toml:13:1: `stop` is not later than `start`; set a later time
        rate = "1e-3" | | s.toml:13:1: missing field `rate`; it has no default
        links = "switches" | links = [1] | s.toml:15:9: found a list; expected links: "all", "hosts", "switches", a link such as "h0-tor", or a list of links
        links = "switches" | links = [] | s.toml:15:9: the list is empty; expected links: "all", "hosts", "switches", a link such as "h0-tor", or a list of links
        title = "good" | title = "" | s.toml:1:9: is empty or contains control characters; expected one line of text
        title = "good" | | s.toml:1:1: missing field `title`; it has no default
        title = "good" | title = "good"\nseed = -1 | s.toml:2:8: -1 is out of range; expected a whole number from 0 to 9223372036854775807
    "#,
    );
}

#[test]
fn a_wrong_name_is_answered_with_the_right_ones() {
    assert_refused(
        instead,
        r#"
        k = 4 | K = 4 | s.toml:4:1: unknown field `K`; did you mean `k`? allowed: kind, k, rate, delay, host_rate, host_delay, switch_rate, switch_delay, switch_latency, host_tx_latency, host_rx_latency, buffer, link
        kind = "fat-tree" | kind = "fat-tre" | s.toml:3:8: unknown kind `fat-tre`; did you mean `fat-tree`? allowed: pair, chain, fat-tree, leaf-spine, cross-dc, graph
        kind = "fat-tree" | | s.toml:2:1: missing field `kind`; allowed: pair, chain, fat-tree, leaf-spine, cross-dc, graph
        kind = "poisson" | kind = 7 | s.toml:9:8: missing field `kind`; allowed: poisson, flows, ping-pong, stream, list, cbr, allreduce, alltoall
        kind = "frames" | kind = "bit-error" | s.toml:14:8: unknown kind `bit-error`; did you mean `bit-errors`? allowed: bit-errors, frames, bursts, gilbert-elliott, every, ip-id, script, tilted
        load = 0.5 | load = 0.5\nlaod = 0.5 | s.toml:12:1: unknown field `laod`; did you mean `load`? allowed: kind, sizes, load, flows, duration, pattern, src, dst, start, class, protocol, subflows
        [topology] | [topologie] | s.toml:2:2: unknown field `topologie`; did you mean `topology`? allowed: title, about, seed, topology, switch, transport, mend, engine, stop, workload, impair, fail, pause, route, deadlock, protect, measure, series, variant
        mtu = 1024 | "`, expected `x" = 1024 | s.toml:7:1: unknown field ``, expected `x`; allowed: protocol, recovery, operation, mtu, timeout, retry, rnr_retry, resend_delay, window, ack_every, ack_coalescing, qp, queue_pairs, rate, profile, selective-repeat, dcp, tcp, acceleration, host-delay, congestion, dcqcn, swift, class and 4 more
        [[workload]] | [workload] | s.toml:8:1: `workload` has the wrong form; begin it with [[workload]]
    "#,
    );
}

/// An error about a name with a line break is one line.
#[test]
fn a_wrong_name_is_told_in_one_line() {
    let line = refusal(&instead(["mtu = 1024", "\"m\\ntu\" = 1024"]));
    assert!(
        line.starts_with("s.toml:7:1: unknown field `m\\ntu`; did you mean `mtu`? allowed: protocol, "),
        "{line}"
    );
}

#[test]
fn a_syntax_error_is_reported() {
    for (text, message) in [
        ("title = \"a\"\ntitle = \"b\"\n", "s.toml:2:1: not TOML: duplicate key"),
        ("title = \"a\n", "s.toml:1:11: not TOML: invalid basic string; expected `\"`"),
        ("[topology", "s.toml:1:10: not TOML: unclosed table; expected `]`"),
        ("", "s.toml:1:1: missing field `title`; it has no default"),
        (
            "title = \"a\"\n[topology]\nkind = \"pair\"\n",
            "s.toml:1:1: no workload; add at least one [[workload]]",
        ),
    ] {
        assert_eq!(refusal(text), message, "{text}");
    }
}

#[test]
fn scripts_that_name_nothing_are_refused() {
    assert_refused(
        with,
        r#"
        [[impair]]\nkind = "script"\nlinks = "all"\nrules = [] | s.toml:17:1: a script without rules selects no frame; add a rule, or a file of `faults`
        [[impair]]\nkind = "script"\nlinks = "all"\nfaults = " " | s.toml:20:10: `faults` is empty; set a path
        [[impair]]\nkind = "script"\nlinks = "all"\nrules = [{ link = "nak" }] | s.toml:20:19: unknown value `nak`; allowed: data, dummy, ack, missing, hello
        [[impair]]\nkind = "script"\nlinks = "all"\nrules = [{ psn = 7, packet = "nack" }] | s.toml:20:30: unknown value `nack`; did you mean `ack`? allowed: any, data, ack, nak, read-request, read-response
        [[impair]]\nkind = "script"\nlinks = "all"\nrules = [{ frame = 7 }] | s.toml:20:12: unknown field `frame`; allowed: psn, packet, link, seq, nth, count
    "#,
    );
}

#[test]
fn workloads_and_impairments_that_cannot_be_are_refused() {
    assert_refused(
        with,
        r#"
        [[workload]]\nkind = "ping-pong"\nbytes = "1kB"\niterations = 5\nsrc = "last" | s.toml:21:7: `h15` would send to itself; `src` and `dst` must differ
        [[workload]]\nkind = "stream"\nmessage = "0B" | s.toml:19:11: must be above zero; expected a size such as "64KiB" or "1MB"
        [[workload]]\nkind = "list"\nfile = "" | s.toml:19:8: `file` is empty; set a built-in list or a path ending in .csv
        [[workload]]\nkind = "cbr"\nrate = "1Gbps"\nframe = 63 | s.toml:20:9: 63 is out of range; expected a whole number from 64 to 9216
        [[workload]]\nkind = "cbr"\nrate = "1Gbps"\nstart = "1s"\nstop = "1s" | s.toml:17:1: `stop` is not later than `start`; set a later time
        [[workload]]\nkind = "flows"\nbytes = "1B"\npattern = "uniform" | s.toml:17:1: `uniform` needs random arrivals; use point-to-point, permutation, full-mesh or incast
        [[workload]]\nkind = "flows"\nbytes = "1B"\npattern = "full-mesh"\ncount = 50000 | s.toml:17:1: 12000000 flows at once are too many; at most 10000000
        [[impair]]\nkind = "bursts"\nlinks = "all"\nloss = 0.6\nlength = 1 | s.toml:17:1: a loss of 0.6 is impossible with bursts of 1 frames; at most 0.5000
        [[impair]]\nkind = "bursts"\nlinks = "all"\nloss = 0.1\nlength = 0.5 | s.toml:21:10: a burst of 0.5 frames is out of range; expected a number of frames from 1 to 1e9 such as 4.5
        [[impair]]\nkind = "ip-id"\nlinks = "all"\nmask = 0x0f\nvalue = 0xff | s.toml:17:1: value 0x00ff never matches under mask 0x000f; set no bit outside the mask
        [[impair]]\nkind = "every"\nlinks = "all"\nn = 0 | s.toml:20:5: 0 is out of range; expected a whole number from 1 to 1000000000000
    "#,
    );
}

#[test]
fn classes_pauses_and_variants_that_cannot_be_are_refused() {
    assert_refused(
        with,
        r#"
        [[switch.class]]\nnumber = 3\nweight = 0 | s.toml:19:10: 0 is out of range; expected a whole number from 1 to 1000
        [[switch.class]]\nnumber = 8\nweight = 1 | s.toml:18:10: 8 is out of range; expected a whole number from 0 to 7
        [[switch.class]]\nnumber = 3\nweight = 2\n[[switch.class]]\nnumber = 3 | s.toml:21:10: duplicate entry for class 3; each class has one entry
        [[switch.class]]\nweight = 2 | s.toml:17:1: missing field `number`; it has no default
        [[switch.class]]\nclass = 2 | s.toml:18:1: unknown field `class`; allowed: number, weight
        [switch]\nclass = 3 | s.toml:18:9: found integer `3`; expected a sequence
        [[pause]]\nlinks = "all"\nclass = 8 | s.toml:19:9: 8 is out of range; expected a whole number from 0 to 7
        [[pause]]\nlinks = "all" | s.toml:17:1: missing field `class`; it has no default
        [[pause]]\nclass = 0 | s.toml:17:1: missing field `links`; it has no default
        [[pause]]\nlinks = "all"\nclass = 0\nstart = "5us"\nstop = "5us" | s.toml:17:1: `stop` is not later than `start`; set a later time
        [pause]\nclass = 0 | s.toml:17:1: `pause` has the wrong form; begin it with [[pause]]
        [series]\nevery = "0us" | s.toml:18:9: must be above zero; expected a time such as "1us"
        [stop]\nafter = "0s" | s.toml:18:9: must be above zero; expected a time such as "1us"
        [[variant]]\nname = "a"\n[[variant]]\nname = "a" | s.toml:20:8: duplicate variant "a"; names must be unique
        [[variant]]\nset = {} | s.toml:17:1: missing field `name`; it has no default
        [[variant]]\nname = "a"\nset = 5 | s.toml:19:7: found integer `5`; expected a map
        [variant]\nname = "a" | s.toml:17:1: `variant` has the wrong form; begin it with [[variant]]
    "#,
    );
}

/// The responder of a READ gets no notification, so a ping-pong would stall.
#[test]
fn a_ping_pong_of_reads_is_refused() {
    let ping_pong = "[[workload]]\nkind = \"ping-pong\"\nbytes = \"1kB\"\niterations = 5";
    let text = format!("{}{ping_pong}\n", GOOD.replacen("mtu = 1024", "operation = \"read\"", 1));
    assert_eq!(
        refusal(&text),
        "s.toml:17:1: the responder of a READ gets no notification, so it cannot reply; use write or send for ping-pong"
    );
}

#[test]
fn graphs_that_are_not_networks_are_refused() {
    let graph = |links: &str| {
        format!(
            "title = \"g\"\n[topology]\nkind = \"graph\"\nhosts = [\"a\", \"b\"]\nswitches = [\"s\", \"t\"]\nlinks = [{links}]\n\
             [[workload]]\nkind = \"stream\"\nmessage = \"1MB\"\n"
        )
    };
    let good = graph("{ ends = [\"a\", \"s\"] }, { ends = [\"s\", \"b\"] }");
    load("s.toml", &good, &[]).unwrap();
    assert_refused(
        |[links]| graph(links),
        r#"
        { ends = ["a", "s"] } | s.toml:4:15: host `b` has 0 links; each host has one
        { ends = ["a", "s"] }, { ends = ["t", "b"] } | s.toml:4:15: no path from `a` to `b`; all hosts must be connected
        { ends = ["a", "x"] } | s.toml:6:10: unknown node `x`; did you mean `a`? allowed: a, b, s, t
        { ends = ["s", "s"] } | s.toml:6:10: `s` is linked to itself; a link needs two different ends
        { ends = ["a", "s"], rate = "1kbps" } | s.toml:6:10: a link of 1kbps is too slow; at least 1Mbps
        { ends = ["a", "s"], delay = "1000s" } | s.toml:6:10: a delay of 1000s is too long; at most 10s
        { ends = ["s"] } | s.toml:6:19: found 1; expected an array of length 2
    "#,
    );
    assert_refused(
        |[from, to]| good.replace(from, to),
        r#"
        "t"] | "a"] | s.toml:5:18: duplicate node `a`; names must be unique
        "t"] | ""] | s.toml:5:18: `` is not a name; expected a name: a letter, then letters, digits or `_`
        "t"] | "a-b"] | s.toml:5:18: `a-b` is not a name; expected a name: a letter, then letters, digits or `_`
        ["a", "b"] | ["a"] | s.toml:2:1: a graph with 1 hosts and 2 switches; give at least 2 hosts and at most 200000 nodes
        message | dst = "c"\nmessage | s.toml:9:7: unknown host `c`; did you mean `a`? allowed: a, b
    "#,
    );
}

/// A short file may have many variants of a large scenario: together they must fit in memory.
#[test]
fn more_variants_than_fit_are_refused() {
    let pauses = "[[pause]]\nlinks = \"hosts\"\nclass = 3\nstart = \"1us\"\n".repeat(4_000);
    let much = format!("{GOOD}{pauses}");
    load("s.toml", &much, &[]).unwrap();
    let names = (0..400).map(|number| format!("[[variant]]\nname = \"v{number}\"\n"));
    assert_eq!(
        refusal(&(much + &names.collect::<Vec<_>>().concat())),
        "s.toml:16017:1: 400 variants of a scenario with 16020 values; at most 5000000 values in all"
    );
}
