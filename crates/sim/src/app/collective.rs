//! A member of a collective operation: it sends a step when it has the data of the step before.
//!
//! Messages from one member to another share a connection and arrive in order, so counting them identifies
//! the step.

use std::sync::Arc;

use wiremend_measure::FlowOutcome;
use wiremend_units::{FlowId, HostId, Time};

use super::{Action, Application, MessageResult, Post};

pub(crate) struct Collective {
    group: Arc<Group>,
    /// The member's rank in its group.
    rank: usize,
    start: Time,
    /// The current iteration, and the next step.
    iteration: u32,
    step: u32,
    started: bool,
    /// Messages received from each member, in all iterations.
    arrived: Vec<u32>,
    /// Messages that are not complete.
    pending: u32,
    failed: bool,
}

#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) members: Vec<HostId>,
    pub(crate) pattern: CollectivePattern,
    /// Bytes of data of each member.
    pub(crate) bytes: u64,
    pub(crate) iterations: u32,
    /// First flow of the first job, and distance to that of the next job.
    pub(crate) first_flow: FlowId,
    pub(crate) flows_per_round: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CollectivePattern {
    /// Ring all-reduce: 2(n − 1) steps with 1/n of the data each.
    Ring,
    /// Recursive halving, then doubling: halves, quarters, … with ever nearer partners, and back.
    HalvingDoubling,
    /// All-to-all: 1/n of the data to each other member, at once.
    AllToAll,
}

impl Group {
    fn size(&self) -> usize {
        self.members.len()
    }

    /// Returns the steps of an iteration. After each, a member waits for data.
    fn steps(&self) -> u32 {
        match self.pattern {
            CollectivePattern::Ring => 2 * (self.size() as u32 - 1),
            CollectivePattern::HalvingDoubling => 2 * self.size().ilog2(),
            CollectivePattern::AllToAll => 1,
        }
    }

    /// Returns the messages that a member sends in an iteration.
    pub(crate) fn messages(&self) -> u64 {
        match self.pattern {
            CollectivePattern::Ring | CollectivePattern::HalvingDoubling => self.steps().into(),
            CollectivePattern::AllToAll => self.size() as u64 - 1,
        }
    }

    /// Returns the bytes of chunk `number` of n. All chunks together are the whole data.
    fn part(&self, number: usize) -> u32 {
        let (number, size) = (number as u128, self.size() as u128);
        let up_to = |number: u128| u128::from(self.bytes) * number / size;
        (up_to(number + 1) - up_to(number)) as u32
    }

    /// Returns how often the data are halved in a step of halving and doubling.
    fn halvings(&self, step: u32) -> u32 {
        let half = self.steps() / 2;
        if step < half { step + 1 } else { 2 * half - step }
    }

    fn partner(&self, rank: usize, step: u32) -> usize {
        rank ^ (self.size() >> self.halvings(step))
    }
}

impl Collective {
    pub(crate) fn new(group: Arc<Group>, rank: usize, start: Time) -> Self {
        let arrived = vec![0; group.size()];
        Self { group, rank, start, iteration: 0, step: 0, started: false, arrived, pending: 0, failed: false }
    }

    /// Sends all steps whose input data have arrived.
    fn send_ready_steps(&mut self, actions: &mut Vec<Action>) {
        while self.started && !self.is_done() && self.has_data() {
            if self.step < self.group.steps() {
                self.send(actions);
                self.step += 1;
            } else if self.pending == 0 {
                (self.iteration, self.step) = (self.iteration + 1, 0);
            } else {
                return;
            }
        }
    }

    /// Returns whether the data of the previous step have arrived; after the last step, all data.
    fn has_data(&self) -> bool {
        let Some(last) = self.step.checked_sub(1) else { return true };
        let (size, before) = (self.group.size(), self.iteration);
        match self.group.pattern {
            CollectivePattern::Ring => {
                let previous = (self.rank + size - 1) % size;
                self.arrived[previous] > before * self.group.steps() + last
            }
            CollectivePattern::HalvingDoubling => {
                // Each partner sends once in the halving phase and once in the doubling phase.
                let is_back = u32::from(last >= self.group.steps() / 2);
                self.arrived[self.group.partner(self.rank, last)] > before * 2 + is_back
            }
            CollectivePattern::AllToAll => {
                let has_come = |member: usize| member == self.rank || self.arrived[member] > before;
                (0..size).all(has_come)
            }
        }
    }

    fn send(&mut self, actions: &mut Vec<Action>) {
        let (size, rank, step) = (self.group.size(), self.rank, self.step);
        match self.group.pattern {
            CollectivePattern::Ring => {
                // Member p starts with chunk p and then forwards the chunk that it received last.
                let part = (rank + 2 * size - step as usize) % size;
                self.post((rank + 1) % size, self.group.part(part), step.into(), actions);
            }
            CollectivePattern::HalvingDoubling => {
                let bytes = self.group.bytes.div_ceil(1 << self.group.halvings(step)) as u32;
                self.post(self.group.partner(rank, step), bytes, step.into(), actions);
            }
            CollectivePattern::AllToAll => {
                for distance in 1..size {
                    let to = (rank + distance) % size;
                    self.post(to, self.group.part(to), distance as u64 - 1, actions);
                }
            }
        }
    }

    fn post(&mut self, to: usize, bytes: u32, message: u64, actions: &mut Vec<Action>) {
        let group = &self.group;
        let job = group.first_flow.0 + u64::from(self.iteration) * group.flows_per_round;
        let flow = FlowId(job + self.rank as u64 * group.messages() + message);
        self.pending += 1;
        actions.push(Action::Post(Post { dst: group.members[to], bytes, flow: Some(flow), ends_flow: true }));
    }
}

impl Application for Collective {
    fn next_poll(&self) -> Time {
        if self.started { Time::MAX } else { self.start }
    }

    fn poll(&mut self, now: Time, actions: &mut Vec<Action>) {
        if !self.started && now >= self.start {
            self.started = true;
            self.send_ready_steps(actions);
        }
    }

    fn on_completion(&mut self, _now: Time, done: MessageResult, actions: &mut Vec<Action>) {
        self.pending -= 1;
        self.failed |= done.outcome != FlowOutcome::Finished;
        self.send_ready_steps(actions);
    }

    fn on_receive(&mut self, _now: Time, from: HostId, actions: &mut Vec<Action>) {
        if let Some(member) = self.group.members.iter().position(|member| *member == from) {
            self.arrived[member] += 1;
            self.send_ready_steps(actions);
        }
    }

    fn is_done(&self) -> bool {
        self.failed || self.iteration == self.group.iterations
    }

    /// Its messages always share connections among themselves, so that they arrive in the order of posts.
    fn shares_connections(&self, _per_pair: bool) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Runs a group without a network: messages complete and arrive in the order of posts, or newest first.
    fn play(
        pattern: CollectivePattern,
        size: usize,
        iterations: u32,
        newest_first: bool,
    ) -> Vec<(u64, HostId, HostId, u32)> {
        let group = Arc::new(Group {
            members: (0..size as u32).map(|host| HostId(host * 3)).collect(),
            pattern,
            bytes: 1_001,
            iterations,
            first_flow: FlowId(1_000),
            flows_per_round: 1_000,
        });
        let mut members: Vec<_> =
            (0..size).map(|rank| Collective::new(Arc::clone(&group), rank, Time::ZERO)).collect();
        let mut sent = Vec::new();
        let mut under_way: VecDeque<(usize, usize)> = VecDeque::new();
        let mut actions = Vec::new();
        for (rank, member) in members.iter_mut().enumerate() {
            member.poll(Time::ZERO, &mut actions);
            note(&mut actions, rank, &mut sent, &mut under_way);
        }
        while let Some((from, to)) = if newest_first { under_way.pop_back() } else { under_way.pop_front() } {
            members[to].on_receive(Time::ZERO, HostId(from as u32 * 3), &mut actions);
            note(&mut actions, to, &mut sent, &mut under_way);
            members[from].on_completion(
                Time::ZERO,
                MessageResult::unfinished(FlowOutcome::Finished),
                &mut actions,
            );
            note(&mut actions, from, &mut sent, &mut under_way);
        }
        assert!(members.iter().all(Collective::is_done), "{pattern:?} of {size}");
        sent
    }

    fn note(
        actions: &mut Vec<Action>,
        from: usize,
        sent: &mut Vec<(u64, HostId, HostId, u32)>,
        under_way: &mut VecDeque<(usize, usize)>,
    ) {
        for action in actions.drain(..) {
            let Action::Post(post) = action else { panic!("a member only posts messages") };
            sent.push((post.flow.unwrap().0, HostId(from as u32 * 3), post.dst, post.bytes));
            under_way.push_back((from, post.dst.index() / 3));
        }
    }

    #[test]
    fn every_member_sends_its_messages_and_flow_numbers_are_unique() {
        for newest_first in [false, true] {
            for (pattern, size, messages, bytes) in [
                (CollectivePattern::Ring, 5, 8, 8 * 1_001),
                (CollectivePattern::Ring, 2, 2, 2 * 1_001),
                (CollectivePattern::HalvingDoubling, 8, 6, 8 * 2 * (501 + 251 + 126)),
                (CollectivePattern::HalvingDoubling, 2, 2, 2 * 2 * 501),
                (CollectivePattern::AllToAll, 5, 4, 4 * 1_001),
            ] {
                let mut sent = play(pattern, size, 3, newest_first);
                sent.sort_unstable();
                sent.dedup_by_key(|message| message.0);
                assert_eq!(sent.len() as u64, 3 * size as u64 * messages, "{pattern:?}");
                assert!(
                    sent.iter().all(|(flow, ..)| *flow >= 1_000 && flow % 1_000 < size as u64 * messages)
                );
                // In a ring every chunk visits all members but one, twice. In an all-to-all each member keeps
                // its own chunk.
                let all: u64 = sent.iter().map(|message| u64::from(message.3)).sum();
                assert_eq!(all, 3 * bytes, "{pattern:?}");
            }
        }
    }

    #[test]
    fn a_ring_member_waits_for_its_predecessor() {
        let group = Arc::new(Group {
            members: vec![HostId(0), HostId(1), HostId(2)],
            pattern: CollectivePattern::Ring,
            bytes: 300,
            iterations: 1,
            first_flow: FlowId(0),
            flows_per_round: 12,
        });
        let mut member = Collective::new(group, 1, Time::from_ns(5));
        let mut actions = Vec::new();
        assert_eq!(member.next_poll(), Time::from_ns(5));
        member.poll(Time::from_ns(5), &mut actions);
        member.on_receive(Time::ZERO, HostId(2), &mut actions);
        assert_eq!(actions.len(), 1, "it waits for data of the previous member");
        member.on_receive(Time::ZERO, HostId(0), &mut actions);
        assert_eq!(actions.len(), 2);
        (0..2).for_each(|_| member.on_receive(Time::ZERO, HostId(0), &mut actions));
        assert_eq!(actions.len(), 4, "early data count");
        assert!(!member.is_done());
        member.on_receive(Time::ZERO, HostId(0), &mut actions);
        (0..4).for_each(|_| {
            member.on_completion(Time::ZERO, MessageResult::unfinished(FlowOutcome::Finished), &mut actions);
        });
        assert!(member.is_done() && actions.len() == 4);
    }

    #[test]
    fn a_failed_connection_ends_the_collective() {
        let sent = |outcome| {
            let group = Arc::new(Group {
                members: vec![HostId(0), HostId(1)],
                pattern: CollectivePattern::AllToAll,
                bytes: 300,
                iterations: 2,
                first_flow: FlowId(0),
                flows_per_round: 2,
            });
            let (mut member, mut actions) = (Collective::new(group, 1, Time::ZERO), Vec::new());
            member.poll(Time::ZERO, &mut actions);
            member.on_completion(Time::ZERO, MessageResult::unfinished(outcome), &mut actions);
            member.on_receive(Time::ZERO, HostId(0), &mut actions);
            (actions.len(), member.is_done())
        };
        assert_eq!(sent(FlowOutcome::Finished), (2, false));
        assert_eq!(sent(FlowOutcome::RetryExceeded), (1, true));
    }
}
