//! A closed loop of requests and replies, as latency benchmarks run it: the next request leaves when the reply to
//! the last one is there and its own work request has completed.

use wiremend_measure::Outcome;
use wiremend_units::{FlowId, HostId, Time};

use super::{Action, Application, Done, Ended, Post};

/// The side that asks and measures.
pub(crate) struct PingPong {
    peer: HostId,
    bytes: u32,
    first_flow: FlowId,
    begun: u64,
    iterations: u64,
    start: Time,
    replied: bool,
    done: Option<Done>,
    open: bool,
    broken: bool,
}

impl PingPong {
    pub(crate) fn new(peer: HostId, bytes: u32, iterations: u64, first_flow: FlowId, start: Time) -> Self {
        Self {
            peer,
            bytes,
            first_flow,
            begun: 0,
            iterations,
            start,
            replied: false,
            done: None,
            open: false,
            broken: false,
        }
    }

    fn turn(&mut self, now: Time, done: Done, actions: &mut Vec<Action>) {
        self.end(now, done, actions);
        if self.begun < self.iterations {
            self.ask(now, actions);
        }
    }

    fn ask(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.begun += 1;
        self.start = now;
        self.open = true;
        self.replied = false;
        self.done = None;
        actions.push(Action::Begin);
        let flow = Some(FlowId(self.first_flow.0 + self.begun - 1));
        actions.push(Action::Post(Post { dst: self.peer, bytes: self.bytes, flow, ends_flow: false }));
    }

    fn end(&mut self, now: Time, done: Done, actions: &mut Vec<Action>) {
        if std::mem::take(&mut self.open) {
            actions.push(Action::End(self.ended(now, done)));
        }
    }

    fn ended(&self, end: Time, done: Done) -> Ended {
        let flow = FlowId(self.first_flow.0 + self.begun - 1);
        Ended {
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
        if self.begun == 0 && self.iterations > 0 { self.start } else { Time::MAX }
    }

    fn poll(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.begun == 0 && now >= self.start {
            self.ask(now, actions);
        }
    }

    fn on_completion(&mut self, now: Time, done: Done, actions: &mut Vec<Action>) {
        self.done = Some(done);
        if done.outcome != Outcome::Finished {
            self.broken = true;
            self.end(now, done, actions);
        } else if self.replied {
            self.turn(now, done, actions);
        }
    }

    fn on_receive(&mut self, now: Time, _from: HostId, actions: &mut Vec<Action>) {
        self.replied = true;
        if let Some(done) = self.done {
            self.turn(now, done, actions);
        }
    }

    fn is_done(&self) -> bool {
        self.broken || self.begun == self.iterations
    }

    fn cut_off(&mut self, now: Time, outcome: Outcome) -> Option<Ended> {
        let done = self.done.map_or(Done::unfinished(outcome), |done| Done { outcome, ..done });
        std::mem::take(&mut self.open).then(|| self.ended(now, done))
    }

    fn shares_connections(&self, per_pair: bool) -> bool {
        !per_pair
    }
}

/// The side that answers. It answers the next request only when its last answer has completed.
pub(crate) struct Echo {
    bytes: u32,
    busy: bool,
    waiting: Option<HostId>,
}

impl Echo {
    pub(crate) fn new(bytes: u32) -> Self {
        Self { bytes, busy: false, waiting: None }
    }

    fn answer(&mut self, actions: &mut Vec<Action>) {
        if self.busy {
            return;
        }
        if let Some(dst) = self.waiting.take() {
            self.busy = true;
            actions.push(Action::Post(Post { dst, bytes: self.bytes, flow: None, ends_flow: false }));
        }
    }
}

impl Application for Echo {
    fn on_receive(&mut self, _now: Time, from: HostId, actions: &mut Vec<Action>) {
        self.waiting = Some(from);
        self.answer(actions);
    }

    fn on_completion(&mut self, _now: Time, _done: Done, actions: &mut Vec<Action>) {
        self.busy = false;
        self.answer(actions);
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
