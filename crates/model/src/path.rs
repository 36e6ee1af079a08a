//! Corrupting links of a path: each link with probability ω, the two directions independently.
//!
//! All packets of a flow cross the same links. So every quantity is computed for each number of corrupting
//! links and then averaged. JCST Theorem 3 averages the loss first and loses the correlation between a packet
//! and its retransmissions, which is right only for Lω ≪ 1.

/// A path between two hosts, with the same number of links in both directions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Path {
    /// Links that may corrupt after the switch that makes copies, which is the sender's `ToR`.
    pub links: u32,
    /// Links that may corrupt before that switch: the sender's link to its `ToR`. No copy helps there.
    pub access_links: u32,
    /// Probability ω that a link corrupts.
    pub omega: f64,
}

/// Number of corrupting links of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CorruptingLinks {
    /// Before the switch that makes copies.
    pub before: u32,
    /// After that switch.
    pub behind: u32,
}

/// The corrupting links between requester and responder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CorruptingPath {
    /// From requester to responder: data and dummies.
    pub forward: CorruptingLinks,
    /// From responder to requester: ACKs and NAKs.
    pub backward: CorruptingLinks,
}

impl Path {
    /// Most links of a path.
    pub const LINKS_MAX: u32 = 32;

    /// A path on which only links between switches may corrupt, as in JCST §6.
    pub fn between_switches(links: u32, omega: f64) -> Self {
        Self { links, access_links: 0, omega }
    }

    /// All combinations of corrupting links with their probabilities, which sum to 1. Combinations less
    /// likely than 10⁻²⁰ are left out.
    pub fn cases(&self) -> Vec<(CorruptingPath, f64)> {
        let one_way = self.combinations();
        let pair = |&(forward, p): &(CorruptingLinks, f64)| {
            one_way
                .iter()
                .map(move |&(backward, q)| (CorruptingPath { forward, backward }, p * q))
                .collect::<Vec<_>>()
        };
        one_way.iter().flat_map(pair).collect()
    }

    /// The combinations of one direction.
    fn combinations(&self) -> Vec<(CorruptingLinks, f64)> {
        let mut combinations = Vec::new();
        for (before, p) in binomial(self.access_links, self.omega).into_iter().enumerate() {
            for (behind, q) in binomial(self.links, self.omega).into_iter().enumerate() {
                if p * q > 1e-20 {
                    combinations
                        .push((CorruptingLinks { before: before as u32, behind: behind as u32 }, p * q));
                }
            }
        }
        combinations
    }

    /// Mean of `what` over all combinations.
    pub fn mean(&self, what: impl Fn(CorruptingPath) -> f64) -> f64 {
        self.cases().into_iter().map(|(links, p)| p * what(links)).sum()
    }

    /// Exact probability that a packet is lost: the mean over K ~ Bin(L, ω) of 1 − (1 − β)^K, which is 1 − (1
    /// − βω)^L.
    pub fn packet_loss(&self, beta: f64) -> f64 {
        crate::bits::any(beta * self.omega, f64::from(self.links + self.access_links))
    }
}

/// Probabilities of 0 … n successes.
pub fn binomial(n: u32, p: f64) -> Vec<f64> {
    let mut terms = vec![0.0; n as usize + 1];
    terms[0] = 1.0;
    for tried in 1..=n as usize {
        for k in (1..=tried).rev() {
            terms[k] = terms[k] * (1.0 - p) + terms[k - 1] * p;
        }
        terms[0] *= 1.0 - p;
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Corruption;

    #[test]
    fn certain_corruption_is_one_case() {
        let cases = Path::between_switches(4, 1.0).cases();
        let links = CorruptingLinks { before: 0, behind: 4 };
        assert_eq!(cases, [(CorruptingPath { forward: links, backward: links }, 1.0)]);
    }

    #[test]
    fn the_mean_over_links_is_the_closed_form() {
        let path = Path { links: 5, access_links: 1, omega: 0.3 };
        let total: f64 = path.cases().iter().map(|case| case.1).sum();
        assert!((total - 1.0).abs() < 1e-14);
        let lost = |links: CorruptingPath| {
            let forward = links.forward;
            Corruption::Frames(0.2).loss(1086.0, forward.before + forward.behind)
        };
        assert!((path.mean(lost) - path.packet_loss(0.2)).abs() < 1e-14);
    }
}
