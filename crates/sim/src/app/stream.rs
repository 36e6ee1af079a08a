//! A stream of messages: a fixed number of them is always outstanding.

use wiremend_measure::FlowOutcome;
use wiremend_units::{FlowId, HostId, Time};

use super::{Action, Application, MessageResult, Post};

pub(crate) struct Stream {
    peer: HostId,
    bytes: u32,
    depth: u64,
    /// Number of messages; `None`: until the run ends.
    count: Option<u64>,
    first_flow: FlowId,
    started: u64,
    start: Time,
    failed: bool,
}

impl Stream {
    pub(crate) fn new(
        peer: HostId,
        bytes: u32,
        depth: u64,
        count: Option<u64>,
        first_flow: FlowId,
        start: Time,
    ) -> Self {
        Self { peer, bytes, depth, count, first_flow, started: 0, start, failed: false }
    }

    fn begin(&mut self, actions: &mut Vec<Action>) {
        if !self.is_done() {
            let flow = FlowId(self.first_flow.0 + self.started);
            self.started += 1;
            actions.push(Action::Post(Post {
                dst: self.peer,
                bytes: self.bytes,
                flow: Some(flow),
                ends_flow: true,
            }));
        }
    }
}

impl Application for Stream {
    fn next_poll(&self) -> Time {
        if self.started == 0 && !self.is_done() { self.start } else { Time::MAX }
    }

    fn poll(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.started == 0 && now >= self.start {
            (0..self.depth).for_each(|_| self.begin(actions));
        }
    }

    fn on_completion(&mut self, _now: Time, done: MessageResult, actions: &mut Vec<Action>) {
        self.failed |= done.outcome != FlowOutcome::Finished;
        self.begin(actions);
    }

    fn is_done(&self) -> bool {
        self.failed || self.count.is_some_and(|count| self.started >= count)
    }
}
