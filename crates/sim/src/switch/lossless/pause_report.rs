//! Collects the ports of a partition that have been paused for long.

use std::collections::BTreeMap;

use wiremend_units::{LaneId, SwitchId, Time};

use super::Lossless;
use crate::network::Network;
use crate::port::{CLASSES, Egress};
use crate::switch::deadlock::{PauseReport, PausedPort};

impl Lossless {
    /// Returns the ports of this partition that have been paused since `before`.
    pub(crate) fn pause_report(
        &self,
        net: &Network,
        owns: impl Fn(LaneId) -> bool,
        now: Time,
        before: Time,
    ) -> PauseReport {
        let mut report = PauseReport::default();
        for lane in self.lanes_with_pfc().iter().copied().filter(|lane| owns(*lane)) {
            for class in 0..CLASSES as u8 {
                let window = self.pause_window(lane, class);
                if !window.covers(now) || window.from > before {
                    continue;
                }
                let since = window.from;
                let Some(switch) = net.switch_at(lane.reverse()) else {
                    report.paused.push(PausedPort { lane, class, since, waiting: BTreeMap::new() });
                    continue;
                };
                let waiting =
                    self.egress(lane).map_or_else(BTreeMap::new, |egress| by_ingress(egress, class));
                if !waiting.is_empty() {
                    report.paused.push(PausedPort { lane, class, since, waiting });
                    self.add_buffer(&mut report, switch);
                }
            }
        }
        report
    }

    /// Adds the buffer of a switch that the report does not contain yet.
    fn add_buffer(&self, report: &mut PauseReport, switch: SwitchId) {
        if report.buffers.last().is_none_or(|(last, _)| *last != switch)
            && !report.buffers.iter().any(|(known, _)| *known == switch)
        {
            report.buffers.extend(self.buffer(switch).map(|buffer| (switch, buffer.clone())));
        }
    }
}

/// Returns the queued bytes of a class at a port, by ingress port.
fn by_ingress(egress: &Egress, class: u8) -> BTreeMap<u16, u64> {
    let mut waiting = BTreeMap::new();
    for frame in egress.waiting_in(class) {
        *waiting.entry(frame.ingress()).or_default() += u64::from(frame.len());
    }
    waiting
}
