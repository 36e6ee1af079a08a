//! Flows one after the other over one link: common parts of the claims on transports.

use wiremend_measure::interval::{Interval, clopper_pearson};

use super::transport::{RTO_MIN_NS, RoundTrip, Transport};
use crate::prelude::*;
use crate::stress::{BACKWARD, FORWARD};

/// Variants of the scenario.
pub(super) const NO_LOSS: &str = "no loss";
pub(super) const LOSS: &str = "loss";
pub(super) const RETX: &str = "ReTx";
pub(super) const RETX_ORDER: &str = "ReTx+Order";
/// ReTx+Tail: the non-blocking mode of the prototype.
pub(super) const RETX_TAIL: &str = "LinkGuardianNB";
/// ReTx+Tail+Order: the ordered mode of the prototype.
pub(super) const ALL: &str = "LinkGuardian";
pub(super) const HARDENED: &str = "hardened";
pub(super) const HARDENED_NB: &str = "hardened NB";
/// The hardened protocol with a single dummy.
pub(super) const HARDENED_1: &str = "hardened, 1 dummy";
/// FEC with low and with high redundancy.
pub(super) const FEC_25: &str = "fec(25,1)";
pub(super) const FEC_5: &str = "fec(5,1)";

/// Variants with full protection.
pub(super) const PROTECTED: [&str; 4] = [ALL, RETX_TAIL, HARDENED, HARDENED_NB];
/// Variants in figures and tables; the first six always.
pub(super) const SHOWN_VARIANTS: [&str; 8] =
    [NO_LOSS, LOSS, ALL, RETX_TAIL, HARDENED, HARDENED_NB, FEC_25, FEC_5];

/// Actual loss rate of the testbed at a nominal 1e-3. At exactly 1e-3 chance would decide whether the 99.9 %
/// quantile of single-packet flows includes a timeout.
pub(super) const ACTUAL_LOSS: f64 = 1.16e-3;

/// Tolerance for printed ratios.
const RATIO_TOLERANCE: f64 = 0.1;
/// Largest ratio to the times without loss, at any quantile, for a link that hides its losses.
pub(super) const HIDDEN_RATIO_MAX: f64 = 2.0;

/// Flows of one size, one after the other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Trial {
    pub(super) flow_bytes: u32,
    pub(super) flows: u32,
    pub(super) transport: Transport,
    pub(super) loss: f64,
    /// Whether hosts [react late](super::late_hosts).
    pub(super) late: bool,
}

impl Trial {
    pub(super) fn new(flow_bytes: u32, effort: Effort, transport: impl Into<Transport>) -> Self {
        let transport = transport.into();
        let is_single = flow_bytes <= transport.packet_bytes();
        let flows = match (effort, transport) {
            (Effort::Quick, _) if is_single => 50_000,
            (Effort::Quick, Transport::Rdma(_)) => 30_000,
            (Effort::Quick, _) => 20_000,
            (Effort::Full, Transport::Rdma(RoundTrip::Tcp)) => 100_000,
            (Effort::Full, Transport::Dctcp | Transport::Bbr) if !is_single => 100_000,
            (Effort::Full, _) => 300_000,
        };
        Self { flow_bytes, flows, transport, loss: ACTUAL_LOSS, late: false }
    }

    pub(super) fn run(&self, variant: &'static str) -> Run {
        let run = Run::new("claims/link-flows")
            .variant(variant)
            .set("workload.0.message", format!("{}B", self.flow_bytes))
            .set("workload.0.count", self.flows)
            .seconds(self.seconds(variant));
        let run = self.transport.apply(run, self.late);
        let is_lossy = variant != NO_LOSS;
        if is_lossy { run.set("impair.0.rate", format!("{:e}", self.loss)) } else { run }
    }

    pub(super) fn outcome<'a>(&self, results: &'a Results<'_>, variant: &'static str) -> &'a Outcome {
        results.outcome(&self.run(variant))
    }

    pub(super) fn quantile_ns(&self, results: &Results<'_>, variant: &'static str, quantile: f64) -> f64 {
        exact_ns(self.outcome(results, variant), quantile)
    }

    /// Ratio of the 99.9 % quantiles without and with protection.
    pub(super) fn gain(&self, results: &Results<'_>, variant: &'static str) -> f64 {
        self.quantile_ns(results, LOSS, 0.999) / self.quantile_ns(results, variant, 0.999)
    }

    /// Distribution-free 95 % interval of the gain, from ranks.
    pub(super) fn gain_interval(&self, results: &Results<'_>, variant: &'static str) -> Interval {
        let flows = self.outcome(results, variant).summary.flows;
        let ranks = clopper_pearson(flows - flows / 1000, flows, 0.95);
        let at = |variant, quantile| self.quantile_ns(results, variant, quantile);
        let gain = self.gain(results, variant);
        Interval {
            low: gain.min(at(LOSS, ranks.low) / at(variant, ranks.high)),
            high: gain.max(at(LOSS, ranks.high) / at(variant, ranks.low)),
        }
    }

    /// Gain and interval as text.
    pub(super) fn gain_text(&self, results: &Results<'_>, variant: &'static str) -> String {
        if variant == LOSS {
            return "1".to_owned();
        }
        let Interval { low, high } = self.gain_interval(results, variant);
        format!("{} ({}…{})", shown(self.gain(results, variant)), shown(low), shown(high))
    }

    /// Share of the flows that have a timeout.
    pub(super) fn waiting(&self, results: &Results<'_>, variant: &'static str) -> Share {
        share(self.flows_with_timeout(results, variant), u64::from(self.flows))
    }

    /// Flows with a timeout. With TCP these are all flows that took that long: a tail loss probe may replace
    /// the timeout.
    fn flows_with_timeout(&self, results: &Results<'_>, variant: &'static str) -> u64 {
        let outcome = self.outcome(results, variant);
        if self.transport.is_tcp() {
            (share_above(outcome, RTO_MIN_NS) * outcome.summary.flows as f64).round() as u64
        } else {
            outcome.summary.flows_with_timeout.count
        }
    }

    /// Checks that no timer expires, which every protection must achieve.
    pub(super) fn check_no_timeouts(
        &self,
        judgement: &mut Judgement,
        results: &Results<'_>,
        variant: &'static str,
    ) {
        let name = self.named(variant);
        let outcome = self.outcome(results, variant);
        judgement.none(format!("flows that do not finish, {name}"), outcome.unfinished());
        judgement.none(format!("timeouts, {name}"), outcome.summary.timeouts.total());
        if self.transport.is_tcp() {
            let slowest = time_ns(self.quantile_ns(results, variant, 1.0));
            judgement.must(format!("slowest, {name}"), slowest.below(RTO_MIN_NS));
        }
    }

    /// Checks that flows do not show losses, which every ordered protection must achieve.
    pub(super) fn check_losses_hidden(
        &self,
        judgement: &mut Judgement,
        results: &Results<'_>,
        variant: &'static str,
    ) {
        let longer = self.quantile_ns(results, variant, 0.999) / self.quantile_ns(results, NO_LOSS, 0.999);
        let what = format!("99.9 % divided by that without loss, {}", self.named(variant));
        judgement.must(what, number(longer).at_most(HIDDEN_RATIO_MAX));
    }

    /// Name of a variant in checks.
    pub(super) fn named(&self, variant: &str) -> String {
        format!("{variant}, {}", self.transport.name())
    }

    /// Checks the printed gain of a protection at 99.9 %, and returns it with the gain between hosts that react late.
    pub(super) fn check_gain(
        &self,
        judgement: &mut Judgement,
        results: &Results<'_>,
        variant: &'static str,
        printed: f64,
    ) -> (Printed, Number) {
        let what = format!("gain at 99.9 %, {}", self.named(variant));
        let test = number(self.gain(results, variant)).near(printed, RATIO_TOLERANCE);
        (judgement.printed(what, test), self.late_gain(results, variant))
    }

    /// The gain between hosts that react late.
    pub(super) fn late_gain(&self, results: &Results<'_>, variant: &'static str) -> Number {
        number(self.between_late_hosts().gain(results, variant))
    }

    /// The same flows between hosts that react late.
    pub(super) fn between_late_hosts(self) -> Self {
        Self { late: true, ..self }
    }

    /// Checks that without protection enough flows have a timeout to determine the 99.9 % quantile.
    pub(super) fn check_timeouts_dominate(&self, judgement: &mut Judgement, results: &Results<'_>) {
        let what = format!("flows with a timeout, {}", self.named(LOSS));
        judgement.must(what, fraction(self.waiting(results, LOSS).value()).at_least(1e-3));
    }

    /// Bytes of headers, copies, parity and control frames for each byte that the link carries without
    /// protection.
    fn overhead(&self, results: &Results<'_>, variant: &'static str) -> f64 {
        let outcome = self.outcome(results, variant);
        let sum = outcome.summary.protection;
        let added = sum.header_bytes + sum.resent.bytes + sum.control.bytes;
        let carried: u64 = [FORWARD, BACKWARD].iter().map(|lane| outcome.lane(lane).tx_bytes).sum();
        added as f64 / carried.saturating_sub(added).max(1) as f64
    }

    /// Adds a row to the table: quantiles, flows with a timeout, retransmissions, overhead, and gain.
    pub(super) fn row(&self, judgement: &mut Judgement, results: &Results<'_>, variant: &'static str) {
        let [median, p99, p999, p9999] =
            [0.5, 0.99, 0.999, 0.9999].map(|quantile| time_ns(self.quantile_ns(results, variant, quantile)));
        let waiting = count(self.flows_with_timeout(results, variant));
        let resent = count(self.outcome(results, variant).summary.retransmitted_packets);
        let added = fraction(self.overhead(results, variant));
        let gain = self.gain_text(results, variant);
        judgement.row(
            format!("{}, {variant}", self.transport.name()),
            [&median, &p99, &p999, &p9999, &waiting, &resent, &added, &gain],
        );
    }

    /// Plots the slowest flows, as in the paper.
    pub(super) fn figure(&self, results: &Results<'_>, variants: &[&'static str], from: f64) -> Plot {
        let curve = |&variant: &&'static str| slowest(variant, self.outcome(results, variant), from);
        Plot { curves: variants.iter().map(curve).collect(), ..self.axes(from) }
    }

    /// The axes of this plot.
    pub(super) fn axes(&self, from: f64) -> Plot {
        Plot::new(
            format!(
                "The slowest {} % of flows of {} B: {}",
                human::percent(1.0 - from),
                self.flow_bytes,
                self.transport.name()
            ),
            "Cumulative distribution of completion times, with and without protection of the link.",
            Axis::new("completion time", Scale::Log, Unit::TimeNs),
            Axis::new("flows that took at most this long", Scale::Tail, Unit::Percent)
                .with_range(from, 1.0 - 1.0 / f64::from(self.flows)),
            Vec::new(),
        )
    }

    fn seconds(&self, variant: &str) -> f64 {
        // Measured computing time.
        let per_packet = match variant {
            NO_LOSS | LOSS => 0.5e-6,
            HARDENED | HARDENED_NB | HARDENED_1 | FEC_25 | FEC_5 => 1.2e-6,
            _ => 2.2e-6,
        };
        f64::from(self.flows)
            * f64::from(self.flow_bytes.div_ceil(self.transport.packet_bytes()))
            * per_packet
    }
}

/// The column heads of [`Trial::row`].
pub(super) const COLUMNS: &str = "| median | 99 % | 99.9 % | 99.99 % | flows with a timeout | retransmitted | bytes \
                                  added | gain at 99.9 % (95 %)";
