//! How often causes are right, by tap, operation and certainty.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use wiremend_capture::Certainty;
use wiremend_measure::TimeoutCause;

use super::judge::{Judged, Outcome, Setting};
use super::run::Run;

/// Events by outcome.
type Outcomes = [u64; Outcome::COUNT];

#[derive(Default)]
pub(crate) struct Matrix {
    /// By scheme, setting and certainty.
    counts: BTreeMap<(&'static str, &'static str, Certainty), Outcomes>,
    /// Timeouts, and those that no event shows.
    timeouts: BTreeMap<(&'static str, &'static str), [u64; 2]>,
    /// By the cause of the simulator and that of the explanation.
    causes: BTreeMap<(TimeoutCause, TimeoutCause), u64>,
    /// A line for each.
    pub(crate) wrong_proofs: Vec<String>,
    /// A line for each error, if errors are listed.
    pub(crate) errors: Vec<String>,
}

impl Matrix {
    pub(crate) fn add(&mut self, setting: &Setting, run: &Run, judged: &Judged, seed: u64) {
        let scheme = run.scheme();
        let timeouts = self.timeouts.entry((scheme, setting.name)).or_default();
        timeouts[0] += judged.truths as u64;
        timeouts[1] += judged.unseen as u64;
        for one in &judged.events {
            let verdict = one.event.verdict.as_ref().expect("timeouts have verdicts");
            let key = (scheme, setting.name, verdict.certainty);
            self.counts.entry(key).or_default()[one.outcome as usize] += 1;
            if let Some(truth) = one.truth {
                *self.causes.entry((truth, verdict.cause)).or_default() += 1;
            }
            let is_wrong_proof = verdict.certainty == Certainty::Proof
                && matches!(one.outcome, Outcome::Wrong | Outcome::NoTimeout);
            let is_error = !matches!(one.outcome, Outcome::Right | Outcome::Contained);
            let line = || {
                format!(
                    "seed {seed}, {scheme}, {}: {:?}, {:?}, truth {:?}, {:?}",
                    setting.name, verdict.certainty, one.outcome, one.truth, one.event
                )
            };
            if is_wrong_proof {
                self.wrong_proofs.push(line());
            }
            if is_error && super::lists_errors() {
                self.errors.push(line());
            }
        }
    }

    /// Events with the right cause, alone or among others, and all events.
    pub(crate) fn fitting(&self) -> (u64, u64) {
        let fitting =
            |counts: &Outcomes| counts[Outcome::Right as usize] + counts[Outcome::Contained as usize];
        (self.counts.values().map(fitting).sum(), self.counts.values().flatten().sum())
    }

    /// The page of the reference.
    pub(crate) fn page(&self, runs: u64) -> String {
        let timeouts: u64 = self.timeouts.values().map(|[all, _]| all).sum();
        let (fitting, all) = self.fitting();
        let of = |certainty: Certainty| {
            let counts = self.counts.iter().filter(|((.., seen), _)| *seen == certainty);
            let counts: Vec<&Outcomes> = counts.map(|(_, counts)| counts).collect();
            let right: u64 = counts.iter().map(|counts| counts[Outcome::Right as usize]).sum();
            (right, counts.into_iter().flatten().sum::<u64>())
        };
        let percent = |part: u64, whole: u64| part as f64 / whole.max(1) as f64 * 100.0;
        let (strong_right, strong) = of(Certainty::Strong);
        let (ambiguous_right, ambiguous) = of(Certainty::Ambiguous);
        let (_, proofs) = of(Certainty::Proof);
        let mut text = format!(
            "# Causes of timeouts, compared with the simulator\n\n\
             `wiremend capture explain` names the cause of each timeout that a capture shows. The simulator records the \
             cause\nfrom the state of both ends. `cargo xtask bench causes` compares them in {runs} random runs: WRITE, \
             SEND and READ,\ngo-back-N, selective repeat and the measured profile of soft-RoCE, up to 10 flows that \
             start together, losses of 1\nto 15 %, alone and in bursts, several timers and windows. Each run is captured \
             at three taps, {} captures in all,\nwhich are explained alone and two together. Terms are in the \
             [glossary](../glossary.md).\n\n\
             At all taps together, {timeouts} timeouts were looked for.\n\
             Of {all} events found, {fitting} ({:.2} %) have the right cause, alone or among\n\
             the alternatives that they name. Of {proofs} proofs, {} are wrong.\n\
             Of {strong} strong verdicts, {:.2} % are right.\n\
             {:.1} % of the events are ambiguous; the cause that they name first is right in {:.1} % of them.\n\n\
             The simulator looks at what both ends have. A timer that fired though nothing was lost counts as *tail ACK* \
             there,\nand a NAK that arrived and was ignored as *retransmission*. `explain` calls both *other*, and says \
             which; that is right.\n\n",
            3 * runs,
            percent(fitting, all),
            self.wrong_proofs.len(),
            percent(strong_right, strong),
            percent(ambiguous, all),
            percent(ambiguous_right, ambiguous),
        );
        text.push_str(
            "| connections | tap | certainty | right | among the alternatives | another cause | no timeout | twice |\n\
             |---|---|---|---|---|---|---|---|\n",
        );
        for ((scheme, tap, certainty), [right, contained, wrong, none, twice]) in &self.counts {
            let certainty = format!("{certainty:?}").to_lowercase();
            let _ = writeln!(
                text,
                "| {scheme} | {tap} | {certainty} | {right} | {contained} | {wrong} | {none} | {twice} |"
            );
        }
        text.push_str(
            "\n*No timeout*: the resend had another reason. *Twice*: another event is for the same timeout.\n\n\
             A tap shows no timeout where all frames of a message and of its resends were lost before it, or where the \
             resend\nlooks like the first transmission:\n\n\
             | connections | tap | timeouts | not shown |\n|---|---|---|---|\n",
        );
        for ((scheme, tap), [all, unseen]) in &self.timeouts {
            let _ = writeln!(text, "| {scheme} | {tap} | {all} | {unseen} |");
        }
        text.push_str("\nThe cause that is named first, whatever its certainty, by that of the simulator:\n\n| simulator |");
        for cause in TimeoutCause::ALL {
            let _ = write!(text, " {cause} |");
        }
        text.push_str("\n|---|---|---|---|---|---|\n");
        for truth in
            TimeoutCause::ALL.iter().filter(|truth| self.causes.keys().any(|(seen, _)| seen == *truth))
        {
            let _ = write!(text, "| {truth} |");
            for cause in TimeoutCause::ALL {
                let _ = write!(text, " {} |", self.causes.get(&(*truth, cause)).unwrap_or(&0));
            }
            text.push('\n');
        }
        text
    }
}
