//! What dummies, copies and protected links would have changed, by the model at the loss ratio that a capture implies.

use std::collections::BTreeMap;

use serde::Serialize;
use wiremend_model::tune::{Target, TuneProblem, tune};
use wiremend_model::{
    ConnectionTimes, FlowSize, FrameSizes, MendCounts, ModelSetting, NextFlow, Operation, Path, expected,
    timeout::Cause,
};

use crate::summary::Summary;

/// One mechanism, and the stalls that it leaves.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Remedy {
    /// `dummy`, `tail_copy`, `nak_copy`, `retransmission_copy`, `protected_link` or `tuned`.
    pub mechanism: &'static str,
    /// Dummies after each message.
    pub dummies: u32,
    /// Copies of each NAK.
    pub nak_copies: u32,
    /// Copies of each retransmission.
    pub retransmission_copies: u32,
    /// Copies of each last packet.
    pub tail_copies: u32,
    /// Expected stalls with it as a fraction of those without, by cause. Above 1 where it moves losses to another cause.
    pub remaining: BTreeMap<&'static str, f64>,
    /// Stalls of the capture that would remain: the sum over the named causes.
    pub stalls: f64,
}

impl Remedy {
    /// Name in text.
    pub fn name(&self) -> String {
        match self.mechanism {
            "dummy" => "a dummy".to_owned(),
            "tail_copy" => "a copy of the last packet".to_owned(),
            "nak_copy" => "a NAK copy".to_owned(),
            "retransmission_copy" => "a copied retransmission".to_owned(),
            "tuned" => format!(
                "the cheapest set (dummies {}, NAK copies {}, retransmission copies {})",
                self.dummies, self.nak_copies, self.retransmission_copies
            ),
            _ => "a protected link".to_owned(),
        }
    }
}

/// The model assumes that most frames arrive.
const LOSS_MAX: f64 = 0.5;
/// What the tuned combination has to reach: stalls as a fraction of those without a mechanism.
const TUNED: f64 = 0.01;
/// Longest messages of the model, in packets.
const PACKETS_MAX: f64 = 4096.0;

/// The model at the loss ratio of a capture.
struct Setting {
    sizes: FrameSizes,
    beta: f64,
    path: Path,
    flows: [FlowSize; 1],
}

impl Setting {
    fn timeouts(&self, beta: f64, mend: MendCounts) -> [f64; 4] {
        let setting = ModelSetting::new(self.sizes, beta, mend);
        expected(&setting, &self.path, &self.flows).timeouts
    }

    /// The cheapest combination with at most [`TUNED`] of the timeouts.
    fn tuned(&self) -> Option<MendCounts> {
        let setting = ModelSetting::new(self.sizes, self.beta, MendCounts::NONE);
        let bare = expected(&setting, &self.path, &self.flows).probability;
        // The target is a probability of timeouts, on which times have no influence.
        let times = ConnectionTimes { rtt: 1e-5, rto: 0.067, rate: 1e11, hold: 0.0, gap: None, busy: 0.0 };
        let problem = TuneProblem {
            setting,
            path: self.path,
            flows: &self.flows,
            times,
            next: Some(NextFlow::NEVER),
            holds: &[0.0],
            target: Target::Timeout(bare * TUNED),
        };
        tune(&problem).chosen.map(|chosen| chosen.mend)
    }
}

/// The mechanisms, each alone, and the cheapest combination; empty without a loss that can be counted.
pub(crate) fn remedies(summary: &Summary, mtu: Option<u32>) -> Vec<Remedy> {
    let beta = summary.losses as f64 / (summary.packets.max(1)) as f64;
    if summary.stalls == 0 || beta <= 0.0 || beta > LOSS_MAX {
        return Vec::new();
    }
    let mtu = mtu.filter(|mtu| [256, 512, 1024, 2048, 4096].contains(mtu)).unwrap_or(1024);
    let packets = summary.message_packets.clamp(1.0, PACKETS_MAX).round() as u32;
    let setting = Setting {
        sizes: FrameSizes::on_wire(mtu, Operation::Write),
        beta,
        path: Path::between_switches(1, 1.0),
        flows: [FlowSize::fixed(packets * mtu, mtu)],
    };
    let bare = setting.timeouts(beta, MendCounts::NONE);
    let with = |mechanism, beta, mend: MendCounts| {
        let timeouts = setting.timeouts(beta, mend);
        remedy(mechanism, mend, summary, &bare, &timeouts)
    };
    let none = MendCounts::NONE;
    let mut all = vec![
        with("dummy", beta, MendCounts { dummies: 1, ..none }),
        with("tail_copy", beta, MendCounts { tail_copies: 1, ..none }),
        with("nak_copy", beta, MendCounts { nak_copies: 1, ..none }),
        with("retransmission_copy", beta, MendCounts { retransmission_copies: 1, ..none }),
        // A link that retransmits locally loses a frame if the retransmission is lost too.
        with("protected_link", beta * beta, none),
    ];
    all.extend(setting.tuned().map(|mend| with("tuned", beta, mend)));
    all
}

fn remedy(
    mechanism: &'static str,
    mend: MendCounts,
    summary: &Summary,
    bare: &[f64; 4],
    timeouts: &[f64; 4],
) -> Remedy {
    let shares = Cause::ALL.into_iter().filter(|cause| bare[*cause as usize] > 0.0);
    let remaining: BTreeMap<_, _> =
        shares.map(|cause| (cause.key(), timeouts[cause as usize] / bare[cause as usize])).collect();
    let left = |(cause, share): (&&'static str, &f64)| {
        *summary.by_cause.get(cause).unwrap_or(&0) as f64 * share.min(1.0)
    };
    Remedy {
        mechanism,
        dummies: mend.dummies,
        nak_copies: mend.nak_copies,
        retransmission_copies: mend.retransmission_copies,
        tail_copies: mend.tail_copies,
        stalls: remaining.iter().map(left).sum(),
        remaining,
    }
}

/// The mechanism that leaves fewest stalls of a cause: the first of those within a tenth, as a link is protected last.
pub(crate) fn best_for(remedies: &[Remedy], cause: &str) -> Option<&'static str> {
    let single = remedies.iter().filter(|remedy| remedy.mechanism != "tuned");
    let shares: Vec<_> =
        single.filter_map(|remedy| Some((remedy.mechanism, *remedy.remaining.get(cause)?))).collect();
    let least = shares.iter().map(|(_, share)| *share).min_by(f64::total_cmp)?;
    shares.into_iter().find(|(_, share)| *share <= least + 0.1).map(|(mechanism, _)| mechanism)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(losses: u64, by_cause: &[(&'static str, u64)]) -> Summary {
        let stalls = by_cause.iter().map(|(_, count)| count).sum();
        let by_cause = by_cause.iter().copied().collect();
        Summary { losses, packets: 100_000, stalls, by_cause, message_packets: 16.0, ..Summary::default() }
    }

    #[test]
    fn each_mechanism_helps_against_its_causes() {
        let causes = [("tail_packet", 10), ("tail_ack", 10), ("nak", 10), ("retransmission", 10)];
        let remedies = remedies(&summary(100, &causes), Some(1024));
        assert_eq!(best_for(&remedies, "tail_packet"), Some("dummy"));
        assert_eq!(best_for(&remedies, "tail_ack"), Some("dummy"));
        assert_eq!(best_for(&remedies, "nak"), Some("nak_copy"));
        // A second copy of a NAK brings a second retransmission.
        assert_eq!(best_for(&remedies, "retransmission"), Some("nak_copy"));
        let of = |mechanism: &str| remedies.iter().find(|remedy| remedy.mechanism == mechanism).unwrap();
        // A copy does not help against what it does not copy.
        assert!(of("nak_copy").remaining["tail_ack"] > 0.9, "{:?}", of("nak_copy"));
        assert!(of("protected_link").stalls < 0.1, "{:?}", of("protected_link"));
        let tuned = of("tuned");
        assert!(tuned.dummies > 0 && tuned.remaining["tail_packet"] < 0.05, "{tuned:?}");
    }

    #[test]
    fn without_losses_nothing_is_computed() {
        assert!(remedies(&summary(0, &[("other", 3)]), None).is_empty());
        assert!(remedies(&summary(60_000, &[("nak", 3)]), None).is_empty());
        assert!(remedies(&summary(5, &[]), None).is_empty());
    }
}
