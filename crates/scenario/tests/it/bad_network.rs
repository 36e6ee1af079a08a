//! Invalid switches, congestion control, recovery and protection: each is refused in one line, with its place.

use wiremend_scenario::load;

use crate::bad_input::{GOOD, instead, with};
use crate::refusal::{assert_refused, refusal};

/// Checks that need the topology (whether headroom fits) happen when the network is built.
#[test]
fn lossless_switches_that_cannot_be_are_refused() {
    assert_refused(
        with,
        r#"
        [switch.lossless] | s.toml:17:1: missing field `classes`; it has no default
        [switch.lossless]\nclasses = [] | s.toml:18:11: no lossless class; list at least one, or remove [switch.lossless]
        [switch.lossless]\nclasses = [0, 1, 2, 3, 4, 5, 6, 7, 0] | s.toml:18:11: 9 lossless classes; a link has at most 8
        [switch.lossless]\nclasses = [3, 8] | s.toml:18:15: 8 is out of range; expected a whole number from 0 to 7
        [switch.lossless]\nclasses = [3, 3] | s.toml:18:11: class 3 is listed twice; list each once
        [switch.lossless]\nclasses = [3]\nalpha = 0 | s.toml:19:9: an alpha of 0 is out of range; expected a factor from 1/128 to 8, the range that switches offer, such as 0.5 or "1/8"
        [switch.lossless]\nclasses = [3]\nalpha = 8.5 | s.toml:19:9: an alpha of 8.5 is out of range; expected a factor from 1/128 to 8, the range that switches offer, such as 0.5 or "1/8"
        [switch.lossless]\nclasses = [3]\nalpha = "1/129" | s.toml:19:9: an alpha of 1/129 is out of range; expected a factor from 1/128 to 8, the range that switches offer, such as 0.5 or "1/8"
        [switch.lossless]\nclasses = [3]\nalpha = "1/0" | s.toml:19:9: an alpha of 1/0 is out of range; expected a factor from 1/128 to 8, the range that switches offer, such as 0.5 or "1/8"
        [switch.lossless]\nclasses = [3]\nalpha = "much" | s.toml:19:9: found the text `much`; expected a factor from 1/128 to 8, the range that switches offer, such as 0.5 or "1/8"
        [switch.lossless]\nclasses = [3]\nquanta = 65536 | s.toml:19:10: 65536 is out of range; expected a whole number from 1 to 65535
    "#,
    );
    let limited = GOOD.replace("k = 4", "k = 4\nbuffer = \"1MB\"");
    assert_eq!(
        refusal(&format!("{limited}[switch.lossless]\nclasses = [3]\n")),
        "s.toml:18:1: the ports of a lossless switch share its buffer, so `topology.buffer` has no effect; remove it"
    );
}

#[test]
fn marks_and_congestion_control_that_cannot_be_are_refused() {
    const ECN: &str = "[switch.ecn]\nkmin = \"5kB\"\nkmax = \"200kB\"\npmax = 0.01\n";
    const PAPER: &str = "congestion = \"dcqcn-paper\"";
    let ecn = |[from, to]: [&str; 2]| GOOD.to_owned() + &ECN.replace(from, to);
    let dcqcn = |[field]: [&str; 1]| transport([&format!("{PAPER}\n[transport.dcqcn]\n{field}")]) + ECN;
    assert_refused(
        ecn,
        r#"
        5kB | 201kB | s.toml:17:1: `kmin` of 201kB is above `kmax` of 200kB; marking starts at `kmin` and is certain above `kmax`
        200kB | 0B | s.toml:19:8: must be above zero; expected a size such as "64KiB" or "1MB"
        0.01 | 0 | s.toml:17:1: a `pmax` of 0 marks nothing below `kmax`; set a probability above 0
        0.01 | 1.01 | s.toml:20:8: `1.01` is not a probability: it must lie between 0 and 1 (write `1e-3`, `0.001` or `1/1000`)
    "#,
    );
    assert_refused(
        transport,
        r#"
        congestion = "dctcp" | s.toml:7:14: unknown value `dctcp`; allowed: none, dcqcn-paper, hpcc-lineage, swift
        congestion = "dcqcn-paper" | s.toml:7:14: DCQCN needs ECN marks; add [switch.ecn]
        operation = "read"\ncongestion = "swift" | s.toml:8:14: congestion control paces requests, and the data of a READ are responses; use write or send
        rate = "1Gbps"\ncongestion = "swift" | s.toml:8:14: congestion control sets the rate of each queue pair; remove `rate` or `congestion`
        dcqcn = { gain = 0.5 } | s.toml:7:9: no queue pair uses DCQCN; set congestion = "dcqcn-paper" or "hpcc-lineage"
        swift = { beta = 0.5 } | s.toml:7:9: no queue pair uses Swift; set congestion = "swift"
    "#,
    );
    assert_refused(
        dcqcn,
        r#"
        alpha_timer = "0us" | s.toml:9:15: must be above zero; expected a time such as "1us"
        increase_timer = "99ns" | s.toml:8:1: `increase_timer` of 99ns is too short; at least 100ns
        min_rate = "101Gbps" | s.toml:8:1: a `min_rate` of 101Gbps is above the 100Gbps of the hosts' links; set at most that
        gain = 0 | s.toml:8:1: a `gain` of 0 never changes α; at least 1/65536
        byte_counter = "0B" | s.toml:8:1: a `byte_counter` of zero is invalid; set a size above zero, or "unlimited"
    "#,
    );
}

#[test]
fn recoveries_that_cannot_be_are_refused() {
    assert_refused(
        transport,
        r#"
        selective-repeat = { rto_low = "1ms" } | s.toml:7:20: no queue pair uses selective repeat; set recovery = "selective-repeat", "timeout-only", "rack-tlp" or "mp-rdma"
        recovery = "rack-tlp"\noperation = "read" | s.toml:1:1: recovery "rack-tlp" needs data in requests, and the data of a READ are responses; use write or send, or recovery = "go-back-n"
        recovery = "timeout-only"\nack_every = 2 | s.toml:1:1: recovery "timeout-only" acknowledges every packet; remove `ack_every`
        recovery = "mp-rdma"\nack_coalescing = true | s.toml:1:1: mp-rdma counts acknowledgements; remove `ack_coalescing`
        recovery = "selective-repeat"\nselective-repeat = { rto_low = "1ms", rto_high = "1us" } | s.toml:8:20: `rto_low` of 1ms is above `rto_high` of 1us; give at most that
        recovery = "rack-tlp"\nacceleration = { slow_restart = true } | s.toml:8:16: [transport.acceleration] needs go-back-n or go-back-0, and "rack-tlp" has its own timers; remove the table
        timeout = 8\nacceleration = { adaptive_retransmission = true, first_timeout = "2ms" } | s.toml:8:16: `first_timeout` of 2ms is above the timeout of 1.049ms; give at most that
        timeout = 0\nacceleration = { adaptive_retransmission = true } | s.toml:8:16: adaptive retransmission needs a timer; set `timeout` above 0
        queue_pairs = 4 | s.toml:6:1: `queue_pairs` has no effect where each flow has one; set `qp = "per-pair"`
        first_psn = "any" | s.toml:7:13: found the text `any`; expected "random" or a whole number from 0 to 16777215
        recovery = "rack-tlp"\nframes = "paper" | s.toml:6:1: `frames = "paper"` needs go-back-n or go-back-0, and not "rack-tlp"; leave it out
        recovery = "rack-tlp"\n[mend]\ntail_timeout = "9us" | s.toml:8:1: `tail_timeout` needs go-back-n or go-back-0, and not "rack-tlp"; leave it out
        [mend]\npreset = "all"\ntail_timeout = "9us" | s.toml:7:1: `tail_timeout` takes the place of dummies; set `dummies = 0`, or leave it out
        acceleration = { first_timeout = "2ms" } | s.toml:7:16: `first_timeout` has no effect without `adaptive_retransmission`; set both or neither
    "#,
    );
}

fn transport([fields]: [&str; 1]) -> String {
    instead(["mtu = 1024", fields])
}

#[test]
fn protection_that_cannot_be_is_refused() {
    assert_refused(
        with,
        r#"
        [[protect]]\nlinks = "switches"\nby = "fec(250,6)" | s.toml:19:6: unknown protection `fec(250,6)`; expected "linkguardian", "linkguardian-nb", or "fec(k,h)" or "fec-nb(k,h)" with k and h at least 1 and k + h at most 255, such as "fec(25,1)"
        [[protect]]\nlinks = "switches"\nby = 25 | s.toml:19:6: found the number `25`; expected "linkguardian", "linkguardian-nb", or "fec(k,h)" or "fec-nb(k,h)" with k and h at least 1 and k + h at most 255, such as "fec(25,1)"
        [[protect]]\nlinks = "switches"\nby = "fec(25,1)"\ndummies = 3 | s.toml:17:1: `dummies` has no effect with error correction; remove it
        [[protect]]\nlinks = "switches"\nby = "linkguardian"\nflush = "1us" | s.toml:17:1: `flush` has no effect with retransmission; remove it
        [[protect]]\nlinks = "switches"\nby = "linkguardian"\nswitch = "tofino" | s.toml:17:1: the hardened protocol stores frames in memory, which a tofino lacks; use switch = "ideal", or profile = "prototype"
        [[fail]]\nlinks = "switches"\ncache = "1MB" | s.toml:17:1: `cache` without `detect`; frames are kept until routing has detected the failure
        [[fail]]\nlinks = "switches"\ncache = "1MB"\ndetect = "1us"\n[[protect]]\nlinks = "switches"\nby = "linkguardian" | s.toml:17:1: `cache` keeps no frames of lossless switches or with protected links; remove it, or [switch.lossless] and [[protect]]
        [[protect]]\nlinks = "switches"\nby = "linkguardian"\nsample_frames = 1000 | s.toml:17:1: `sample_frames` has no effect without `start_at_loss`; set both or neither
        [[protect]]\nlinks = "switches"\nby = "linkguardian"\nstart_delay = "1ms" | s.toml:17:1: `start_delay` has no effect without `start_at_loss`; set both or neither
        [[protect]]\nlinks = "switches"\nby = "linkguardian"\nstart_at_loss = 0 | s.toml:17:1: a loss of 0e0 is too rare to measure; `start_at_loss` is at least 1e-15
        [[protect]]\nlinks = "switches"\nby = "fec(5,1)"\nstart_at_loss = 1e-6\nsample_frames = 999_999 | s.toml:17:1: 999999 frames cannot show a loss of 1e-6; `sample_frames` is at least 1000000
        [[protect]]\nlinks = "switches"\nby = "linkguardian"\nstart_at_loss = 0.1\nsample_frames = 100_000_000 | s.toml:17:1: 100000000 frames are more than a loss of 1e-1 takes; `sample_frames` is at most 10000000
        [[protect]]\nlinks = "switches"\nby = "linkguardian"\nstart_at_loss = 2 | s.toml:20:17: `2` is not a probability: it must lie between 0 and 1 (write `1e-3`, `0.001` or `1/1000`)
        [[protect]]\nlinks = "switches"\nby = "fec(25,1)"\nswitch = "ideal" | s.toml:17:1: `switch` has no effect with error correction; remove it
        [[protect]]\nlinks = "switches"\nby = "linkguardian"\nswitch = "tofinno" | s.toml:20:10: unknown value `tofinno`; did you mean `tofino`? allowed: tofino, ideal
        [[protect]]\nlinks = "switches"\nby = "fec(25,1)"\nflush = "0us" | s.toml:20:9: must be above zero; expected a time such as "1us"
    "#,
    );
}

/// All errors in the shape of a block have the same message.
#[test]
fn shapes_of_blocks_that_cannot_be_are_refused() {
    let by = |by: &str| format!("{GOOD}[[protect]]\nlinks = \"switches\"\nby = \"{by}\"\n");
    let shapes = "fec fec() fec(25) fec(0,1) fec(25,0) fec(255,1) fec(1,300) fec(5,1 wharf(5,1) fec(-5,1)";
    for wrong in shapes.split(' ') {
        let line = refusal(&by(wrong));
        assert!(line.starts_with(&format!("s.toml:19:6: unknown protection `{wrong}`; expected ")), "{line}");
    }
    for (right, written) in [("fec(254,1)", "fec(254,1)"), ("fec-nb(5, 2)", "fec-nb(5,2)")] {
        let file = load("s.toml", &by(right), &[]).unwrap();
        let protect = &file.variants[0].scenario.protects[0];
        assert_eq!(serde_json::to_value(protect.by).unwrap(), written);
    }
}
