//! What must hold whatever the numbers are.

use proptest::prelude::*;
use wiremend_model::tune::{Question, Target, tune};
use wiremend_model::{
    Corruption, FlowSize, Mend, Next, Nic, Operation, Path, Rewind, Setting, Sizes, Times, cost, expected,
};

fn settings() -> impl Strategy<Value = (Setting, Path, FlowSize)> {
    let mend = (0..5_u32, 0..4_u32, 0..4_u32, 0..3_u32).prop_map(
        |(dummies, nak_copies, retransmission_copies, tail_repeat)| Mend {
            dummies,
            nak_copies,
            retransmission_copies,
            tail_repeat,
        },
    );
    let beta = (-9.0..-0.4_f64).prop_map(|exponent| 10_f64.powf(exponent));
    let path = (1..8_u32, 0..2_u32, 0.0..=1.0_f64).prop_map(|(links, access_links, omega)| Path {
        links,
        access_links,
        omega,
    });
    let next = prop_oneof![Just(Next::NEVER), Just(Next::CLOSED_LOOP), Just(Next::after(1.0, 2.0))];
    let bytes = prop_oneof![0..5_000_u32, 0..50_000_000_u32];
    (beta, any::<bool>(), mend, path, next, bytes).prop_map(|(beta, bits, mend, path, next, bytes)| {
        let sizes = Sizes::real(1024, Operation::Write);
        let corruption =
            if bits { Corruption::of_full_frame(beta, sizes.full()) } else { Corruption::Frames(beta) };
        let nic = Nic { flight_packets: 100.0, ..Nic::default() };
        (Setting { sizes, corruption, mend, next, nic }, path, FlowSize::only(bytes, 1024))
    })
}

proptest! {
    /// Probabilities are probabilities, no more than the mean number of events, and at least each of their causes.
    #[test]
    fn chances_fit_together((setting, path, flow) in settings()) {
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

    /// Each copy helps, or at least does no harm. (A dummy can: one that is lost holds up the next flow.)
    #[test]
    fn copies_do_no_harm((setting, path, flow) in settings()) {
        let total = |mend| expected(&Setting { mend, ..setting }, &path, &[flow]).total();
        let mend = setting.mend;
        let before = total(mend);
        for more in [
            Mend { nak_copies: mend.nak_copies + 1, ..mend },
            Mend { retransmission_copies: mend.retransmission_copies + 1, ..mend },
            Mend { tail_repeat: mend.tail_repeat + 1, ..mend },
        ] {
            prop_assert!(total(more) <= before * (1.0 + 1e-9), "{more:?}");
        }
    }

    /// What is chosen reaches the target, and every step to it is at least as good as the one before.
    #[test]
    fn tuning_keeps_its_word((setting, path, flow) in settings(), exponent in -12.0..-1.0_f64) {
        let times = Times { rtt: 1e-5, rto: 0.067, rate: 1e11, hold: 0.0, gap: None, busy: 0.0 };
        let flows = [flow];
        let nic = Nic { rewind: Rewind::Unknown, ..setting.nic };
        let allowed = 10_f64.powf(exponent);
        let question = Question {
            setting: Setting { nic, ..setting },
            path,
            flows: &flows,
            times,
            next: Some(Next::NEVER),
            holds: &[0.0],
            target: Target::Timeout(allowed),
        };
        let tuned = tune(&question);
        if let Some(chosen) = tuned.chosen {
            prop_assert!(chosen.timeout <= allowed);
            // Nothing with one packet less would do for fewer bytes.
            let Mend { dummies, nak_copies, retransmission_copies, .. } = chosen.mend;
            let fewer = [
                (dummies > 0).then(|| Mend::new(dummies - 1, nak_copies, retransmission_copies)),
                (nak_copies > 0).then(|| Mend::new(dummies, nak_copies - 1, retransmission_copies)),
                (retransmission_copies > 0).then(|| Mend::new(dummies, nak_copies, retransmission_copies - 1)),
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
