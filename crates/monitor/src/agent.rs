//! What a node does about the links that it sends over, given what their other ends see.
//!
//! It is decided anew from all that is known, each time, and never from what happened last: whoever was away, began anew or
//! missed a message comes to the same.

use serde::{Deserialize, Serialize};
use wiremend_units::{CopyCount, LossRate};

use crate::bus::{Advice, Deed, Doing, Sighting, Stored};
use crate::detector::Estimate;
use crate::name::{Name, PortName};

/// A link of a node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The port here.
    pub port: Name,
    /// The other end.
    pub peer: PortName,
    /// What can protect it here.
    #[serde(default)]
    pub protect: Protect,
}

/// What can protect a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protect {
    /// Nothing, as on the port of a switch chip.
    #[default]
    None,
    /// A relay on the port.
    Relay,
}

/// How far a node goes by itself.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Conduct {
    /// Whether it acts at all.
    pub mode: Mode,
    /// The loss that may remain on a protected link.
    pub target_loss: f64,
    /// Links that it protects at once; the worst come first.
    pub protected_max: usize,
}

impl Default for Conduct {
    fn default() -> Self {
        Self { mode: Mode::Observe, target_loss: 1e-8, protected_max: 4 }
    }
}

/// Whether a node acts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It sees, and says what it would do.
    #[default]
    Observe,
    /// It protects.
    Act,
    /// It protects what the planner of the fabric says it should.
    Advised,
}

impl Mode {
    /// What a daemon does about links that corrupt.
    pub fn description(self) -> &'static str {
        match self {
            Self::Observe => "only observes",
            Self::Act => "acts",
            Self::Advised => "acts as the planner says",
        }
    }
}

/// What is known of a link.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The link.
    pub link: &'a Link,
    /// What stands about its other end.
    pub seen: Option<&'a Stored<Sighting>>,
    /// What the planner advises.
    pub advice: Option<&'a Advice>,
}

impl Known<'_> {
    fn estimate(&self) -> Option<Estimate> {
        self.seen?.word.corrupting
    }

    fn is_advised(&self, conduct: &Conduct) -> bool {
        let says_so = |advice: &Advice| advice.binding && advice.protect;
        conduct.mode != Mode::Advised || self.advice.is_some_and(says_so)
    }
}

/// What to do about each link, in their order. A link about whose other end nothing stands is not touched, as far as this goes: `None`.
pub fn decide(links: &[Known<'_>], conduct: &Conduct) -> Vec<Option<Deed>> {
    let can_protect = |known: &Known<'_>| {
        known.estimate().is_some() && known.link.protect == Protect::Relay && known.is_advised(conduct)
    };
    let loss = |at: usize| links[at].estimate().map_or(0.0, |seen| seen.loss);
    let mut worst: Vec<usize> = (0..links.len()).filter(|&at| can_protect(&links[at])).collect();
    // Equal ones in the order of the links, so that a node does not change its mind.
    worst.sort_by(|&a, &b| loss(b).total_cmp(&loss(a)));
    worst.truncate(conduct.protected_max);
    let doing = |at: usize| match links[at].estimate() {
        None => Doing::Nothing,
        Some(_) if links[at].link.protect == Protect::None => abstains("nothing here can protect this link"),
        Some(_) if conduct.mode == Mode::Observe => abstains("this node only observes"),
        Some(_) if !links[at].is_advised(conduct) => abstains("the planner has not said so"),
        Some(_) if !worst.contains(&at) => {
            abstains(&format!("{} links that are worse are protected", conduct.protected_max))
        }
        Some(seen) => Doing::Protects { copies: copies(&seen, conduct.target_loss) },
    };
    let deed = |(at, known): (usize, &Known<'_>)| {
        known.seen.map(|seen| Deed { answers: seen.version, doing: doing(at) })
    };
    links.iter().enumerate().map(deed).collect()
}

/// LG Eq. 2; as many as there can be where even those do not reach the target.
fn copies(seen: &Estimate, target: f64) -> u8 {
    let target = LossRate::parts_per_trillion((target * 1e12).round() as u64);
    LossRate::of(seen.errors, seen.frames).copies_for(target, CopyCount::MAX).unwrap_or(CopyCount::MAX)
}

fn abstains(why: &str) -> Doing {
    Doing::Abstains { why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::Action;
    use crate::window::Sample;

    #[test]
    fn copies_follow_the_loss() {
        for (loss, copies) in [(1e-5, 1), (1e-4, 1), (1e-3, 2), (1e-2, 3), (0.1, 4)] {
            let decided =
                decided_all(&[link("eth0", Protect::Relay)], &[Some(losing(loss))], &[None], &acting(4));
            assert_eq!(decided, [Some(Deed { answers: 7, doing: Doing::Protects { copies } })], "{loss}");
        }
    }

    #[test]
    fn a_clean_link_is_let_be_and_an_unknown_one_left_alone() {
        let clean = Stored { version: 3, word: Sighting::default() };
        let links = [link("eth0", Protect::Relay), link("eth1", Protect::Relay)];
        let decided = decided_all(&links, &[Some(clean), None], &[None, None], &acting(4));
        assert_eq!(decided, [Some(Deed { answers: 3, doing: Doing::Nothing }), None]);
    }

    #[test]
    fn the_worst_links_come_first() {
        let links = ["eth0", "eth1", "eth2"].map(|port| link(port, Protect::Relay));
        let seen = [1e-4, 1e-2, 1e-3].map(|loss| Some(losing(loss)));
        let protects = |deed: &Option<Deed>| matches!(&deed.as_ref().unwrap().doing, Doing::Protects { .. });
        let decided = decided_all(&links, &seen, &[None, None, None], &acting(2));
        assert_eq!(decided.iter().map(protects).collect::<Vec<_>>(), [false, true, true]);
    }

    #[test]
    fn who_may_not_or_cannot_says_so() {
        let seen = [Some(losing(1e-3))];
        let observing = decided_all(&[link("eth0", Protect::Relay)], &seen, &[None], &Conduct::default());
        let bare = decided_all(&[link("eth0", Protect::None)], &seen, &[None], &acting(4));
        for decided in [observing, bare] {
            assert!(matches!(&decided[0], Some(Deed { doing: Doing::Abstains { .. }, .. })), "{decided:?}");
        }
    }

    #[test]
    fn who_goes_by_advice_waits_for_it() {
        let conduct = Conduct { mode: Mode::Advised, ..Conduct::default() };
        let advice = |action, protect, binding| Advice { action, protect, binding, why: String::new() };
        for (advice, protects) in [
            (None, false),
            (Some(advice(Action::Protect, true, true)), true),
            (Some(advice(Action::Drain, true, true)), true),
            (Some(advice(Action::Protect, true, false)), false),
            (Some(advice(Action::Wait, false, true)), false),
        ] {
            let shown = format!("{advice:?}");
            let decided =
                decided_all(&[link("eth0", Protect::Relay)], &[Some(losing(1e-3))], &[advice], &conduct);
            let doing = &decided[0].as_ref().unwrap().doing;
            assert_eq!(matches!(doing, Doing::Protects { .. }), protects, "{shown}");
        }
    }

    fn decided_all(
        links: &[Link],
        seen: &[Option<Stored<Sighting>>],
        advice: &[Option<Advice>],
        conduct: &Conduct,
    ) -> Vec<Option<Deed>> {
        let known = links.iter().zip(seen).zip(advice).map(|((link, seen), advice)| Known {
            link,
            seen: seen.as_ref(),
            advice: advice.as_ref(),
        });
        decide(&known.collect::<Vec<_>>(), conduct)
    }

    fn acting(protected_max: usize) -> Conduct {
        Conduct { mode: Mode::Act, protected_max, ..Conduct::default() }
    }

    fn link(port: &str, protect: Protect) -> Link {
        let peer = PortName { node: "spine-3".parse().unwrap(), port: port.parse().unwrap() };
        Link { port: port.parse().unwrap(), peer, protect }
    }

    fn losing(loss: f64) -> Stored<Sighting> {
        let seen = Estimate::of(Sample { frames: 1_000_000, errors: (loss * 1e6) as u64 });
        Stored { version: 7, word: Sighting { corrupting: Some(seen), ..Sighting::default() } }
    }
}
