//! Policies for corrupting links.

use std::fmt;
use std::str::FromStr;

use wiremend_units::{canonical_name, unknown_name};

/// A policy: which corrupting links are taken out, and which are protected while in service.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Policy {
    /// Rule for taking links out.
    pub disable_rule: DisableRule,
    /// Links with protection.
    pub protection: Protection,
}

/// Which corrupting links are taken out for repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DisableRule {
    /// None.
    Never,
    /// All, whatever capacity is left.
    Always,
    /// Links without which every ToR keeps its share of paths: checked when a link starts to corrupt,
    /// optimized when a link returns.
    CorrOpt(Objective),
}

/// The objective of the optimizer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Objective {
    /// The loss without protection, as in CorrOpt and in LinkGuardian's paper.
    RawLoss,
    /// The residual loss relative to the target of 1e-8, plus the lost share of the speed.
    ResidualLoss,
}

/// Which links are protected while they corrupt.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Protection {
    /// None.
    None,
    /// All.
    All,
    /// The links of the ToRs in this share of the pods, drawn at random.
    Pods(f64),
}

/// Target loss of operators (LG §4).
const TARGET_LOSS: f64 = 1e-8;

impl Objective {
    /// Returns the value of taking out a link with this loss, residual loss and speed.
    pub(crate) fn value(self, loss: f64, residual_loss: f64, speed: f64) -> f64 {
        match self {
            Self::RawLoss => loss,
            // A loss of 1 counts 1e8: scaled to fit into the sums.
            Self::ResidualLoss => (residual_loss / TARGET_LOSS + (1.0 - speed)) / 65_536.0,
        }
    }
}

impl Policy {
    /// No action.
    pub const NONE: Self = Self { disable_rule: DisableRule::Never, protection: Protection::None };
    /// All corrupting links are taken out.
    pub const DISABLE_ALL: Self = Self { disable_rule: DisableRule::Always, protection: Protection::None };
    /// CorrOpt.
    pub const CORROPT: Self =
        Self { disable_rule: DisableRule::CorrOpt(Objective::RawLoss), protection: Protection::None };
    /// LinkGuardian without repair.
    pub const LINKGUARDIAN: Self = Self { disable_rule: DisableRule::Never, protection: Protection::All };
    /// Both, as published: the optimizer ignores protection.
    pub const LINKGUARDIAN_CORROPT: Self =
        Self { disable_rule: DisableRule::CorrOpt(Objective::RawLoss), protection: Protection::All };
    /// Both, with an optimizer that uses the residual loss.
    pub const LINKGUARDIAN_AWARE: Self =
        Self { disable_rule: DisableRule::CorrOpt(Objective::ResidualLoss), protection: Protection::All };

    /// All policies, with protection of all links or none.
    pub const ALL: [Self; 6] = [
        Self::NONE,
        Self::DISABLE_ALL,
        Self::CORROPT,
        Self::LINKGUARDIAN,
        Self::LINKGUARDIAN_CORROPT,
        Self::LINKGUARDIAN_AWARE,
    ];

    fn base(self) -> &'static str {
        match (self.disable_rule, self.protection) {
            (DisableRule::Never, Protection::None) => "none",
            (DisableRule::Always, Protection::None) => "disable-all",
            (DisableRule::Always, _) => "linkguardian+disable-all",
            (DisableRule::CorrOpt(_), Protection::None) => "corropt",
            (DisableRule::Never, _) => "linkguardian",
            (DisableRule::CorrOpt(Objective::RawLoss), _) => "linkguardian+corropt",
            (DisableRule::CorrOpt(Objective::ResidualLoss), _) => "linkguardian+corropt-aware",
        }
    }
}

/// `corropt`, `linkguardian+corropt`, `linkguardian+corropt:0.5`.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.protection {
            Protection::Pods(part) => write!(f, "{}:{part}", self.base()),
            _ => f.write_str(self.base()),
        }
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, part) = text.split_once(':').map_or((text, None), |(name, part)| (name, Some(part)));
        let names: Vec<_> = Self::ALL.iter().map(|policy| policy.base()).collect();
        let base = canonical_name(name, &names).ok_or_else(|| unknown_name("policy", name, &names))?;
        let policy = Self::ALL.into_iter().find(|policy| policy.base() == base).expect("it is listed");
        let Some(part) = part else { return Ok(policy) };
        let share: Option<f64> = part.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
        match (share, policy.protection) {
            (_, Protection::None) => Err(format!("`{name}` has no protection; remove `:{part}`")),
            (None, _) => Err(format!("`{part}` is not a share of the pods: use a number above 0, at most 1")),
            (Some(share), _) => Ok(Self { protection: Protection::Pods(share), ..policy }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_back() {
        for policy in Policy::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        let partial: Policy = "linkguardian+corropt:0.25".parse().unwrap();
        assert_eq!(partial.protection, Protection::Pods(0.25));
        assert_eq!(partial.to_string(), "linkguardian+corropt:0.25");
        for wrong in ["", "corropt:0.5", "linkguardian:0", "linkguardian:x", "linkguardian:2", "all"] {
            assert!(wrong.parse::<Policy>().is_err(), "{wrong}");
        }
    }
}
