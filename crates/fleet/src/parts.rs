//! Parts of a fabric that are simulated one after the other, so that each one's state stays in the cache.

use wiremend_fabric::tiers::Tiers;

/// Domains in groups of consecutive numbers. A domain or a pod lies in one part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Parts {
    of_domain: Vec<u32>,
    /// Part of each switch of the lower end of a link.
    of_switch: Vec<u32>,
    count: u32,
}

impl Parts {
    /// Divides a fabric into parts with at least `links_min` links each, except for the last.
    pub(crate) fn new(tiers: &Tiers, domains: &[u32], links_min: u32) -> Self {
        let mut links = vec![0_u32; domains.iter().max().map_or(0, |last| last + 1) as usize];
        let (of_domain, of_switch) = (vec![0; links.len()], vec![0; tiers.switch_count() as usize]);
        let whole = Self { of_domain, of_switch, count: 1 };
        for link in tiers.links() {
            links[domains[tiers.link(link).lower.index()] as usize] += 1;
        }
        let (mut part, mut collected) = (0, 0);
        let of_domain: Vec<u32> = links
            .iter()
            .map(|links| {
                if collected >= links_min {
                    (part, collected) = (part + 1, 0);
                }
                collected += links;
                part
            })
            .collect();
        let of_switch: Vec<u32> = domains.iter().map(|domain| of_domain[*domain as usize]).collect();
        let mut of_pod = vec![None; tiers.pod_count() as usize];
        for lower in tiers.links().map(|link| tiers.link(link).lower) {
            let part = of_switch[lower.index()];
            if tiers.pod(lower).is_some_and(|pod| *of_pod[pod as usize].get_or_insert(part) != part) {
                return whole;
            }
        }
        Self { of_domain, of_switch, count: part + 1 }
    }

    pub(crate) fn count(&self) -> usize {
        self.count as usize
    }

    pub(crate) fn of_domain(&self, domain: u32) -> usize {
        self.of_domain[domain as usize] as usize
    }

    /// Returns the part of a switch below the top tier.
    pub(crate) fn of_switch(&self, switch: usize) -> usize {
        self.of_switch[switch] as usize
    }
}
