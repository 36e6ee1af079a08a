//! One TCP stream over one link: common parts of L8, L14 and L15.

use std::fmt::Display;

use crate::prelude::*;

/// Variants of the scenario.
pub(super) const NONE: &str = "no protection";
pub(super) const LG: &str = "LinkGuardian";
pub(super) const LG_NB: &str = "LinkGuardianNB";
pub(super) const NO_BACKPRESSURE: &str = "no backpressure";
pub(super) const HARDENED: &str = "hardened";
pub(super) const HARDENED_NB: &str = "hardened NB";

/// Lanes in addition to [`crate::stress::FORWARD`]: from the sending host, and to the receiving host.
pub(super) const OUT: &str = "h0>s0";
pub(super) const INTO: &str = "s1>h1";

/// A stream with a congestion control, over links of one rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stream {
    pub(super) congestion: &'static str,
    pub(super) gbps: u32,
}

impl Stream {
    /// A run over a link with this protection and loss rate.
    pub(super) fn run(&self, variant: &'static str, loss: impl Display) -> Run {
        Run::new("claims/stream")
            .variant(variant)
            .set("topology.rate", format!("{}Gbps", self.gbps))
            .set("transport.tcp.congestion", self.congestion)
            .set("impair.0.rate", &loss)
            .set("protect.0.loss", loss)
    }
}
