//! Properties that hold for all parameters.

use proptest::prelude::*;
use wiremend_model::tune::{Target, TuneProblem, tune};
use wiremend_model::{
    ConnectionTimes, Corruption, FlowSize, FrameSizes, MendCounts, ModelSetting, NakReaction, NextFlow, Nic,
    Operation, Path, cost, expected,
};

fn settings() -> impl Strategy<Value = (ModelSetting, Path, FlowSize)> {
    let mend = (0..5_u32, 0..4_u32, 0..4_u32, 0..3_u32).prop_map(
        |(dummies, nak_copies, retransmission_copies, tail_copies)| MendCounts {
            dummies,
            nak_copies,
            retransmission_copies,
            tail_copies,
        },
    );
    let beta = (-9.0..-0.4_f64).prop_map(|exponent| 10_f64.powf(exponent));
    let path = (1..8_u32, 0..2_u32, 0.0..=1.0_f64).prop_map(|(links, access_links, omega)| Path {
        links,
        access_links,
        omega,
    });
    let next =
        prop_oneof![Just(NextFlow::NEVER), Just(NextFlow::CLOSED_LOOP), Just(NextFlow::after(1.0, 2.0))];
    let bytes = prop_oneof![0..5_000_u32, 0..50_000_000_u32];
    (beta, any::<bool>(), mend, path, next, bytes).prop_map(|(beta, bits, mend, path, next, bytes)| {
        let sizes = FrameSizes::on_wire(1024, Operation::Write);
        let corruption = if bits {
            Corruption::from_full_frame_loss(beta, sizes.full())
        } else {
            Corruption::Frames(beta)
        };
        let nic = Nic { flight_packets: 100.0, ..Nic::default() };
        (ModelSetting { sizes, corruption, mend, next, nic }, path, FlowSize::fixed(bytes, 1024))
    })
}

proptest! {
    /// Probabilities are at most 1, at most the mean number of events, and at least those of their causes.
    #[test]
    fn probabilities_are_consistent((setting, path, flow) in settings()) {
        let met = expected(&setting, &path, &[flow]);
        prop_assert!((0.0..=1.0).contains(&met.probability), "{met:?}");
        prop_assert!(met.probability <= met.total() * (1.0 + 1e-9) + 1e-300);
        for (chance, mean) in met.probabilities.iter().zip(met.timeouts) {
            prop_assert!(mean.is_finite() && (0.0..=1.0).contains(chance), "{met:?}");
            prop_assert!(*chance <= met.probability * (1.0 + 1e-9) + 1e-300, "{met:?}");
        }
        let cost = cost(&setting, &path, &[flow], 1.0);
        prop_assert!(cost.share() >= 0.0 && cost.share().is_finite());
    }

    /// A copy never increases timeouts. (A dummy can: a lost one delays the next flow.)
    #[test]
    fn copies_do_no_harm((setting, path, flow) in settings()) {
        let total = |mend| expected(&ModelSetting { mend, ..setting }, &path, &[flow]).total();
        let mend = setting.mend;
        let before = total(mend);
        for more in [
            MendCounts { nak_copies: mend.nak_copies + 1, ..mend },
            MendCounts { retransmission_copies: mend.retransmission_copies + 1, ..mend },
            MendCounts { tail_copies: mend.tail_copies + 1, ..mend },
        ] {
            prop_assert!(total(more) <= before * (1.0 + 1e-9), "{more:?}");
        }
    }

    /// The result reaches the target, and no cheaper neighbour does.
    #[test]
    fn tuning_reaches_the_target((setting, path, flow) in settings(), exponent in -12.0..-1.0_f64) {
        let times = ConnectionTimes { rtt: 1e-5, rto: 0.067, rate: 1e11, hold: 0.0, gap: None, busy: 0.0 };
        let flows = [flow];
        let nic = Nic { nak_reaction: NakReaction::Unknown, ..setting.nic };
        let allowed = 10_f64.powf(exponent);
        let question = TuneProblem {
            setting: ModelSetting { nic, ..setting },
            path,
            flows: &flows,
            times,
            next: Some(NextFlow::NEVER),
            holds: &[0.0],
            target: Target::Timeout(allowed),
        };
        let tuned = tune(&question);
        if let Some(chosen) = tuned.chosen {
            prop_assert!(chosen.timeout <= allowed);
            // No combination with one packet less reaches it with fewer bytes.
            let MendCounts { dummies, nak_copies, retransmission_copies, .. } = chosen.mend;
            let fewer = [
                (dummies > 0).then(|| MendCounts::new(dummies - 1, nak_copies, retransmission_copies)),
                (nak_copies > 0).then(|| MendCounts::new(dummies, nak_copies - 1, retransmission_copies)),
                (retransmission_copies > 0).then(|| MendCounts::new(dummies, nak_copies, retransmission_copies - 1)),
            ];
            for mend in fewer.into_iter().flatten() {
                let choice = question.choice(mend, 0.0);
                prop_assert!(choice.missed > allowed || choice.cost >= chosen.cost, "{mend:?}");
            }
        }
        prop_assert_eq!(tuned.steps.last().map(|step| step.mend), Some(tuned.best.mend));
        let costs: Vec<f64> = tuned.frontier.iter().map(|choice| choice.cost).collect();
        prop_assert!(costs.is_sorted());
    }
}
