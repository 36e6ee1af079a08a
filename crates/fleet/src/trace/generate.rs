//! Random traces.

use wiremend_fabric::tiers::Tiers;
use wiremend_units::LinkId;

use super::{CorruptionCause, CorruptionEvent, Trace};
use crate::random::{Purpose, RandomStream};
use crate::repair_model::RepairModel;
use crate::trace_time::TraceTime;

/// Parameters of random traces. The default values are those of LinkGuardian's authors (LG appendix D):
/// links fail independently at a constant rate, with a loss rate from the buckets of Table 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TraceGenerator {
    /// Mean time until a link corrupts, in hours.
    pub mttf_h: f64,
    /// Distribution of the loss rates inside a bucket.
    pub distribution: LossDistribution,
    /// Whether a link can fail again only after its repair.
    pub exclude_repair: bool,
    /// Whether failures have causes, including shared components that fail several links.
    pub causes: bool,
    /// Share of links that corrupt in both directions; CorrOpt's authors measured 8.2 %.
    pub both_directions_share: f64,
}

/// Distribution of the loss rates inside a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossDistribution {
    /// Uniform, as published: most values are near the upper end.
    Uniform,
    /// Uniform in the logarithm of the loss rate.
    LogUniform,
}

/// A range of loss rates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LossBucket {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Share of corrupting links in this range, in percent.
    pub percent: f64,
}

/// Loss rates of corrupting links in Microsoft's data centres (L16), with the published generator's ends.
pub const LOSS_BUCKETS: [LossBucket; 4] = [
    LossBucket { low: 1e-8, high: 9e-6, percent: 47.23 },
    LossBucket { low: 1e-5, high: 9.9e-5, percent: 18.43 },
    LossBucket { low: 1e-4, high: 9.99e-4, percent: 21.67 },
    LossBucket { low: 1e-3, high: 1e-2, percent: 12.67 },
];

/// Number of links that a shared component fails.
const SHARED_LINKS: usize = 3;

impl Default for TraceGenerator {
    fn default() -> Self {
        Self {
            mttf_h: 10_000.0,
            distribution: LossDistribution::Uniform,
            exclude_repair: false,
            causes: false,
            both_directions_share: 0.0,
        }
    }
}

impl TraceGenerator {
    /// Draws a trace up to `end`. Each link has its own random stream, so a larger fabric does not change
    /// the events of existing links.
    pub fn trace(&self, tiers: &Tiers, end: TraceTime, seed: u64) -> Trace {
        let mut events = Vec::new();
        let whole: f64 = CorruptionCause::ALL.iter().map(|cause| cause.percent()).sum();
        let shared = if self.causes { CorruptionCause::Shared.percent() / whole } else { 0.0 };
        for link in tiers.links() {
            self.single_failures(link, 1.0 - shared, end, seed, &mut events);
            if shared > 0.0 {
                self.shared_failures(tiers, link, shared / SHARED_LINKS as f64, end, seed, &mut events);
            }
        }
        Trace::new(in_order(&events, end))
    }

    /// Draws the failures of a single link.
    fn single_failures(
        &self,
        link: LinkId,
        part: f64,
        end: TraceTime,
        seed: u64,
        events: &mut Vec<CorruptionEvent>,
    ) {
        let mut draws = RandomStream::new(seed, Purpose::CorruptionEvent, u64::from(link.0));
        let mut from = TraceTime::default();
        while let Some(at) = self.next_failure(from, part, end, &mut draws) {
            let cause = self.causes.then(|| single_link_cause(draws.unit()));
            let event = self.event(at, link, cause, &mut draws);
            events.push(event);
            from = event.repair.map_or(at, |repair| at.after(repair));
        }
    }

    /// Draws the failures of shared components: a link and its neighbours at the same switch.
    fn shared_failures(
        &self,
        tiers: &Tiers,
        link: LinkId,
        part: f64,
        end: TraceTime,
        seed: u64,
        events: &mut Vec<CorruptionEvent>,
    ) {
        let mut draws = RandomStream::new(seed, Purpose::Shared, u64::from(link.0));
        let mut from = TraceTime::default();
        while let Some(at) = self.next_failure(from, part, end, &mut draws) {
            let ends = tiers.link(link);
            let ports = if draws.unit() < 0.5 {
                tiers.links_above(ends.lower)
            } else {
                tiers.links_below(ends.upper)
            };
            let place = ports.iter().position(|port| *port == link).unwrap_or(0);
            for step in 0..SHARED_LINKS.min(ports.len()) {
                let port = ports[(place + step) % ports.len()];
                events.push(self.event(at, port, Some(CorruptionCause::Shared), &mut draws));
            }
            from = at;
        }
    }

    fn next_failure(
        &self,
        from: TraceTime,
        part: f64,
        end: TraceTime,
        draws: &mut RandomStream,
    ) -> Option<TraceTime> {
        let gap_s = draws.exponential() * self.mttf_h * 3600.0 / part;
        TraceTime::from_s(from.as_s() + gap_s).filter(|at| *at < end)
    }

    fn event(
        &self,
        at: TraceTime,
        link: LinkId,
        cause: Option<CorruptionCause>,
        draws: &mut RandomStream,
    ) -> CorruptionEvent {
        let loss = self.loss(draws);
        let is_both = self.both_directions_share > 0.0 && draws.unit() < self.both_directions_share;
        let loss_back = if is_both { self.loss(draws) } else { 0.0 };
        let standard = RepairModel::default();
        let repair = self.exclude_repair.then(|| {
            if draws.unit() < standard.fast_share { standard.fast_duration } else { standard.slow_duration }
        });
        CorruptionEvent { at, link, loss, loss_back, repair, cause }
    }

    fn loss(&self, draws: &mut RandomStream) -> f64 {
        let mut percent = draws.unit() * 100.0;
        let along = draws.unit();
        let found = LOSS_BUCKETS.iter().find(|bucket| {
            percent -= bucket.percent;
            percent < 0.0
        });
        let LossBucket { low, high, .. } = *found.unwrap_or(&LOSS_BUCKETS[LOSS_BUCKETS.len() - 1]);
        match self.distribution {
            LossDistribution::Uniform => low + along * (high - low),
            LossDistribution::LogUniform => libm::exp(libm::log(low) + along * libm::log(high / low)),
        }
    }
}

/// Sorts events by time and link. Events before `end` are spread evenly over time: each slice of it has few, whose
/// short keys are sorted in the cache, so that an event costs the same whatever the length of the trace.
fn in_order(events: &[CorruptionEvent], end: TraceTime) -> Vec<CorruptionEvent> {
    const SLICE_EVENTS: usize = 1 << 10;
    let count = events.len() / SLICE_EVENTS + 1;
    let slice =
        |at: TraceTime| (u128::from(at.as_us()) * count as u128 / u128::from(end.as_us().max(1))) as usize;
    let mut slices = vec![Vec::new(); count];
    for (event, number) in events.iter().zip(0_u32..) {
        slices[slice(event.at).min(count - 1)].push((event.at, event.link, number));
    }
    for slice in &mut slices {
        slice.sort_unstable();
    }
    slices.into_iter().flatten().map(|(.., number)| events[number as usize]).collect()
}

/// Returns the cause of a failure of a single link.
fn single_link_cause(draw: f64) -> CorruptionCause {
    let alone = &CorruptionCause::ALL[..4];
    let whole: f64 = alone.iter().map(|cause| cause.percent()).sum();
    let mut left = draw * whole;
    let found = alone.iter().find(|cause| {
        left -= cause.percent();
        left < 0.0
    });
    *found.unwrap_or(&CorruptionCause::Transceiver)
}
