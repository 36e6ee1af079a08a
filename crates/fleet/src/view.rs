//! What the same decisions come to under one kind of protection.

use wiremend_fabric::tiers::Tiers;
use wiremend_units::LinkId;

use crate::capacity::Capacities;
use crate::draws::{Draws, Purpose};
use crate::effect::Effect;
use crate::penalty::Penalty;
use crate::pipes::Pipes;
use crate::policy::Protection;

/// How a link is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Health {
    /// It is taken out.
    Out,
    /// It is well.
    Well,
    /// It loses so much, there and back.
    Ill { loss: f64, back: f64 },
}

/// Which links have protection.
pub(crate) struct Deployment<'a> {
    tiers: &'a Tiers,
    /// By pod; `None` if all links or none have it.
    pods: Option<Vec<bool>>,
    all: bool,
}

impl<'a> Deployment<'a> {
    pub(crate) fn new(tiers: &'a Tiers, protection: Protection, seed: u64) -> Self {
        let pods = match protection {
            Protection::Pods(part) => Some(drawn(tiers.pod_count() as usize, part, seed)),
            Protection::None | Protection::All => None,
        };
        Self { tiers, pods, all: protection == Protection::All }
    }

    pub(crate) fn has(&self, link: LinkId) -> bool {
        let Some(pods) = &self.pods else { return self.all };
        let lower = self.tiers.link(link).lower;
        // Only what leads up from a ToR: the published rule.
        self.tiers.tier(lower) == 0 && self.tiers.pod(lower).is_some_and(|pod| pods[pod as usize])
    }
}

/// This part of the pods, rounded up, by a shuffle.
fn drawn(count: usize, part: f64, seed: u64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut draws = Draws::new(seed, Purpose::Deployment, 0);
    for place in (1..count).rev() {
        order.swap(place, draws.below(place as u64 + 1) as usize);
    }
    let chosen = (count as f64 * part * (1.0 - 1e-12)).ceil() as usize;
    let mut pods = vec![false; count];
    for pod in &order[..chosen.min(count)] {
        pods[*pod] = true;
    }
    pods
}

/// Loss, capacity and pipes under one kind of protection.
pub(crate) struct View<'a> {
    deployment: Deployment<'a>,
    effect: &'a Effect,
    healthy: Penalty,
    penalty: Penalty,
    pub(crate) capacities: Capacities<'a>,
    pub(crate) pipes: Pipes<'a>,
}

impl<'a> View<'a> {
    pub(crate) fn new(tiers: &'a Tiers, protection: Protection, effect: &'a Effect, seed: u64) -> Self {
        let healthy = Penalty::of(effect.healthy_loss());
        Self {
            deployment: Deployment::new(tiers, protection, seed),
            effect,
            healthy,
            penalty: healthy.times(tiers.link_count()),
            capacities: Capacities::new(tiers),
            pipes: Pipes::new(tiers),
        }
    }

    pub(crate) fn penalty(&self) -> f64 {
        self.penalty.value()
    }

    /// What is left of loss and speed of a link that is ill.
    pub(crate) fn left(&self, link: LinkId, loss: f64, back: f64) -> (f64, f64) {
        if !self.deployment.has(link) {
            return (loss + back, 1.0);
        }
        let there = self.effect.of(loss);
        if back == 0.0 {
            return (there.left, there.speed);
        }
        let other = self.effect.of(back);
        (there.left + other.left, there.speed.min(other.speed))
    }

    pub(crate) fn change(&mut self, link: LinkId, before: Health, after: Health) {
        let (was, is) = (self.counts(link, before), self.counts(link, after));
        self.penalty.add(is.0);
        self.penalty.remove(was.0);
        if was.1.to_bits() != is.1.to_bits() {
            self.capacities.change(link, was.1, is.1);
        }
        if was.2 != is.2 {
            self.pipes.change(link, is.2);
        }
    }

    /// Loss, part of the speed, and whether it is protected.
    fn counts(&self, link: LinkId, health: Health) -> (Penalty, f64, bool) {
        match health {
            Health::Out => (Penalty::default(), 0.0, false),
            Health::Well => (self.healthy, 1.0, false),
            Health::Ill { loss, back } => {
                let (left, speed) = self.left(link, loss, back);
                (Penalty::of(left.min(2.0)), speed, self.deployment.has(link))
            }
        }
    }
}
