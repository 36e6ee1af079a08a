//! What pods can carry to the top.

use wiremend_fabric::tiers::Tiers;
use wiremend_units::LinkId;

use crate::lowest::Lowest;

/// Shares as integers: parts of 2^40, so that their sums are exact.
pub(crate) const ONE: u64 = 1 << 40;

pub(crate) fn share(part: u64, whole: u64) -> u64 {
    (u128::from(part) * u128::from(ONE) / u128::from(whole.max(1))) as u64
}

pub(crate) fn fraction(share: f64) -> f64 {
    share / ONE as f64
}

/// The capacity of every pod: the least of its tiers, each the sum of its links that lead up, in kbit/s.
pub(crate) struct Capacities<'a> {
    tiers: &'a Tiers,
    tier_count: usize,
    /// Of links that lead up, by pod and tier of their lower end; the largest number where a pod has none.
    steps: Vec<u64>,
    nominal: Vec<u64>,
    least: Lowest,
    sum: u128,
}

impl<'a> Capacities<'a> {
    pub(crate) fn new(tiers: &'a Tiers) -> Self {
        let tier_count = usize::from(tiers.tier_count());
        let pods = tiers.pod_count() as usize;
        let mut all = Self {
            tiers,
            tier_count,
            steps: vec![0; pods * tier_count],
            nominal: Vec::new(),
            least: Lowest::new(&vec![ONE; pods]),
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
        all.nominal = (0..pods).map(|pod| all.of(pod)).collect();
        all
    }

    /// A link that gave `before` of its speed gives `after` now.
    pub(crate) fn change(&mut self, link: LinkId, before: f64, after: f64) {
        let Some((pod, step)) = self.place(link) else { return };
        self.steps[step] = self.steps[step] + kbps(self.tiers, link, after) - kbps(self.tiers, link, before);
        let now = share(self.of(pod), self.nominal[pod]);
        self.sum = self.sum + u128::from(now) - u128::from(self.least.get(pod));
        self.least.set(pod, now);
    }

    pub(crate) fn least(&self) -> u64 {
        self.least.least()
    }

    pub(crate) fn mean(&self) -> u64 {
        (self.sum / self.nominal.len().max(1) as u128) as u64
    }

    fn place(&self, link: LinkId) -> Option<(usize, usize)> {
        let lower = self.tiers.link(link).lower;
        let pod = self.tiers.pod(lower)? as usize;
        Some((pod, pod * self.tier_count + usize::from(self.tiers.tier(lower))))
    }

    fn of(&self, pod: usize) -> u64 {
        let own = pod * self.tier_count..(pod + 1) * self.tier_count;
        self.steps[own].iter().copied().min().unwrap_or(u64::MAX)
    }
}

fn kbps(tiers: &Tiers, link: LinkId, speed: f64) -> u64 {
    libm::round(tiers.link(link).rate.bits_per_s() as f64 / 1e3 * speed) as u64
}
