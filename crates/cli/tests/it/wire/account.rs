//! Counters of relays, wire and kernel that account for missing frames.

use std::fs;

use super::line::{Line, Side};

/// Counts of a [`Line`] since its start, or since an earlier account.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// Frames that the relay on each side gave up.
    pub(super) lost: [u64; 2],
    /// Frames that the relay on each side has recovered.
    pub(super) recovered: [u64; 2],
    /// Restarts of either relay, and frames with unknown outcome at these.
    reopened: u64,
    abandoned: u64,
    /// Frames that the wire dropped, towards each side.
    pub(super) corrupted: [u64; 2],
    /// Frames that a relay, the wire, a socket or an interface dropped for lack of buffers.
    dropped: u64,
    order: [Order; 2],
}

/// Whether the relay on one side still sends in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Order {
    /// Process id of the relay.
    pid: u32,
    is_kept: bool,
    /// Number of times that it gave up the order, because the loss was too high.
    fallbacks: u64,
}

impl Account {
    /// Reads the counters of both relays and the wire.
    pub(super) fn new(line: &Line) -> Self {
        let relays = Side::BOTH.map(|side| line.status(side).expect("the relay answers"));
        let wire = line.wire_status().expect("the wire answers");
        let by_side = |name: &str| relays.each_ref().map(|relay| relay.link_counts[name]);
        let of_relays: u64 = relays
            .iter()
            .map(|relay| {
                let counts = relay.counts;
                counts.queue_dropped
                    + counts.pool_empty
                    + counts.lan_refused
                    + counts.port_errors
                    + relay.kernel_dropped.iter().sum::<u64>()
            })
            .sum();
        let of_wire: u64 = [wire.a_to_b, wire.b_to_a]
            .map(|lane| lane.queue_dropped + lane.pool_empty + lane.refused)
            .iter()
            .chain(&wire.kernel_dropped)
            .sum();
        Self {
            lost: by_side("lost"),
            recovered: by_side("recovered"),
            reopened: by_side("reopened").iter().sum(),
            abandoned: by_side("abandoned").iter().sum(),
            corrupted: [wire.b_to_a.crc_errors, wire.a_to_b.crc_errors],
            dropped: of_relays + of_wire + dropped_by_interfaces(),
            order: relays.each_ref().map(|relay| Order {
                pid: relay.pid,
                is_kept: relay.protection_level == "ordered",
                fallbacks: relay.link_counts["fallbacks"],
            }),
        }
    }

    pub(super) fn since(&self, before: &Self) -> Self {
        let sides = |now: [u64; 2], then: [u64; 2]| [now[0] - then[0], now[1] - then[1]];
        Self {
            lost: sides(self.lost, before.lost),
            recovered: sides(self.recovered, before.recovered),
            reopened: self.reopened - before.reopened,
            abandoned: self.abandoned - before.abandoned,
            corrupted: sides(self.corrupted, before.corrupted),
            dropped: self.dropped - before.dropped,
            order: self.order,
        }
    }

    /// Whether nothing that was sent to one side since `before` may have overtaken another frame: a relay that finds too much lost sends the
    /// rest without waiting for it. An interface that is down for long loses as much.
    pub(super) fn kept_order(&self, to: Side, before: &Self) -> bool {
        let from = 1 - to as usize;
        let (then, now) = (before.order[from], self.order[from]);
        let fallbacks_then = if then.pid == now.pid { then.fallbacks } else { 0 };
        then.is_kept && now.is_kept && now.fallbacks == fallbacks_then
    }

    /// Whether so many frames that are missing on one side are accounted for: each was given up, or dropped by somebody. A relay that
    /// had to wait for the processor for as long as if it were gone is started anew by the other one: what was under way is of unknown
    /// fate, and until then frames were not protected.
    pub(super) fn explains(&self, to: Side, missing: u64) -> bool {
        let unknown = if self.reopened > 0 { self.abandoned + self.corrupted.iter().sum::<u64>() } else { 0 };
        missing <= self.lost[to as usize] + self.dropped + unknown
    }

    /// Whether few of the frames that were hit on their way to one side stayed lost.
    pub(super) fn is_masked(&self, to: Side) -> bool {
        self.lost[to as usize] * 10 <= self.corrupted[to as usize]
    }
}

/// Frames that the interfaces of this network had no room for, in either direction.
fn dropped_by_interfaces() -> u64 {
    const RECEIVED_DROPPED: usize = 3;
    const SENT_DROPPED: usize = 11;
    let text = fs::read_to_string("/proc/thread-self/net/dev").expect("the kernel counts");
    let of_interface = |line: &str| {
        let counts: Vec<u64> = line.split_once(':')?.1.split_whitespace().flat_map(str::parse).collect();
        Some(counts[RECEIVED_DROPPED] + counts[SENT_DROPPED])
    };
    text.lines().filter_map(of_interface).sum()
}
