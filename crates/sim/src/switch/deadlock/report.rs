//! The report of a partition to the deadlock detector: ports that have been paused for long, and the buffers
//! of their switches.

use std::collections::BTreeMap;

use wiremend_proto::pfc::Buffer;
use wiremend_units::{LaneId, SwitchId, Time};

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
