//! L4: buffers of the two switches.

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{HARDENED, LG, LG_NB, LOSSES, RATES, Stress, counted};

pub(super) const CLAIM: Claim = Claim {
    id: "L4",
    title: "buffers of a protected link",
    source: source("section 4.6, Fig. 14"),
    paper: "In the ordered mode the sender buffers at most 3.6 KB and the receiver 60 KB at 25G, and each at most 90 \
           KB at 100G. In the non-blocking mode the sender buffers at most 24.4 KB at 100G, and the receiver nothing",
    method: "The stress test at three loss rates: largest number of bytes in the queue of the loopback port, for \
             each side, as the paper polls it. The paper's numbers are bounds, which the measurement must not exceed \
             at any loss rate. In the non-blocking mode the receiver must buffer nothing, and the hardened protocol \
             must stay within the same 90 KB",
    note: "With the published latencies an ACK is back after 1.5 µs at 100G, and the queue of copies grows until a turn \
           takes longer than that: it swings between 9 and 29 kB. The run published with the prototype has 4.8 to \
           22.8 kB in the non-blocking mode. The paper's buffers are larger in the ordered mode, where it says that \
           backpressure delays ACKs; here it does not. At 25G two copies never wait together here, because all \
           latencies are constant",
    judge,
    ..Claim::FORM
};

/// Link rate, mode, side, and the paper's maximum.
const BOUNDS: [(u32, &str, Side, f64); 5] = [
    (25, LG, Side::Rx, 60e3),
    (100, LG, Side::Rx, 90e3),
    (25, LG, Side::Tx, 3.6e3),
    (100, LG, Side::Tx, 90e3),
    (100, LG_NB, Side::Tx, 24.4e3),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Tx,
    Rx,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Tx => "sender",
            Self::Rx => "receiver",
        }
    }
}

fn all() -> Vec<Stress> {
    let modes = [LG, LG_NB, HARDENED];
    let runs_at =
        |gbps| LOSSES.iter().flat_map(move |(loss, _)| modes.map(|mode| Stress::new(gbps, *loss, mode)));
    RATES.into_iter().flat_map(runs_at).collect()
}

/// The maximum over all loss rates.
fn most(results: &Results<'_>, gbps: u32, mode: &'static str, side: Side) -> f64 {
    let buffered_at = |(loss, _): &(f64, u32)| buffered(results, Stress::new(gbps, *loss, mode), side);
    LOSSES.iter().map(buffered_at).fold(0.0, f64::max)
}

fn buffered(results: &Results<'_>, stress: Stress, side: Side) -> f64 {
    let (_, sum) = counted(results, stress);
    (if side == Side::Tx { sum.tx_buffer_bytes_max } else { sum.rx_buffer_bytes_max }) as f64
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for (gbps, mode, side, bound) in BOUNDS {
        let found = most(results, gbps, mode, side);
        let what = format!("largest buffer of the {}, {mode}, {gbps}G", side.name());
        judgement.printed(what.clone(), bytes(found).at_most(bound));
        judgement.printed(what, bytes(found).at_least(bound / 2.0));
    }
    for gbps in RATES {
        let none = most(results, gbps, LG_NB, Side::Rx) as u64;
        judgement.none(format!("buffer of the receiver, non-blocking mode, {gbps}G"), none);
        for side in [Side::Tx, Side::Rx] {
            let found = bytes(most(results, gbps, HARDENED, side));
            judgement.must(
                format!("largest buffer of the {}, hardened, {gbps}G", side.name()),
                found.at_most(90e3),
            );
        }
    }
    let row = |stress: Stress| {
        let buffered = |side| human::bytes(buffered(results, stress, side));
        vec![stress.name(), buffered(Side::Tx), buffered(Side::Rx)]
    };
    judgement.table("| sender | receiver", all().into_iter().map(row).collect());
    judgement.plot("l4", &figure(results));
}

fn figure(results: &Results<'_>) -> Plot {
    let curve = |gbps, mode: &'static str, side: Side| {
        let point = |(loss, _): (f64, u32)| (loss, buffered(results, Stress::new(gbps, loss, mode), side));
        Curve::marked(format!("{}, {mode}, {gbps}G", side.name()), LOSSES.map(point))
    };
    Plot::new(
        "Largest buffers of a protected link",
        "Largest number of bytes buffered by sender and receiver against the loss rate of the link.",
        Axis::new("loss rate of the link", Scale::Log, Unit::Number),
        Axis::new("largest buffer", Scale::Linear, Unit::Bytes),
        vec![
            curve(25, LG, Side::Rx),
            curve(100, LG, Side::Rx),
            curve(25, LG, Side::Tx),
            curve(100, LG, Side::Tx),
            curve(100, HARDENED, Side::Tx),
            curve(100, HARDENED, Side::Rx),
        ],
    )
}
