//! Flows that are known beforehand: a flow list, or a pattern that starts at one time.

use wiremend_units::{FlowId, HostId, Time};

use super::{Action, Application, Post};

pub(crate) struct FlowList {
    /// The host's flows, the first to start last.
    flows: Vec<PlannedFlow>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedFlow {
    pub(crate) flow: FlowId,
    pub(crate) dst: HostId,
    pub(crate) bytes: u32,
    pub(crate) start: Time,
}

impl FlowList {
    pub(crate) fn new(mut flows: Vec<PlannedFlow>) -> Self {
        flows.sort_by_key(|planned| std::cmp::Reverse((planned.start, planned.flow)));
        Self { flows }
    }
}

impl Application for FlowList {
    fn next_poll(&self) -> Time {
        self.flows.last().map_or(Time::MAX, |planned| planned.start)
    }

    fn poll(&mut self, now: Time, actions: &mut Vec<Action>) {
        while let Some(planned) = self.flows.pop_if(|planned| planned.start <= now) {
            let post =
                Post { dst: planned.dst, bytes: planned.bytes, flow: Some(planned.flow), ends_flow: true };
            actions.push(Action::Post(post));
        }
    }

    fn is_done(&self) -> bool {
        self.flows.is_empty()
    }
}
