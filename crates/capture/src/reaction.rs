//! How soon network adapters answer NAKs, and which NAKs they did not act upon.
//!
//! Adapters differ by orders of magnitude, so there is no fixed limit: a reaction counts as late compared with
//! the other reactions and timeouts of the same adapter, or with the round trips of the flow.

use std::collections::BTreeMap;

use crate::analysis::Analysis;
use crate::pairing::Outline;
use crate::record::{HostIndex, TapIndex};
use crate::resend::{Resend, Trigger};

/// A reaction this many times longer than the median of the others is not one.
const LATE_FACTOR: i64 = 16;

/// No adapter takes this many round trips to react.
const ROUND_TRIPS_MAX: i64 = 256;

/// Reactions and timeouts by requester and tap: far from the requester, a reaction takes a round trip longer.
#[derive(Default)]
pub(crate) struct Reactions {
    by_requester: BTreeMap<(TapIndex, HostIndex), Seen>,
}

#[derive(Default)]
struct Seen {
    /// From NAKs to the resends, sorted.
    reactions_ns: Vec<i64>,
    /// Waits of timeouts that no NAK explains, sorted.
    waits_ns: Vec<i64>,
}

impl Reactions {
    pub(crate) fn of(analysis: &Analysis) -> Self {
        let mut all = Self::default();
        for resend in &analysis.shared.closed {
            let outline = &analysis.pairings.flows[resend.flow as usize];
            let seen = all.by_requester.entry(requester(outline)).or_default();
            match (resend.trigger, resend.reaction_ns) {
                (Trigger::Nak | Trigger::ImpliedNak, Some(reaction)) => seen.reactions_ns.push(reaction),
                (Trigger::Timer, _) => seen.waits_ns.push(resend.first_wait_ns),
                _ => {}
            }
        }
        for seen in all.by_requester.values_mut() {
            seen.reactions_ns.sort_unstable();
            seen.waits_ns.sort_unstable();
        }
        all
    }

    /// Whether a wait is much shorter than those of this requester's timer.
    pub(crate) fn is_short(&self, resend: &Resend, outline: &Outline) -> bool {
        let waits = self.by_requester.get(&requester(outline)).map_or(&[][..], |seen| &seen.waits_ns);
        waits.get(waits.len() / 2).is_some_and(|median| resend.first_wait_ns.saturating_mul(4) < *median)
    }

    /// Whether a resend came so late that its NAK was not what caused it.
    pub(crate) fn is_late(&self, resend: &Resend, outline: &Outline, is_selective: bool) -> bool {
        let Some(reaction) = resend.reaction_ns else { return false };
        let Some(seen) = self.by_requester.get(&requester(outline)) else { return false };
        // Half of the others are shorter than the lower median; the reaction itself is one of the values.
        let others = seen.reactions_ns.len() - 1;
        if others > 0 {
            let median = seen.reactions_ns[(others - 1) / 2];
            // Requests and answers under way pass a tap at any distance of each other: a late reaction takes more than
            // some round trips as well.
            let round_trip = resend.shortest_round_trip_ns();
            let is_long = reaction > LATE_FACTOR.saturating_mul(median.max(1))
                && reaction > round_trip.saturating_mul(4);
            // A requester that waits for its timer has filled its window before.
            let is_silent = resend.first_wait_ns >= reaction / 2;
            // Where all NAKs are ignored there is no reaction to compare with.
            let endless = |ns: i64| reaction > ROUND_TRIPS_MAX.saturating_mul(ns.max(1));
            let is_endless = resend.round_trip_ns().is_some_and(endless);
            let is_like_a_timer = seen.waits_ns.first().is_none_or(|wait| reaction >= wait / 2);
            // Soft-RoCE ignores gaps in the responses of a READ: its usual reaction is its timer.
            let usual_wait_ns = seen.waits_ns.get(seen.waits_ns.len() / 2);
            let is_the_timer = !is_selective
                && reaction > round_trip.saturating_mul(4)
                && usual_wait_ns.is_some_and(|wait| resend.first_wait_ns >= wait / 2);
            return is_silent && (is_endless || is_the_timer || is_long && is_like_a_timer);
        }
        if let Some(wait) = seen.waits_ns.first() {
            return reaction >= wait / 2;
        }
        let means = [resend.before.latency.mean_ns(), resend.before.reaction.mean_ns()];
        let round_trip = means.into_iter().flatten().max();
        round_trip.is_some_and(|mean| reaction > LATE_FACTOR.saturating_mul(mean.max(1)))
    }
}

fn requester(outline: &Outline) -> (TapIndex, HostIndex) {
    (outline.stream.tap, outline.stream.from)
}
