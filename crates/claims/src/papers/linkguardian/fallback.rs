//! L35: high loss rates.

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{HARDENED, LG, LG_NB, Stress, counted, speed_bps};

pub(super) const CLAIM: Claim = Claim {
    id: "L35",
    title: "high loss rates, and a fallback to the other mode",
    source: source("section 5, and the table of its fleet simulator"),
    paper: "At sudden high loss rates order costs much: 60 Gb/s of 100 are left at 1e-2 (assumed, not measured). A link \
           may fall back to the non-blocking mode, which scales better to loss and speed",
    method: "The stress test at 100G with loss rates of 3e-3, 1e-2 and 5e-2: 60 Gb/s within the rounding of the digit at \
             1e-2. The non-blocking mode must lose at most a quarter of what order loses",
    note: "",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for (loss, printed) in [(3e-3, None), (1e-2, Some((55e9, 65e9))), (5e-2, None)] {
        let speed = |mode| rate_bps(speed_bps(counted(results, Stress::new(100, loss, mode)).0));
        let [ordered, unordered, ours] = [LG, LG_NB, HARDENED].map(speed);
        if let Some((low, high)) = printed {
            judgement.printed(format!("speed, ordered, {loss:e}"), ordered.between(low, high));
        }
        let lost = |speed: Number| fraction(1.0 - speed.value / 100e9);
        let what = format!("speed lost by the non-blocking mode, {}", shown(loss));
        judgement.printed(what, lost(unordered).at_most(lost(ordered).value / 4.0));
        judgement.row(shown(loss), [&ordered, &unordered, &ours]);
    }
    judgement.columns("loss rate | ordered | non-blocking | hardened, ordered");
}
