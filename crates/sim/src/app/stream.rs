//! Messages as fast as they go: a number of them always outstanding.

use wiremend_measure::Outcome;
use wiremend_units::{FlowId, HostId, Time};

use super::{Action, Application, Done, Post};

pub(crate) struct Stream {
    peer: HostId,
    bytes: u32,
    depth: u64,
    /// Messages to move; `None` for as long as the run lasts.
    count: Option<u64>,
    first_flow: FlowId,
    begun: u64,
    start: Time,
    broken: bool,
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
        Self { peer, bytes, depth, count, first_flow, begun: 0, start, broken: false }
    }

    fn begin(&mut self, actions: &mut Vec<Action>) {
        if !self.is_done() {
            let flow = FlowId(self.first_flow.0 + self.begun);
            self.begun += 1;
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
        if self.begun == 0 && !self.is_done() { self.start } else { Time::MAX }
    }

    fn poll(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.begun == 0 && now >= self.start {
            (0..self.depth).for_each(|_| self.begin(actions));
        }
    }

    fn on_completion(&mut self, _now: Time, done: Done, actions: &mut Vec<Action>) {
        self.broken |= done.outcome != Outcome::Finished;
        self.begin(actions);
    }

    fn is_done(&self) -> bool {
        self.broken || self.count.is_some_and(|count| self.begun >= count)
    }
}
