//! What a part tells the observer: ports that have long had to hold, and the memory of their switches.

use std::collections::BTreeMap;

use wiremend_proto::pfc::Buffer;
use wiremend_units::{LaneId, SwitchId, Time};

use crate::link::Wires;
use crate::network::Network;
use crate::port::CLASSES;

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
    pub(crate) fn of(
        wires: &Wires,
        net: &Network,
        owns: impl Fn(LaneId) -> bool,
        now: Time,
        before: Time,
    ) -> Self {
        let mut report = Self::default();
        let Some(lossless) = &wires.lossless else { return report };
        for lane in lossless.told_lanes().filter(|lane| owns(*lane)) {
            for class in 0..CLASSES as u8 {
                let hold = lossless.hold(lane, class);
                if !hold.covers(now) || hold.from > before {
                    continue;
                }
                let (lane, since) = (lane, hold.from);
                if net.switch_at(lane.reverse()).is_none() {
                    report.held.push(Held { lane, class, since, waiting: BTreeMap::new() });
                    continue;
                }
                let waiting = wires.waiting_by_ingress(lane, class);
                if !waiting.is_empty() {
                    report.held.push(Held { lane, class, since, waiting });
                    report.add_buffer(lossless.port_of(lane).0, |switch| lossless.buffer(switch).cloned());
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

impl Wires {
    /// Bytes of a class that wait for a lane, by the port that they came in by.
    fn waiting_by_ingress(&self, lane: LaneId, class: u8) -> BTreeMap<u16, u64> {
        let mut waiting = BTreeMap::new();
        let egress = self.egresses[lane.index()].as_ref().expect("a port with an egress");
        for frame in egress.waiting_in(class) {
            *waiting.entry(self.frames.get(frame.frame).ingress).or_default() += u64::from(frame.len);
        }
        waiting
    }
}
