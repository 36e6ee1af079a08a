//! Loss and capacity of the same decisions under one kind of protection.

use wiremend_fabric::tiers::Tiers;
use wiremend_units::LinkId;

use crate::parts::Parts;
use crate::penalty::Penalty;
use crate::pipe_counts::{Pipe, Pipes};
use crate::pod_capacity::PodCapacities;
use crate::policy::Protection;
use crate::protection_effect::ProtectionEffect;
use crate::random::{Purpose, RandomStream};
use crate::timeline::{ViewChange, difference};

/// State of a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum LinkHealth {
    /// Out of service.
    Out,
    /// In service without corruption.
    Healthy,
    /// In service with these loss rates in both directions.
    Corrupting { loss: f64, loss_back: f64 },
}

/// Links with protection.
pub(crate) struct Deployment<'a> {
    tiers: &'a Tiers,
    /// By pod; `None` if all links or none have it.
    pods: Option<Vec<bool>>,
    all: bool,
}

impl<'a> Deployment<'a> {
    pub(crate) fn new(tiers: &'a Tiers, protection: Protection, seed: u64) -> Self {
        let pods = match protection {
            Protection::Pods(part) => Some(draw_pods(tiers.pod_count() as usize, part, seed)),
            Protection::None | Protection::All => None,
        };
        Self { tiers, pods, all: protection == Protection::All }
    }

    pub(crate) fn has(&self, link: LinkId) -> bool {
        let Some(pods) = &self.pods else { return self.all };
        let lower = self.tiers.link(link).lower;
        // Only uplinks of ToRs: the published rule.
        self.tiers.tier(lower) == 0 && self.tiers.pod(lower).is_some_and(|pod| pods[pod as usize])
    }
}

/// Draws this share of the pods, rounded up.
fn draw_pods(count: usize, part: f64, seed: u64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut draws = RandomStream::new(seed, Purpose::Deployment, 0);
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

/// Loss and capacity under one kind of protection, and changes of the protected links.
pub(crate) struct ProtectionView<'a> {
    deployment: Deployment<'a>,
    effect: &'a ProtectionEffect,
    healthy: Penalty,
    penalty: Penalty,
    pub(crate) capacities: PodCapacities<'a>,
    /// Links whose protection has started or ended since the last [`take_change`](Self::take_change).
    protected: Vec<(LinkId, bool)>,
    /// Sums at that time.
    before: (u128, u128),
}

impl<'a> ProtectionView<'a> {
    pub(crate) fn new(
        tiers: &'a Tiers,
        parts: &Parts,
        protection: Protection,
        effect: &'a ProtectionEffect,
        seed: u64,
    ) -> Self {
        let healthy = Penalty::from_loss(effect.healthy_loss());
        let penalty = healthy.times(tiers.link_count());
        let capacities = PodCapacities::new(tiers, parts);
        Self {
            deployment: Deployment::new(tiers, protection, seed),
            effect,
            healthy,
            penalty,
            protected: Vec::new(),
            before: (penalty.raw(), capacities.sum()),
            capacities,
        }
    }

    /// Returns the sum of the residual loss rates of all links in service.
    pub(crate) fn penalty(&self) -> Penalty {
        self.penalty
    }

    /// Returns what has changed in this part since the last call, and adds the pipes of links whose protection
    /// has started or ended.
    pub(crate) fn take_change(
        &mut self,
        part: usize,
        pipes: &Pipes,
        protected: &mut Vec<([Pipe; 2], bool)>,
    ) -> ViewChange {
        let now = (self.penalty.raw(), self.capacities.sum());
        let before = std::mem::replace(&mut self.before, now);
        let count = self.protected.len() as u32;
        protected
            .extend(self.protected.drain(..).map(|(link, is_protected)| (pipes.of_link(link), is_protected)));
        ViewChange {
            penalty: now.0.wrapping_sub(before.0),
            capacity: difference(now.1, before.1),
            least_capacity: self.capacities.least(part),
            protected: count,
        }
    }

    /// Returns residual loss and speed of a corrupting link.
    pub(crate) fn residual(&self, link: LinkId, loss: f64, loss_back: f64) -> (f64, f64) {
        if !self.deployment.has(link) {
            return (loss + loss_back, 1.0);
        }
        let there = self.effect.at_loss(loss);
        if loss_back == 0.0 {
            return (there.residual_loss, there.speed);
        }
        let other = self.effect.at_loss(loss_back);
        (there.residual_loss + other.residual_loss, there.speed.min(other.speed))
    }

    pub(crate) fn change(&mut self, link: LinkId, before: LinkHealth, after: LinkHealth) {
        let (was, is) = (self.counts(link, before), self.counts(link, after));
        self.penalty.add(is.0);
        self.penalty.remove(was.0);
        if was.1.to_bits() != is.1.to_bits() {
            self.capacities.change(link, was.1, is.1);
        }
        if was.2 != is.2 {
            self.protected.push((link, is.2));
        }
    }

    /// Returns penalty, share of the speed, and whether the link is protected.
    fn counts(&self, link: LinkId, health: LinkHealth) -> (Penalty, f64, bool) {
        match health {
            LinkHealth::Out => (Penalty::default(), 0.0, false),
            LinkHealth::Healthy => (self.healthy, 1.0, false),
            LinkHealth::Corrupting { loss, loss_back } => {
                let (residual_loss, speed) = self.residual(link, loss, loss_back);
                (Penalty::from_loss(residual_loss.min(2.0)), speed, self.deployment.has(link))
            }
        }
    }
}
