//! Traces by chance.

use wiremend_fabric::tiers::Tiers;
use wiremend_units::LinkId;

use super::{Cause, Corruption, Trace};
use crate::draws::{Draws, Purpose};
use crate::moment::Moment;
use crate::repair::Repair;

/// How traces are drawn. The default is what LinkGuardian's authors drew (LG appendix D): links fail independently, as likely at any
/// time, and lose frames at a rate from the buckets of Table 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Generator {
    /// The mean time until a link corrupts, in hours.
    pub mttf_h: f64,
    /// How losses lie inside a bucket.
    pub inside: Inside,
    /// Whether a link can corrupt again only after its repair.
    pub exclude_repair: bool,
    /// Whether links fail for a reason, some of them together with their neighbours.
    pub causes: bool,
    /// The part of links that corrupt in both directions; CorrOpt's authors saw 8.2 %.
    pub both_ways: f64,
}

/// How losses lie inside a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inside {
    /// As likely everywhere, as published: mostly near the upper end.
    Uniform,
    /// As likely at every order of magnitude.
    LogUniform,
}

/// A range of loss rates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bucket {
    /// From here.
    pub low: f64,
    /// Up to here.
    pub high: f64,
    /// The part of corrupting links that are in it, in per cent.
    pub percent: f64,
}

/// Loss rates of corrupting links in Microsoft's data centres (L16), with the ends that were drawn between.
pub const BUCKETS: [Bucket; 4] = [
    Bucket { low: 1e-8, high: 9e-6, percent: 47.23 },
    Bucket { low: 1e-5, high: 9.9e-5, percent: 18.43 },
    Bucket { low: 1e-4, high: 9.99e-4, percent: 21.67 },
    Bucket { low: 1e-3, high: 1e-2, percent: 12.67 },
];

/// Links of one switch that fail together.
const TOGETHER: usize = 3;

impl Default for Generator {
    fn default() -> Self {
        Self {
            mttf_h: 10_000.0,
            inside: Inside::Uniform,
            exclude_repair: false,
            causes: false,
            both_ways: 0.0,
        }
    }
}

impl Generator {
    /// A trace up to `end`. Each link has draws of its own: a larger fabric changes nothing for the links that were there.
    pub fn trace(&self, tiers: &Tiers, end: Moment, seed: u64) -> Trace {
        let mut events = Vec::new();
        let whole: f64 = Cause::ALL.iter().map(|cause| cause.percent()).sum();
        let shared = if self.causes { Cause::Shared.percent() / whole } else { 0.0 };
        for link in tiers.links() {
            self.alone(link, 1.0 - shared, end, seed, &mut events);
            if shared > 0.0 {
                self.together(tiers, link, shared / TOGETHER as f64, end, seed, &mut events);
            }
        }
        events.sort_by_key(|event| (event.at, event.link));
        Trace::new(events)
    }

    /// What befalls one link.
    fn alone(&self, link: LinkId, part: f64, end: Moment, seed: u64, events: &mut Vec<Corruption>) {
        let mut draws = Draws::new(seed, Purpose::Corruption, u64::from(link.0));
        let mut from = Moment::default();
        while let Some(at) = self.next(from, part, end, &mut draws) {
            let cause = self.causes.then(|| cause_alone(draws.unit()));
            let event = self.event(at, link, cause, &mut draws);
            events.push(event);
            from = event.repair.map_or(at, |repair| at.after(repair));
        }
    }

    /// What befalls a link and its neighbours at the same switch.
    fn together(
        &self,
        tiers: &Tiers,
        link: LinkId,
        part: f64,
        end: Moment,
        seed: u64,
        events: &mut Vec<Corruption>,
    ) {
        let mut draws = Draws::new(seed, Purpose::Shared, u64::from(link.0));
        let mut from = Moment::default();
        while let Some(at) = self.next(from, part, end, &mut draws) {
            let ends = tiers.link(link);
            let ports = if draws.unit() < 0.5 {
                tiers.links_above(ends.lower)
            } else {
                tiers.links_below(ends.upper)
            };
            let place = ports.iter().position(|port| *port == link).unwrap_or(0);
            for step in 0..TOGETHER.min(ports.len()) {
                let port = ports[(place + step) % ports.len()];
                events.push(self.event(at, port, Some(Cause::Shared), &mut draws));
            }
            from = at;
        }
    }

    fn next(&self, from: Moment, part: f64, end: Moment, draws: &mut Draws) -> Option<Moment> {
        let gap_s = draws.exponential() * self.mttf_h * 3600.0 / part;
        Moment::from_s(from.as_s() + gap_s).filter(|at| *at < end)
    }

    fn event(&self, at: Moment, link: LinkId, cause: Option<Cause>, draws: &mut Draws) -> Corruption {
        let loss = self.loss(draws);
        let is_both = self.both_ways > 0.0 && draws.unit() < self.both_ways;
        let loss_back = if is_both { self.loss(draws) } else { 0.0 };
        let standard = Repair::default();
        let repair = self
            .exclude_repair
            .then(|| if draws.unit() < standard.quick_share { standard.quick } else { standard.slow });
        Corruption { at, link, loss, loss_back, repair, cause }
    }

    fn loss(&self, draws: &mut Draws) -> f64 {
        let mut percent = draws.unit() * 100.0;
        let along = draws.unit();
        let found = BUCKETS.iter().find(|bucket| {
            percent -= bucket.percent;
            percent < 0.0
        });
        let Bucket { low, high, .. } = *found.unwrap_or(&BUCKETS[BUCKETS.len() - 1]);
        match self.inside {
            Inside::Uniform => low + along * (high - low),
            Inside::LogUniform => libm::exp(libm::log(low) + along * libm::log(high / low)),
        }
    }
}

/// Why one link fails and no other.
fn cause_alone(draw: f64) -> Cause {
    let alone = &Cause::ALL[..4];
    let whole: f64 = alone.iter().map(|cause| cause.percent()).sum();
    let mut left = draw * whole;
    let found = alone.iter().find(|cause| {
        left -= cause.percent();
        left < 0.0
    });
    *found.unwrap_or(&Cause::Transceiver)
}
