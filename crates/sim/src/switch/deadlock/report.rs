//! What a part tells the observer: ports that have long had to hold, and the memory of their switches.

use std::collections::BTreeMap;

use wiremend_proto::pfc::Buffer;
use wiremend_units::{LaneId, SwitchId, Time};

use crate::network::Network;
use crate::port::{CLASSES, Egress};
use crate::switch::Lossless;

/// What a part tells.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) held: Vec<Held>,
    /// The memory of every switch with such ports.
    pub(crate) buffers: Vec<(SwitchId, Buffer)>,
}

/// A port that must hold a class for which it has frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub(crate) lane: LaneId,
    pub(crate) class: u8,
    pub(crate) since: Time,
    /// Bytes that wait, by the port that they came in by. Nothing at a host.
    pub(crate) waiting: BTreeMap<u16, u64>,
}

impl Report {
    /// Ports that this part owns and that had to hold since `before`.
    pub(crate) fn new(
        lossless: &Lossless,
        net: &Network,
        owns: impl Fn(LaneId) -> bool,
        now: Time,
        before: Time,
    ) -> Self {
        let mut report = Self::default();
        for lane in lossless.told_lanes().filter(|lane| owns(*lane)) {
            for class in 0..CLASSES as u8 {
                let hold = lossless.hold(lane, class);
                if !hold.covers(now) || hold.from > before {
                    continue;
                }
                let since = hold.from;
                let Some(switch) = net.switch_at(lane.reverse()) else {
                    report.held.push(Held { lane, class, since, waiting: BTreeMap::new() });
                    continue;
                };
                let waiting = lossless.egress(lane).map_or_else(BTreeMap::new, |of| by_ingress(of, class));
                if !waiting.is_empty() {
                    report.held.push(Held { lane, class, since, waiting });
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

/// Bytes of a class that wait in a port, by the port that they came in by.
fn by_ingress(egress: &Egress, class: u8) -> BTreeMap<u16, u64> {
    let mut waiting = BTreeMap::new();
    for frame in egress.waiting_in(class) {
        *waiting.entry(frame.ingress).or_default() += u64::from(frame.len);
    }
    waiting
}
