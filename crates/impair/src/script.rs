//! Scripted losses, for tests and for drawings of single losses.

use wiremend_units::Psn;

use crate::{BadImpairment, FrameFacts, FrameKind, LinkKind};

/// A list of rules. A frame is corrupted if one rule hits it; each rule counts its own matches.
#[derive(Clone, Debug)]
pub struct Script {
    rules: Vec<Progress>,
}

/// Corrupts some of the matching frames, by their order on this lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Which frames are counted.
    pub matching: Match,
    /// First matching frame to corrupt, from 1.
    pub nth: u64,
    /// Number of consecutive matches to corrupt; `u64::MAX` for all.
    pub count: u64,
}

/// Properties of matching frames; `None` matches all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Match {
    /// Its role in the protocol.
    pub kind: Option<FrameKind>,
    /// Its sequence number.
    pub psn: Option<Psn>,
    /// Number of earlier transmissions by its sender.
    pub copy: Option<u8>,
    /// Its kind on a protected link.
    pub link: Option<LinkKind>,
    /// Its number on a protected link, or the number that it refers to; see [`LinkFacts`](crate::LinkFacts).
    pub seq: Option<u32>,
}

#[derive(Clone, Debug)]
struct Progress {
    rule: Rule,
    seen: u64,
}

impl Rule {
    /// The n-th frame of all, from 1.
    pub fn nth_frame(n: u64) -> Self {
        Self { matching: Match::default(), nth: n, count: 1 }
    }

    /// The n-th transmission of a sequence number on this lane, from 1.
    pub fn nth_of_psn(n: u64, psn: Psn) -> Self {
        Self { matching: Match { psn: Some(psn), ..Match::default() }, nth: n, count: 1 }
    }

    /// The n-th frame of a kind on this lane, from 1.
    pub fn nth_of_kind(n: u64, kind: FrameKind) -> Self {
        Self { matching: Match { kind: Some(kind), ..Match::default() }, nth: n, count: 1 }
    }

    /// Restricts the rule to frames of this kind.
    pub fn of_kind(mut self, kind: FrameKind) -> Self {
        self.matching.kind = Some(kind);
        self
    }

    /// Corrupts this number of consecutive matches.
    pub fn times(mut self, count: u64) -> Self {
        self.count = count;
        self
    }
}

impl Script {
    /// Creates a script.
    pub fn new(rules: &[Rule]) -> Result<Self, BadImpairment> {
        match rules.iter().position(|rule| rule.nth == 0 || rule.count == 0) {
            Some(index) => Err(BadImpairment::Rule { number: index + 1 }),
            None => Ok(Self { rules: rules.iter().map(|&rule| Progress { rule, seen: 0 }).collect() }),
        }
    }

    /// Whether a rule hits this frame.
    pub fn corrupts(&mut self, frame: &FrameFacts) -> bool {
        // No short circuit: every rule must count every frame.
        self.rules.iter_mut().fold(false, |hit, rule| rule.hits(frame) | hit)
    }

    /// Rules that have not reached their first hit. If there are any at the end of a run, the script may be
    /// wrong.
    pub fn unused(&self) -> impl Iterator<Item = Rule> {
        self.rules.iter().filter(|progress| progress.seen < progress.rule.nth).map(|progress| progress.rule)
    }
}

impl Progress {
    fn hits(&mut self, frame: &FrameFacts) -> bool {
        if !self.rule.matching.accepts(frame) {
            return false;
        }
        self.seen += 1;
        self.seen >= self.rule.nth && self.seen - self.rule.nth < self.rule.count
    }
}

impl Match {
    fn accepts(&self, frame: &FrameFacts) -> bool {
        self.kind.is_none_or(|kind| kind == frame.kind)
            && self.psn.is_none_or(|psn| frame.psn == Some(psn))
            && self.copy.is_none_or(|copy| copy == frame.copy)
            && self.link.is_none_or(|kind| frame.link.is_some_and(|link| link.kind == kind))
            && self.seq.is_none_or(|seq| frame.link.is_some_and(|link| link.seq == seq))
    }
}
