//! D9: the requirements that each scheme meets, each decided by a number.

use wiremend_proto::dcp::Parameters;
use wiremend_proto::rc;
use wiremend_proto::sr::{self, StateBytes};
use wiremend_proto::tcp::multipath::{self, SUBFLOWS_MAX};
use wiremend_units::Span;

use super::scheme::{
    CP, DCP, GO_BACK_N, GO_BACK_N_ADAPTIVE, IRN, IRN_ADAPTIVE, LOSSLESS, MP_RDMA, MPTCP, MPTCP_ADAPTIVE,
    Memory, NDP, Scheme,
};
use super::source;
use crate::ledger::number::mark;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "D9",
    title: "four requirements, and the schemes that meet them",
    source: source("comparison of DCP and related works"),
    paper: "R1 independent of PFC, R2 compatible with packet-level load balancing, R3 fast retransmission of any lost \
           packet, R4 suitable for hardware. A go-back-N NIC meets R4; selective repeat R1 and R4; MPTCP R1 and R2; \
           MP-RDMA R2 and R4; NDP and CP R1, R2 and R3; only DCP meets all four",
    method: "R1: twelve hosts send 300 kB each to one through a switch with buffer for a twelfth of it, and the \
             slowest flow takes at most 10 times as long as over a lossless switch. R2: four hosts send over eight \
             paths, half of them with half the rate, packet by packet, and have at least 90 % of the goodput over \
             equal paths. R3: no timer expires in the run of R1, although packets are lost. R4: the NIC needs at \
             most 512 B per connection more than go-back-N, by the sizes of this program's types, with 500 packets \
             (400 Gb/s, 10 µs) and one message outstanding; NDP and CP, which are software, keep a bit for each of \
             65 536 packets here. MPTCP has eight subflows and timeouts of at least 1 ms; its incast comes from \
             another rack over eight spines, so that the subflows have different paths",
    note: "Schemes with trimming learn of every loss and need no timer; schemes that write each packet to its place \
           in memory accept any order; and schemes made for hardware keep little state. The thresholds were chosen \
           between the groups of these numbers: the table shows where the groups lie, and does not test a \
           prediction. With paths that are four times as slow MP-RDMA fails R2 as well (D2). In the incast NDP, \
           whose receiver paces the senders, takes less than half of DCP's time and has a fiftieth of its packets \
           trimmed. The row of MPTCP depends on the settings: with another timeout, rack or load balancing three of \
           its cells would differ, as the result shows. The chosen settings are those for which subflows and the \
           requirement are meaningful. TCP with one subflow meets R2 too, so subflows are not the reason that MPTCP \
           meets it",
    judge,
    ..Claim::FORM
};

const SLOWDOWN_MAX: f64 = 10.0;
const GOODPUT_SHARE_MIN: f64 = 0.9;
const NIC_BYTES_MAX: usize = 512;
/// 400 Gb/s and 10 µs, in packets of 1 kB.
const PACKETS: u32 = 500;

/// A row of the paper's table: the scheme in the incast and over unequal paths, its bytes, and the cells of
/// the paper.
struct Row {
    name: &'static str,
    incast: Scheme,
    spread: Scheme,
    nic_bytes: fn() -> usize,
    printed: [bool; 4],
}

const fn row(
    name: &'static str,
    [incast, spread]: [Scheme; 2],
    nic_bytes: fn() -> usize,
    printed: [bool; 4],
) -> Row {
    Row { name, incast, spread, nic_bytes, printed }
}

const ROWS: [Row; 7] = [
    row("go-back-N", [GO_BACK_N, GO_BACK_N_ADAPTIVE], || 0, [false, false, false, true]),
    row(
        "selective repeat (IRN)",
        [IRN, IRN_ADAPTIVE],
        || selective(sr::Scheme::Irn),
        [true, false, false, true],
    ),
    row("MPTCP", [MPTCP, MPTCP_ADAPTIVE], subflows, [true, true, false, false]),
    row("NDP", [NDP, NDP], || trimmed(Parameters::ndp(PACKETS)), [true, true, true, false]),
    row("CP", [CP, CP], || trimmed(Parameters::cp(Span::from_us(10))), [true, true, true, false]),
    row("MP-RDMA", [MP_RDMA, MP_RDMA], || selective(sr::Scheme::MpRdma), [false, true, false, true]),
    row("DCP", [DCP, DCP], || trimmed(Parameters::DCP), [true, true, true, true]),
];

fn selective(scheme: sr::Scheme) -> usize {
    let base = rc::Config { window: PACKETS, ..rc::Config::default() };
    let bytes = StateBytes::for_config(&sr::Config::new(scheme, base));
    (bytes.requester + bytes.responder) as usize
}

fn subflows() -> usize {
    let plain = size_of::<rc::Requester>() + size_of::<rc::Responder>();
    multipath::state_bytes(SUBFLOWS_MAX, PACKETS).saturating_sub(plain)
}

fn trimmed(parameters: Parameters) -> usize {
    parameters.sender_bytes(PACKETS).nic + parameters.receiver_bytes(1, 0).nic
}

fn incast(scheme: Scheme) -> Run {
    let run = Run::new("claims/requirements");
    // Within a rack there is one path between two hosts, which all subflows would share.
    let sets: &[_] = if scheme.name == MPTCP.name { OTHER_RACK } else { &[] };
    scheme.on(sets.iter().fold(run, |run, (path, value)| run.set(path, value)), TWELFTH)
}

/// A twelfth of what the twelve hosts send.
const TWELFTH: Memory = Memory::new("300kB", "32MB");
const OTHER_RACK: &[(&str, &str)] =
    &[("topology.leaves", "2"), ("topology.spines", "8"), ("workload.0.src", "h13..h24")];

/// MPTCP with a longer minimum timeout, and within the rack, where it has one path like plain TCP.
fn longer_timeout() -> Run {
    incast(MPTCP).set("transport.tcp.rto_min", "5ms")
}

fn in_one_rack() -> Run {
    MPTCP.on(Run::new("claims/requirements"), TWELFTH)
}

/// Over switches with ECMP: subflows may share a path by chance.
fn hashed(slow: &str) -> Run {
    spread(MPTCP, slow).set("switch.balance", "ecmp")
}

/// Single-path TCP over unequal paths.
fn single(slow: &str) -> Run {
    spread(MPTCP_ADAPTIVE, slow).set("transport.tcp.subflows", "1").set("transport.tcp.congestion", "reno")
}

fn spread(scheme: Scheme, slow: &str) -> Run {
    let run = Run::new("claims/unequal").set("topology.link.0.rate", slow).set("workload.0.bytes", "2MB");
    scheme.on(run, Memory::LARGE)
}

const EQUAL: &str = "100Gbps";
const HALF: &str = "50Gbps";

fn slowest_ns(outcome: &Outcome) -> f64 {
    let all = outcome.summary.finished == outcome.summary.flows;
    outcome.summary.fct_ns.filter(|_| all).map_or(f64::INFINITY, |fct| fct.max)
}

/// A cell: whether the requirement is met, and the number that decides it.
type Cell = (bool, String);

fn cells(results: &Results<'_>, row: &Row) -> [Cell; 4] {
    let outcome = results.outcome(&incast(row.incast));
    let slowdown = slowest_ns(outcome) / slowest_ns(results.outcome(&incast(LOSSLESS)));
    let [equal, half] = [EQUAL, HALF].map(|slow| results.outcome(&spread(row.spread, slow)));
    let kept = slowest_ns(equal) / slowest_ns(half);
    let (lost, timeouts) = (
        outcome.summary.dropped_frames.buffer + outcome.summary.trims.trimmed,
        outcome.summary.timeouts.total(),
    );
    let bytes = (row.nic_bytes)();
    [
        (slowdown <= SLOWDOWN_MAX, format!("{} times as long as lossless", shown(slowdown))),
        (
            kept >= GOODPUT_SHARE_MIN,
            format!(
                "{} % of the goodput, {} unnecessary retransmissions",
                human::percent(kept),
                human::count(half.summary.retransmitted_packets)
            ),
        ),
        (
            lost > 0 && timeouts == 0,
            format!("{} timeouts for {} losses", human::count(timeouts), human::count(lost)),
        ),
        (bytes <= NIC_BYTES_MAX, format!("{} B", human::count(bytes as u64))),
    ]
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mut rows = Vec::new();
    for row in &ROWS {
        let cells = cells(results, row);
        for (place, ((met, _), printed)) in cells.iter().zip(row.printed).enumerate() {
            let test = mark(*met).near(f64::from(u8::from(printed)), 0.0);
            judgement.printed(format!("{}, R{}", row.name, place + 1), test);
        }
        let shown = cells.map(|(met, detail)| format!("{} {detail}", sign(met)));
        rows.push([vec![row.name.to_owned()], shown.to_vec()].concat());
    }
    rows.extend(other_settings(results));
    judgement.table(
        "| R1 independent of PFC | R2 packet-level balancing | R3 no timer | R4 memory of the NIC",
        rows,
    );
}

/// The cells of MPTCP with other settings, of which the row of the table depends.
fn other_settings(results: &Results<'_>) -> [Vec<String>; 4] {
    let kept = |of: fn(&str) -> Run| {
        slowest_ns(results.outcome(&of(EQUAL))) / slowest_ns(results.outcome(&of(HALF)))
    };
    let rack = &results.outcome(&in_one_rack()).summary;
    let slowdown =
        slowest_ns(results.outcome(&longer_timeout())) / slowest_ns(results.outcome(&incast(LOSSLESS)));
    let row = |name: &str, place: usize, met: bool, detail: String| {
        let mut row = vec![name.to_owned(); 1];
        row.resize(5, String::new());
        row[place] = format!("{} {detail}", sign(met));
        row
    };
    let share = |kept: f64| format!("{} % of the goodput", human::percent(kept));
    let losses = format!(
        "{} timeouts for {} losses",
        human::count(rack.timeouts.total()),
        human::count(rack.dropped_frames.buffer)
    );
    let lossless = format!("{} times as long as lossless", shown(slowdown));
    [
        row("MPTCP, timeouts of at least 5 ms", 1, slowdown <= SLOWDOWN_MAX, lossless),
        row("MPTCP in one rack: plain TCP", 3, rack.timeouts.total() == 0, losses),
        row("MPTCP over ECMP", 2, kept(hashed) >= GOODPUT_SHARE_MIN, share(kept(hashed))),
        row("TCP with one subflow", 2, kept(single) >= GOODPUT_SHARE_MIN, share(kept(single))),
    ]
}

fn sign(met: bool) -> &'static str {
    if met { "✓" } else { "×" }
}
