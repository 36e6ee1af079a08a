//! Capacity of pods towards the top tier.

use wiremend_fabric::tiers::Tiers;
use wiremend_units::LinkId;

use crate::min_tree::{PartMinimums, PartPlace};
use crate::parts::Parts;

/// Shares in units of 2^-40, so that sums are exact.
pub(crate) const ONE: u64 = 1 << 40;

pub(crate) fn share(part: u64, whole: u64) -> u64 {
    // The common case fits into 64 bits, where a division is much faster.
    match part.checked_mul(ONE) {
        Some(part) => part / whole.max(1),
        None => (u128::from(part) * u128::from(ONE) / u128::from(whole.max(1))) as u64,
    }
}

pub(crate) fn fraction(share: f64) -> f64 {
    share / ONE as f64
}

/// Capacity of every pod: the minimum over its tiers of the sum of the uplink rates, in kbit/s.
pub(crate) struct PodCapacities<'a> {
    tiers: &'a Tiers,
    tier_count: usize,
    /// Sum of uplink rates by pod and tier of the lower end; `u64::MAX` for tiers without uplinks.
    steps: Vec<u64>,
    nominal: Vec<u64>,
    places: Vec<PartPlace>,
    least: PartMinimums,
    sum: u128,
}

impl<'a> PodCapacities<'a> {
    pub(crate) fn new(tiers: &'a Tiers, parts: &Parts) -> Self {
        let tier_count = usize::from(tiers.tier_count());
        let pods = tiers.pod_count() as usize;
        let mut of_pod = vec![0; pods];
        for lower in tiers.links().map(|link| tiers.link(link).lower) {
            if let Some(pod) = tiers.pod(lower) {
                of_pod[pod as usize] = parts.of_switch(lower.index());
            }
        }
        let (least, places) = PartMinimums::new(ONE, of_pod.into_iter(), parts.count());
        let mut all = Self {
            tiers,
            tier_count,
            steps: vec![0; pods * tier_count],
            nominal: Vec::new(),
            places,
            least,
            sum: ONE as u128 * pods as u128,
        };
        for link in tiers.links() {
            if let Some((_, step)) = all.place(link) {
                all.steps[step] += kbps(tiers, link, 1.0);
            }
        }
        for step in all.steps.iter_mut().filter(|step| **step == 0) {
            *step = u64::MAX;
        }
        all.nominal = (0..pods).map(|pod| all.pod_kbps(pod)).collect();
        all
    }

    /// Changes the effective speed of a link from the share `before` to `after`.
    pub(crate) fn change(&mut self, link: LinkId, before: f64, after: f64) {
        let Some((pod, step)) = self.place(link) else { return };
        self.steps[step] = self.steps[step] + kbps(self.tiers, link, after) - kbps(self.tiers, link, before);
        let now = share(self.pod_kbps(pod), self.nominal[pod]);
        self.sum = self.sum + u128::from(now) - u128::from(self.least.get(self.places[pod]));
        self.least.set(self.places[pod], now);
    }

    /// Returns the smallest share of its capacity that a pod of a part has.
    pub(crate) fn least(&self, part: usize) -> u64 {
        self.least.least(part)
    }

    /// Returns the sum of the shares of all pods.
    pub(crate) fn sum(&self) -> u128 {
        self.sum
    }

    fn place(&self, link: LinkId) -> Option<(usize, usize)> {
        let lower = self.tiers.link(link).lower;
        let pod = self.tiers.pod(lower)? as usize;
        Some((pod, pod * self.tier_count + usize::from(self.tiers.tier(lower))))
    }

    fn pod_kbps(&self, pod: usize) -> u64 {
        let own = pod * self.tier_count..(pod + 1) * self.tier_count;
        self.steps[own].iter().copied().min().unwrap_or(u64::MAX)
    }
}

fn kbps(tiers: &Tiers, link: LinkId, speed: f64) -> u64 {
    libm::round(tiers.link(link).rate.bits_per_s() as f64 / 1e3 * speed) as u64
}
