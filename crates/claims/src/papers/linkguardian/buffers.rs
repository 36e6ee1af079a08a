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

/// The two sides.
const TX: usize = 0;
const RX: usize = 1;
const SIDES: [&str; 2] = ["sender", "receiver"];

/// Link rate, mode, side, and the paper's maximum.
const BOUNDS: [(u32, &str, usize, f64); 5] = [
    (25, LG, RX, 60e3),
    (100, LG, RX, 90e3),
    (25, LG, TX, 3.6e3),
    (100, LG, TX, 90e3),
    (100, LG_NB, TX, 24.4e3),
];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let buffered = |stress: Stress, side: usize| {
        let (_, sum) = counted(results, stress);
        [sum.tx_buffer_bytes_max, sum.rx_buffer_bytes_max][side] as f64
    };
    let most = |gbps, mode, side| {
        let at = |(loss, _)| buffered(Stress::new(gbps, loss, mode), side);
        bytes(LOSSES.map(at).into_iter().fold(0.0, f64::max))
    };
    for (gbps, mode, side, bound) in BOUNDS {
        let what = format!("largest buffer of the {}, {mode}, {gbps}G", SIDES[side]);
        judgement.printed(what.clone(), most(gbps, mode, side).at_most(bound));
        judgement.printed(what, most(gbps, mode, side).at_least(bound / 2.0));
    }
    for gbps in RATES {
        let none = most(gbps, LG_NB, RX).value as u64;
        judgement.none(format!("buffer of the receiver, non-blocking mode, {gbps}G"), none);
        for (side, name) in SIDES.iter().enumerate() {
            let what = format!("largest buffer of the {name}, hardened, {gbps}G");
            judgement.must(what, most(gbps, HARDENED, side).at_most(90e3));
        }
    }
    for stress in Stress::all(&[LG, LG_NB, HARDENED]) {
        judgement.row(stress.name(), [&bytes(buffered(stress, TX)), &bytes(buffered(stress, RX))]);
    }
    judgement.columns("| sender | receiver");
}
