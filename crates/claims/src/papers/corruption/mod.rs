//! J: Gao et al. (JCST 2022): what corruption does to RDMA, and what dummy headers and repeats do about it.
//!
//! The theorems of sections 3 and 4 are counted in simulation at rates where they can be counted, and held against the exact
//! forms of `wiremend-model`. The paper's forms stand beside them, with their sizes and approximations.

mod cost;
mod frames;
mod long_flows;
mod nak;
mod path;
mod short_flows;
mod tail;
mod twice;

use wiremend_report::plot::{Axis, Curve, Line, Scale, Unit};

use crate::ledger::Claim;

pub(super) const CLAIMS: &[Claim] = &[
    frames::CLAIM,
    path::CLAIM,
    nak::BARE,
    twice::BARE,
    tail::CLAIM,
    nak::COPIED,
    twice::COPIED,
    short_flows::TAIL,
    short_flows::ACK,
    cost::CLAIM,
];

/// What the paper puts for the ratio of a small frame to a full one, and how far "approximates" may be off.
const SMALL: f64 = wiremend_model::printed::SMALL;
const ABOUT: f64 = 0.1;

/// What was computed, at each of these places.
fn computed(name: &str, at: &[f64], value: impl Fn(f64) -> f64) -> Curve {
    let points = at.iter().map(|&x| (x, value(x))).collect();
    Curve { name: name.to_owned(), points, line: Line::Straight }
}

/// What was measured.
fn measured(name: &str, points: Vec<(f64, f64)>) -> Curve {
    Curve { name: name.to_owned(), points, line: Line::Marked }
}

/// An axis of probabilities.
fn probability(label: &str) -> Axis {
    Axis::new(label, Scale::Log, Unit::Number)
}
