//! One TCP stream over one link: what the claims on streams share.

use std::fmt::Display;

use crate::ledger::Run;

/// What the scenario calls its variants.
pub(super) const NONE: &str = "no protection";
pub(super) const LG: &str = "LinkGuardian";
pub(super) const LG_NB: &str = "LinkGuardianNB";
pub(super) const NO_BACKPRESSURE: &str = "no backpressure";
pub(super) const HARDENED: &str = "hardened";
pub(super) const HARDENED_NB: &str = "hardened NB";

/// The lanes that are looked at, beside [`crate::stress::FORWARD`]: out of the sending host, and into the receiving one.
pub(super) const OUT: &str = "h0>s0";
pub(super) const INTO: &str = "s1>h1";

/// A stream by a congestion control over links of a rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stream {
    pub(super) congestion: &'static str,
    pub(super) gbps: u32,
}

impl Stream {
    /// Over a link that does this about a loss, and goes by it.
    pub(super) fn run(&self, variant: &'static str, loss: impl Display) -> Run {
        Run::of("claims/stream")
            .variant(variant)
            .set("topology.rate", format!("{}Gbps", self.gbps))
            .set("transport.tcp.congestion", self.congestion)
            .set("impair.0.rate", &loss)
            .set("protect.0.loss", loss)
    }
}
