//! Flow after flow over one link: what the claims on transports share.

use wiremend_report::human;
use wiremend_report::plot::{Axis, Plot, Scale, Unit};

use super::stress::{BACKWARD, FORWARD};
use crate::claims::completion::{exact_ns, slowest};
use crate::ledger::number::{count, fraction, number, shown};
use crate::ledger::{Effort, Judgement, Outcome, Results, Run};

/// What the scenario calls its variants.
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
/// With no more dummies than it needs.
pub(super) const HARDENED_1: &str = "hardened, 1 dummy";
/// Error correction, with little and much redundancy.
pub(super) const FEC_25: &str = "fec(25,1)";
pub(super) const FEC_5: &str = "fec(5,1)";

/// All that protect flows in full.
pub(super) const PROTECTED: [&str; 4] = [ALL, RETX_TAIL, HARDENED, HARDENED_NB];
/// What figures and tables show of a flow size: the first six always.
pub(super) const SHOWN: [&str; 8] = [NO_LOSS, LOSS, ALL, RETX_TAIL, HARDENED, HARDENED_NB, FEC_25, FEC_5];

/// What the testbed lost at a nominal 1e-3. At 1e-3 itself it would be a coin toss whether 99.9 % of single-packet flows are spared.
pub(super) const ACTUAL: f64 = 1.16e-3;

/// How far a ratio may be from the printed one.
pub(super) const PART: f64 = 0.1;
/// Flows over a link that hides its losses take at most so many times as long as without loss, at any quantile.
pub(super) const HIDDEN: f64 = 2.0;

/// How long a small packet and its ACK take, most of it in the hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RoundTrip {
    /// What medians of RDMA flows in the testbed amount to: 18.0 µs, of which 24 387 B take 2.1 µs on a link.
    Rdma,
    /// What the paper gives for TCP.
    Tcp,
}

impl RoundTrip {
    pub(super) const ALL: [Self; 2] = [Self::Rdma, Self::Tcp];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rdma => "16 µs",
            Self::Tcp => "30 µs",
        }
    }

    /// What a host takes for a packet, each way: the link and its switches take 2.7 µs of a round trip.
    const fn host_latency(self) -> &'static str {
        match self {
            Self::Rdma => "3.3us",
            Self::Tcp => "6.83us",
        }
    }
}

/// Flows of one size, one after the other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Trial {
    pub(super) flow_bytes: u32,
    pub(super) flows: u32,
    pub(super) round_trip: RoundTrip,
    pub(super) loss: f64,
}

impl Trial {
    pub(super) fn new(flow_bytes: u32, effort: Effort, round_trip: RoundTrip) -> Self {
        let flows = match (effort, round_trip) {
            (Effort::Quick, _) if flow_bytes < 1024 => 50_000,
            (Effort::Quick, _) => 30_000,
            (Effort::Full, RoundTrip::Rdma) => 300_000,
            (Effort::Full, RoundTrip::Tcp) => 100_000,
        };
        Self { flow_bytes, flows, round_trip, loss: ACTUAL }
    }

    pub(super) fn run(&self, variant: &'static str) -> Run {
        let host = self.round_trip.host_latency();
        let run = Run::of("claims/link-flows")
            .variant(variant)
            .set("workload.0.message", format!("{}B", self.flow_bytes))
            .set("workload.0.count", self.flows)
            .set("topology.host_tx_latency", host)
            .set("topology.host_rx_latency", host)
            .seconds(self.seconds(variant));
        let is_lossy = variant != NO_LOSS;
        if is_lossy { run.set("impair.0.rate", format!("{:e}", self.loss)) } else { run }
    }

    pub(super) fn runs(&self, variants: &[&'static str]) -> Vec<Run> {
        variants.iter().map(|variant| self.run(variant)).collect()
    }

    pub(super) fn of<'a>(&self, results: &'a Results<'_>, variant: &'static str) -> &'a Outcome {
        results.of(&self.run(variant))
    }

    pub(super) fn at(&self, results: &Results<'_>, variant: &'static str, quantile: f64) -> f64 {
        exact_ns(self.of(results, variant), quantile)
    }

    /// How many times as long flows take over a link that does nothing about losses as over one that does, at 99.9 %.
    pub(super) fn gain(&self, results: &Results<'_>, variant: &'static str) -> f64 {
        self.at(results, LOSS, 0.999) / self.at(results, variant, 0.999)
    }

    /// What all ways of protection must do: no timer fires.
    pub(super) fn spares_timers(
        &self,
        judgement: &mut Judgement,
        results: &Results<'_>,
        variant: &'static str,
    ) {
        let name = self.named(variant);
        let summary = &self.of(results, variant).summary;
        let unfinished = summary.flows - summary.finished;
        judgement.must(format!("flows that do not finish, {name}"), count(unfinished).is(0));
        judgement.must(format!("timeouts, {name}"), count(summary.timeouts.total()).is(0));
    }

    /// What keeps packets in order must do: flows do not show that frames were lost.
    pub(super) fn hides_losses(
        &self,
        judgement: &mut Judgement,
        results: &Results<'_>,
        variant: &'static str,
    ) {
        let longer = self.at(results, variant, 0.999) / self.at(results, NO_LOSS, 0.999);
        let what = format!("against no loss at 99.9 %, {}", self.named(variant));
        judgement.must(what, number(longer).at_most(HIDDEN));
    }

    /// A variant of it, as checks call it.
    pub(super) fn named(&self, variant: &str) -> String {
        format!("{variant}, round trip {}", self.round_trip.name())
    }

    /// Without protection so many flows wait for a timer that 99.9 % lies among them.
    pub(super) fn timers_decide(&self, judgement: &mut Judgement, results: &Results<'_>) {
        let share = self.of(results, LOSS).summary.flows_with_timeout.fraction;
        judgement.must(format!("flows with a timeout, {}", self.named(LOSS)), fraction(share).at_least(1e-3));
    }

    /// Packets that a host sends again.
    pub(super) fn sent_again(&self, results: &Results<'_>, variant: &'static str) -> u64 {
        self.of(results, variant).summary.retransmitted_packets
    }

    /// Headers, copies, parities and frames of the link's own, for each byte that the link carries anyway.
    fn added(&self, results: &Results<'_>, variant: &'static str) -> f64 {
        let outcome = self.of(results, variant);
        let sum = outcome.summary.protection;
        let added = sum.header_bytes + sum.resent.bytes + sum.own.bytes;
        let carried: u64 = [FORWARD, BACKWARD].iter().map(|lane| outcome.lane(lane).tx_bytes).sum();
        added as f64 / carried.saturating_sub(added).max(1) as f64
    }

    /// Quantiles, timeouts, packets sent again, what it costs, and gain, for a table.
    pub(super) fn row(&self, results: &Results<'_>, variant: &'static str) -> Vec<String> {
        let mut row = vec![format!("{}, {variant}", self.round_trip.name())];
        row.extend(QUANTILES.map(|quantile| human::time_ns(self.at(results, variant, quantile))));
        row.push(human::count(self.of(results, variant).summary.timeouts.total()));
        row.push(human::count(self.sent_again(results, variant)));
        row.push(format!("{} %", human::percent(self.added(results, variant))));
        row.push(format!("{}×", shown(self.gain(results, variant))));
        row
    }

    /// The slowest flows, as the paper draws them.
    pub(super) fn figure(&self, results: &Results<'_>, variants: &[&'static str], from: f64) -> Plot {
        let curve = |&variant: &&'static str| slowest(variant, self.of(results, variant), from);
        Plot { curves: variants.iter().map(curve).collect(), ..self.axes(from) }
    }

    /// The same without curves.
    pub(super) fn axes(&self, from: f64) -> Plot {
        Plot {
            title: format!(
                "The slowest {} % of RDMA WRITEs of {} B, round trip {}",
                human::percent(1.0 - from),
                self.flow_bytes,
                self.round_trip.name()
            ),
            description:
                "Cumulative distribution of completion times, with and without protection of the link."
                    .to_owned(),
            x: Axis::new("completion time", Scale::Log, Unit::TimeNs),
            y: Axis::new("flows that took at most this long", Scale::Tail, Unit::Percent)
                .with_range(from, 1.0 - 1.0 / f64::from(self.flows)),
            curves: Vec::new(),
        }
    }

    fn seconds(&self, variant: &str) -> f64 {
        // Measured.
        let per_packet = match variant {
            NO_LOSS | LOSS => 0.5e-6,
            HARDENED | HARDENED_NB | HARDENED_1 | FEC_25 | FEC_5 => 1.2e-6,
            _ => 2.2e-6,
        };
        f64::from(self.flows) * (f64::from(self.flow_bytes) / 1024.0).ceil() * per_packet
    }
}

/// The heads of [`Trial::row`].
pub(super) const COLUMNS: [&str; 9] = [
    "",
    "median",
    "99 %",
    "99.9 %",
    "99.99 %",
    "timeouts",
    "sent again",
    "added to the link",
    "gain at 99.9 %",
];
const QUANTILES: [f64; 4] = [0.5, 0.99, 0.999, 0.9999];
