//! What nearly every claim uses.

pub(crate) use wiremend_measure::TimeoutCause;
pub(crate) use wiremend_report::human;
pub(crate) use wiremend_report::plot::{Axis, Bar, Bars, Curve, Plot, Scale, Unit};

pub(crate) use crate::completion::{distribution, exact_ns, quantile_ns, share_above, slowest};
pub(crate) use crate::ledger::number::{
    Number, Share, Test, ascending, bytes, count, fraction, number, rate_bps, share, shown, time_ns,
};
pub(crate) use crate::ledger::{Claim, Effort, Judgement, Outcome, Printed, Results, Run};
