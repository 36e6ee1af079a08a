//! Decides what a node does about the links that it sends over, from the observations of their other ends.
//!
//! Each decision uses all known state and never the last event, so a restart or a lost message does not
//! change the outcome.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wiremend_units::{CopyCount, LossRate, Span};

use crate::detector::LossEstimate;
use crate::name::{Name, PortName};
use crate::redis::{ActionRecord, Advice, LinkAction, Observation, Versioned};

/// Configuration of a link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// Port of this node.
    pub port: Name,
    /// Port at the other end.
    pub peer: PortName,
    /// What can protect the link at this end.
    #[serde(default)]
    pub protect: Protector,
}

/// What can protect a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protector {
    /// Nothing, for example on a port of a switch chip.
    #[default]
    None,
    /// A relay on the port.
    Relay,
}

/// Mode and limits of a daemon's actions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ActionConfig {
    /// Whether the daemon acts.
    pub mode: DaemonMode,
    /// Loss ratio that may remain on a protected link.
    pub target_loss: f64,
    /// Maximum number of links protected at the same time: the worst link of each peer, highest loss
    /// first, then the second worst of each.
    pub protected_max: usize,
    /// Shortest time that a link stays protected whose loss returned; it doubles with each return.
    #[serde(with = "span_text")]
    pub hold_down: Span,
    /// Time for which the daemon leaves a relay alone that somebody changed by hand.
    #[serde(with = "span_text")]
    pub manual_hold: Span,
}

impl Default for ActionConfig {
    fn default() -> Self {
        Self {
            mode: DaemonMode::Observe,
            target_loss: 1e-8,
            protected_max: 4,
            hold_down: Span::from_ms(10_000),
            manual_hold: Span::from_ms(3_600_000),
        }
    }
}

/// A time span as text, such as `10s`.
pub(crate) mod span_text {
    use serde::{Deserialize as _, Deserializer, Serializer};
    use wiremend_units::Span;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
    pub(crate) fn serialize<S: Serializer>(span: &Span, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(span)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Whether a daemon acts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DaemonMode {
    /// It only logs the actions that it would take.
    #[default]
    Observe,
    /// It protects corrupting links.
    Act,
    /// It protects corrupting links that the planner advises to protect.
    Advised,
}

impl DaemonMode {
    /// Returns a description for messages.
    pub fn description(self) -> &'static str {
        match self {
            Self::Observe => "only observes",
            Self::Act => "acts",
            Self::Advised => "acts on the planner's advice",
        }
    }
}

/// Inputs of the decision on one link.
#[derive(Clone, Copy, Debug)]
pub struct LinkInput<'a> {
    /// Configuration of the link.
    pub link: &'a LinkConfig,
    /// Observation published by the other end.
    pub peer_observation: Option<&'a Versioned<Observation>>,
    /// Advice of the planner.
    pub advice: Option<&'a Advice>,
}

impl LinkInput<'_> {
    fn estimate(&self) -> Option<LossEstimate> {
        self.peer_observation?.record.corrupting
    }

    /// Returns the loss that the other end observes.
    pub(crate) fn loss(&self) -> f64 {
        self.estimate().map_or(0.0, |seen| seen.loss)
    }

    fn is_advised(&self, act: &ActionConfig) -> bool {
        let is_binding = |advice: &Advice| advice.binding && advice.protect;
        act.mode != DaemonMode::Advised || self.advice.is_some_and(is_binding)
    }
}

/// Returns the action for each link; `None` (no change) without an observation of its other end.
pub fn decide(links: &[LinkInput<'_>], act: &ActionConfig) -> Vec<Option<ActionRecord>> {
    let can_protect = |input: &LinkInput<'_>| {
        input.estimate().is_some() && input.link.protect == Protector::Relay && input.is_advised(act)
    };
    let loss = |at: usize| links[at].loss();
    let mut worst: Vec<usize> = (0..links.len()).filter(|&at| can_protect(&links[at])).collect();
    // A stable sort: links with equal loss keep their order, so decisions do not oscillate.
    worst.sort_by(|&a, &b| loss(b).total_cmp(&loss(a)));
    // A peer that reports loss on all its links must not take the protection from the others.
    let mut of_peer: BTreeMap<&Name, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, usize)> = worst
        .into_iter()
        .map(|at| {
            let rank = of_peer.entry(&links[at].link.peer.node).or_default();
            *rank += 1;
            (*rank, at)
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let worst: Vec<usize> = ranked.into_iter().take(act.protected_max).map(|(_, at)| at).collect();
    let action = |at: usize| match links[at].estimate() {
        None => LinkAction::Nothing,
        Some(_) if links[at].link.protect == Protector::None => decline("no relay protects this port"),
        Some(_) if act.mode == DaemonMode::Observe => decline("this node only observes"),
        Some(_) if !links[at].is_advised(act) => decline("the planner has not advised protection"),
        Some(_) if !worst.contains(&at) => {
            decline(&format!("{} other links are protected", act.protected_max))
        }
        Some(seen) => LinkAction::Protect { copies: copies(&seen, act.target_loss) },
    };
    let action_record = |(at, input): (usize, &LinkInput<'_>)| {
        input
            .peer_observation
            .map(|seen| ActionRecord { observation_version: seen.version, action: action(at) })
    };
    links.iter().enumerate().map(action_record).collect()
}

/// LG Eq. 2; the maximum number of copies if no number reaches the target.
fn copies(seen: &LossEstimate, target: f64) -> u8 {
    let target = LossRate::from_parts_per_trillion((target * 1e12).round() as u64);
    LossRate::from_counts(seen.errors, seen.frames)
        .copies_for(target, CopyCount::MAX)
        .unwrap_or(CopyCount::MAX)
}

fn decline(reason: &str) -> LinkAction {
    LinkAction::Decline { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame_window::FrameSample;
    use crate::redis::AdvisedAction;

    #[test]
    fn copies_depend_on_the_loss() {
        for (loss, copies) in [(1e-5, 1), (1e-4, 1), (1e-3, 2), (1e-2, 3), (0.1, 4)] {
            let decided =
                decided_all(&[link("eth0", Protector::Relay)], &[Some(losing(loss))], &[None], &acting(4));
            assert_eq!(
                decided,
                [Some(ActionRecord { observation_version: 7, action: LinkAction::Protect { copies } })],
                "{loss}"
            );
        }
    }

    #[test]
    fn clean_links_are_unprotected_and_unknown_links_unchanged() {
        let clean = Versioned { version: 3, record: Observation::default() };
        let links = [link("eth0", Protector::Relay), link("eth1", Protector::Relay)];
        let decided = decided_all(&links, &[Some(clean), None], &[None, None], &acting(4));
        assert_eq!(
            decided,
            [Some(ActionRecord { observation_version: 3, action: LinkAction::Nothing }), None]
        );
    }

    #[test]
    fn links_with_the_highest_loss_come_first() {
        let mut links = ["eth0", "eth1", "eth2"].map(|port| link(port, Protector::Relay));
        links[0].peer.node = "spine-4".parse().unwrap();
        links[1].peer.node = "spine-5".parse().unwrap();
        let seen = [1e-4, 1e-2, 1e-3].map(|loss| Some(losing(loss)));
        let protects = |action_record: &Option<ActionRecord>| {
            matches!(&action_record.as_ref().unwrap().action, LinkAction::Protect { .. })
        };
        let decided = decided_all(&links, &seen, &[None, None, None], &acting(2));
        assert_eq!(decided.iter().map(protects).collect::<Vec<_>>(), [false, true, true]);
    }

    /// Four lies of one peer, and the true loss of another.
    #[test]
    fn a_peer_that_reports_all_its_links_displaces_no_other_peer() {
        let mut links: Vec<LinkConfig> =
            ["eth0", "eth1", "eth2", "eth3", "eth4"].map(|port| link(port, Protector::Relay)).into();
        links[4].peer.node = "spine-4".parse().unwrap();
        let seen = [0.1, 0.1, 0.1, 0.1, 1e-4].map(|loss| Some(losing(loss)));
        let decided = decided_all(&links, &seen, &[None, None, None, None, None], &acting(2));
        let is_protected =
            |at: usize| matches!(decided[at].as_ref().unwrap().action, LinkAction::Protect { .. });
        assert_eq!((0..5).map(is_protected).collect::<Vec<_>>(), [true, false, false, false, true]);
    }

    #[test]
    fn declined_actions_have_a_reason() {
        let seen = [Some(losing(1e-3))];
        let observing =
            decided_all(&[link("eth0", Protector::Relay)], &seen, &[None], &ActionConfig::default());
        let bare = decided_all(&[link("eth0", Protector::None)], &seen, &[None], &acting(4));
        for decided in [observing, bare] {
            assert!(
                matches!(&decided[0], Some(ActionRecord { action: LinkAction::Decline { .. }, .. })),
                "{decided:?}"
            );
        }
    }

    #[test]
    fn advised_mode_waits_for_binding_advice() {
        let act = ActionConfig { mode: DaemonMode::Advised, ..ActionConfig::default() };
        let advice = |action, protect, binding| Advice { action, protect, binding, reason: String::new() };
        for (advice, protects) in [
            (None, false),
            (Some(advice(AdvisedAction::Protect, true, true)), true),
            (Some(advice(AdvisedAction::Drain, true, true)), true),
            (Some(advice(AdvisedAction::Protect, true, false)), false),
            (Some(advice(AdvisedAction::Wait, false, true)), false),
        ] {
            let shown = format!("{advice:?}");
            let decided =
                decided_all(&[link("eth0", Protector::Relay)], &[Some(losing(1e-3))], &[advice], &act);
            let action = &decided[0].as_ref().unwrap().action;
            assert_eq!(matches!(action, LinkAction::Protect { .. }), protects, "{shown}");
        }
    }

    fn decided_all(
        links: &[LinkConfig],
        seen: &[Option<Versioned<Observation>>],
        advice: &[Option<Advice>],
        act: &ActionConfig,
    ) -> Vec<Option<ActionRecord>> {
        let input = links.iter().zip(seen).zip(advice).map(|((link, seen), advice)| LinkInput {
            link,
            peer_observation: seen.as_ref(),
            advice: advice.as_ref(),
        });
        decide(&input.collect::<Vec<_>>(), act)
    }

    fn acting(protected_max: usize) -> ActionConfig {
        ActionConfig { mode: DaemonMode::Act, protected_max, ..ActionConfig::default() }
    }

    fn link(port: &str, protect: Protector) -> LinkConfig {
        let peer = PortName { node: "spine-3".parse().unwrap(), port: port.parse().unwrap() };
        LinkConfig { port: port.parse().unwrap(), peer, protect }
    }

    fn losing(loss: f64) -> Versioned<Observation> {
        let seen = LossEstimate::from_sample(FrameSample { frames: 1_000_000, errors: (loss * 1e6) as u64 });
        Versioned { version: 7, record: Observation { corrupting: Some(seen), ..Observation::default() } }
    }
}
