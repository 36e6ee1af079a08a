//! The report of a partition to the deadlock detector: ports that have been paused for long, and the buffers
//! of their switches.

use std::collections::BTreeMap;

use wiremend_proto::pfc::Buffer;
use wiremend_units::{LaneId, SwitchId, Time};

use crate::network::Network;
use crate::port::{CLASSES, Egress};
use crate::switch::Lossless;

#[derive(Default)]
pub(crate) struct PauseReport {
    pub(crate) paused: Vec<PausedPort>,
    /// Copies of the buffers of the switches with such ports.
    pub(crate) buffers: Vec<(SwitchId, Buffer)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PausedPort {
    pub(crate) lane: LaneId,
    pub(crate) class: u8,
    pub(crate) since: Time,
    /// Queued bytes, by ingress port. Empty at a host.
    pub(crate) waiting: BTreeMap<u16, u64>,
}

impl PauseReport {
    /// Returns the ports of this partition that have been paused since `before`.
    pub(crate) fn new(
        lossless: &Lossless,
        net: &Network,
        owns: impl Fn(LaneId) -> bool,
        now: Time,
        before: Time,
    ) -> Self {
        let mut report = Self::default();
        for lane in lossless.lanes_with_pfc().filter(|lane| owns(*lane)) {
            for class in 0..CLASSES as u8 {
                let window = lossless.pause_window(lane, class);
                if !window.covers(now) || window.from > before {
                    continue;
                }
                let since = window.from;
                let Some(switch) = net.switch_at(lane.reverse()) else {
                    report.paused.push(PausedPort { lane, class, since, waiting: BTreeMap::new() });
                    continue;
                };
                let waiting =
                    lossless.egress(lane).map_or_else(BTreeMap::new, |egress| by_ingress(egress, class));
                if !waiting.is_empty() {
                    report.paused.push(PausedPort { lane, class, since, waiting });
                    report.add_buffer(switch, |switch| lossless.buffer(switch).cloned());
                }
            }
        }
        report
    }

    fn add_buffer(&mut self, switch: SwitchId, buffer: impl Fn(SwitchId) -> Option<Buffer>) {
        if self.buffers.last().is_none_or(|(last, _)| *last != switch)
            && !self.buffers.iter().any(|(known, _)| *known == switch)
        {
            self.buffers.extend(buffer(switch).map(|buffer| (switch, buffer)));
        }
    }
}

/// Returns the queued bytes of a class at a port, by ingress port.
fn by_ingress(egress: &Egress, class: u8) -> BTreeMap<u16, u64> {
    let mut waiting = BTreeMap::new();
    for frame in egress.waiting_in(class) {
        *waiting.entry(frame.ingress).or_default() += u64::from(frame.len);
    }
    waiting
}
