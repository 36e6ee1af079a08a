//! What is done about links that corrupt.

use std::fmt;
use std::str::FromStr;

/// What is done about links that corrupt: whether they are taken out, and whether they are protected while they are in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Policy {
    /// Which are taken out.
    pub repairing: Repairing,
    /// Which are protected.
    pub protection: Protection,
}

/// Which links are taken out for repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repairing {
    /// None.
    Never,
    /// All, whatever capacity is left.
    Always,
    /// Those without which every ToR keeps its share: checked on arrival, chosen again when one returns.
    CorrOpt(Worth),
}

/// What the optimizer wants to be rid of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Worth {
    /// The links' own loss, as CorrOpt has it and LinkGuardian's paper leaves it.
    RawLoss,
    /// What protection leaves of the loss, as a part of the target of 1e-8, and of the speed.
    Effect,
}

/// Which links are protected while they corrupt.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Protection {
    /// None.
    None,
    /// All.
    All,
    /// The links of the ToRs in this part of the pods, drawn at random.
    Pods(f64),
}

/// The loss that operators ask for (LG §4).
const TARGET_LOSS: f64 = 1e-8;

impl Worth {
    /// How much it is worth to be rid of a link with this loss, of which protection leaves so much loss and speed.
    pub(crate) fn of(self, loss: f64, left: f64, speed: f64) -> f64 {
        match self {
            Self::RawLoss => loss,
            // A loss of 1 counts 1e8: scaled down, so that all fits into the sums.
            Self::Effect => (left / TARGET_LOSS + (1.0 - speed)) / 65_536.0,
        }
    }
}

impl Policy {
    /// Nothing is done.
    pub const NONE: Self = Self { repairing: Repairing::Never, protection: Protection::None };
    /// All are taken out.
    pub const DISABLE_ALL: Self = Self { repairing: Repairing::Always, protection: Protection::None };
    /// CorrOpt.
    pub const CORROPT: Self =
        Self { repairing: Repairing::CorrOpt(Worth::RawLoss), protection: Protection::None };
    /// LinkGuardian, and no repair.
    pub const LINKGUARDIAN: Self = Self { repairing: Repairing::Never, protection: Protection::All };
    /// Both, as published: the optimizer knows nothing of protection.
    pub const LINKGUARDIAN_CORROPT: Self =
        Self { repairing: Repairing::CorrOpt(Worth::RawLoss), protection: Protection::All };
    /// Both, with an optimizer that knows what protection leaves.
    pub const LINKGUARDIAN_AWARE: Self =
        Self { repairing: Repairing::CorrOpt(Worth::Effect), protection: Protection::All };

    /// All of them, protected everywhere or nowhere.
    pub const ALL: [Self; 6] = [
        Self::NONE,
        Self::DISABLE_ALL,
        Self::CORROPT,
        Self::LINKGUARDIAN,
        Self::LINKGUARDIAN_CORROPT,
        Self::LINKGUARDIAN_AWARE,
    ];

    fn base(self) -> &'static str {
        match (self.repairing, self.protection) {
            (Repairing::Never, Protection::None) => "none",
            (Repairing::Always, Protection::None) => "disable-all",
            (Repairing::Always, _) => "linkguardian+disable-all",
            (Repairing::CorrOpt(_), Protection::None) => "corropt",
            (Repairing::Never, _) => "linkguardian",
            (Repairing::CorrOpt(Worth::RawLoss), _) => "linkguardian+corropt",
            (Repairing::CorrOpt(Worth::Effect), _) => "linkguardian+corropt-aware",
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
        let found = Self::ALL.into_iter().find(|policy| policy.base().eq_ignore_ascii_case(name));
        let Some(policy) = found else {
            let names: Vec<_> = Self::ALL.iter().map(|policy| policy.base()).collect();
            return Err(format!("no policy `{name}`; there are {}", names.join(", ")));
        };
        let Some(part) = part else { return Ok(policy) };
        let share: Option<f64> = part.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
        match (share, policy.protection) {
            (_, Protection::None) => {
                Err(format!("`{name}` protects nothing, so that `:{part}` says nothing"))
            }
            (None, _) => Err(format!("`{part}` is not a part of the pods: a number above 0, at most 1")),
            (Some(share), _) => Ok(Self { protection: Protection::Pods(share), ..policy }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
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
