//! Flows that are known beforehand: a flow list, or a pattern started at one time.

use wiremend_units::{FlowId, HostId, Time};

use super::{Action, Application, Post};

pub(crate) struct List {
    /// The host's flows, the last to start first.
    flows: Vec<Planned>,
}

/// A flow to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    pub(crate) flow: FlowId,
    pub(crate) dst: HostId,
    pub(crate) bytes: u32,
    pub(crate) start: Time,
}

impl List {
    pub(crate) fn new(mut flows: Vec<Planned>) -> Self {
        flows.sort_by_key(|planned| std::cmp::Reverse((planned.start, planned.flow)));
        Self { flows }
    }
}

impl Application for List {
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
