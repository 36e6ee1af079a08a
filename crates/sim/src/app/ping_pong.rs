//! A closed loop of requests and replies, like latency benchmarks: the next request is posted when the reply
//! to the last one has arrived and its own work request has completed.

use wiremend_measure::FlowOutcome;
use wiremend_units::{FlowId, HostId, Time};

use super::{Action, Application, FlowResult, MessageResult, Post};

/// The client: it sends requests and measures.
pub(crate) struct PingPong {
    peer: HostId,
    bytes: u32,
    first_flow: FlowId,
    started: u64,
    iterations: u64,
    start: Time,
    replied: bool,
    done: Option<MessageResult>,
    open: bool,
    failed: bool,
}

impl PingPong {
    pub(crate) fn new(peer: HostId, bytes: u32, iterations: u64, first_flow: FlowId, start: Time) -> Self {
        Self {
            peer,
            bytes,
            first_flow,
            started: 0,
            iterations,
            start,
            replied: false,
            done: None,
            open: false,
            failed: false,
        }
    }

    fn finish_round(&mut self, now: Time, done: MessageResult, actions: &mut Vec<Action>) {
        self.end_flow(now, done, actions);
        if self.started < self.iterations {
            self.send_request(now, actions);
        }
    }

    fn send_request(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.started += 1;
        self.start = now;
        self.open = true;
        self.replied = false;
        self.done = None;
        actions.push(Action::BeginFlow);
        let flow = Some(FlowId(self.first_flow.0 + self.started - 1));
        actions.push(Action::Post(Post { dst: self.peer, bytes: self.bytes, flow, ends_flow: false }));
    }

    fn end_flow(&mut self, now: Time, done: MessageResult, actions: &mut Vec<Action>) {
        if std::mem::take(&mut self.open) {
            actions.push(Action::EndFlow(self.flow_result(now, done)));
        }
    }

    fn flow_result(&self, end: Time, done: MessageResult) -> FlowResult {
        let flow = FlowId(self.first_flow.0 + self.started - 1);
        FlowResult {
            flow,
            dst: self.peer,
            bytes: self.bytes,
            start: self.start,
            end,
            entropy: 0,
            round_trip: true,
            done,
        }
    }
}

impl Application for PingPong {
    fn next_poll(&self) -> Time {
        if self.started == 0 && self.iterations > 0 { self.start } else { Time::MAX }
    }

    fn poll(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.started == 0 && now >= self.start {
            self.send_request(now, actions);
        }
    }

    fn on_completion(&mut self, now: Time, done: MessageResult, actions: &mut Vec<Action>) {
        self.done = Some(done);
        if done.outcome != FlowOutcome::Finished {
            self.failed = true;
            self.end_flow(now, done, actions);
        } else if self.replied {
            self.finish_round(now, done, actions);
        }
    }

    fn on_receive(&mut self, now: Time, _from: HostId, actions: &mut Vec<Action>) {
        self.replied = true;
        if let Some(done) = self.done {
            self.finish_round(now, done, actions);
        }
    }

    fn is_done(&self) -> bool {
        self.failed || self.started == self.iterations
    }

    fn on_run_end(&mut self, now: Time, outcome: FlowOutcome) -> Option<FlowResult> {
        let done =
            self.done.map_or(MessageResult::unfinished(outcome), |done| MessageResult { outcome, ..done });
        std::mem::take(&mut self.open).then(|| self.flow_result(now, done))
    }

    fn shares_connections(&self, per_pair: bool) -> bool {
        !per_pair
    }
}

/// The server. It replies to the next request only when its last reply has completed.
pub(crate) struct EchoServer {
    bytes: u32,
    busy: bool,
    waiting: Option<HostId>,
}

impl EchoServer {
    pub(crate) fn new(bytes: u32) -> Self {
        Self { bytes, busy: false, waiting: None }
    }

    fn reply(&mut self, actions: &mut Vec<Action>) {
        if self.busy {
            return;
        }
        if let Some(dst) = self.waiting.take() {
            self.busy = true;
            actions.push(Action::Post(Post { dst, bytes: self.bytes, flow: None, ends_flow: false }));
        }
    }
}

impl Application for EchoServer {
    fn on_receive(&mut self, _now: Time, from: HostId, actions: &mut Vec<Action>) {
        self.waiting = Some(from);
        self.reply(actions);
    }

    fn on_completion(&mut self, _now: Time, _done: MessageResult, actions: &mut Vec<Action>) {
        self.busy = false;
        self.reply(actions);
    }

    fn next_poll(&self) -> Time {
        Time::MAX
    }

    fn poll(&mut self, _now: Time, _actions: &mut Vec<Action>) {}

    fn is_done(&self) -> bool {
        true
    }

    fn shares_connections(&self, per_pair: bool) -> bool {
        !per_pair
    }
}
