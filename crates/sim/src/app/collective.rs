//! A member of a group that does something together: it sends a step when it has the data of the step before.
//!
//! Messages from one member to another share a connection and come in order, so that counting them tells which they are.

use std::sync::Arc;

use wiremend_measure::Outcome;
use wiremend_units::{FlowId, HostId, Time};

use super::{Action, Application, Done, Post};

pub(crate) struct Collective {
    group: Arc<Group>,
    /// The member's place in its group.
    own: usize,
    start: Time,
    /// The iteration that it is in, and the step that it sends next.
    iteration: u32,
    step: u32,
    begun: bool,
    /// Messages that came from each member, in all iterations.
    arrived: Vec<u32>,
    /// Messages that are not yet done.
    pending: u32,
    broken: bool,
}

/// What all members of a group know.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) members: Vec<HostId>,
    pub(crate) dance: Dance,
    /// What each member has.
    pub(crate) bytes: u64,
    pub(crate) iterations: u32,
    /// The first flow of its first job, and how far its next job's is.
    pub(crate) first_flow: FlowId,
    pub(crate) flows_apart: u64,
}

/// Who sends what when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dance {
    /// Sums go round, then results: 2(n − 1) steps of a part of n.
    Ring,
    /// Halves, quarters, … with ever nearer partners, and the same way back.
    HalvingDoubling,
    /// A part of n to each other member, at once.
    AllToAll,
}

impl Group {
    fn size(&self) -> usize {
        self.members.len()
    }

    /// Steps of an iteration, after each of which a member waits for data.
    fn steps(&self) -> u32 {
        match self.dance {
            Dance::Ring => 2 * (self.size() as u32 - 1),
            Dance::HalvingDoubling => 2 * self.size().ilog2(),
            Dance::AllToAll => 1,
        }
    }

    /// Messages that a member sends in an iteration.
    pub(crate) fn messages(&self) -> u64 {
        match self.dance {
            Dance::Ring | Dance::HalvingDoubling => self.steps().into(),
            Dance::AllToAll => self.size() as u64 - 1,
        }
    }

    /// The n-th part of what a member has; all parts together are the whole.
    fn part(&self, number: usize) -> u32 {
        let (number, size) = (number as u128, self.size() as u128);
        let up_to = |number: u128| u128::from(self.bytes) * number / size;
        (up_to(number + 1) - up_to(number)) as u32
    }

    /// How many times data have been halved in a step of halving and doubling.
    fn halvings(&self, step: u32) -> u32 {
        let half = self.steps() / 2;
        if step < half { step + 1 } else { 2 * half - step }
    }

    fn partner(&self, own: usize, step: u32) -> usize {
        own ^ (self.size() >> self.halvings(step))
    }
}

impl Collective {
    pub(crate) fn new(group: Arc<Group>, own: usize, start: Time) -> Self {
        let arrived = vec![0; group.size()];
        Self { group, own, start, iteration: 0, step: 0, begun: false, arrived, pending: 0, broken: false }
    }

    /// Sends all steps for which the data are there.
    fn go_on(&mut self, actions: &mut Vec<Action>) {
        while self.begun && !self.is_done() && self.has_data() {
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

    /// Whether the data of the step before the next are there; after the last step, those of all.
    fn has_data(&self) -> bool {
        let Some(last) = self.step.checked_sub(1) else { return true };
        let (size, before) = (self.group.size(), self.iteration);
        match self.group.dance {
            Dance::Ring => {
                let previous = (self.own + size - 1) % size;
                self.arrived[previous] > before * self.group.steps() + last
            }
            Dance::HalvingDoubling => {
                // Each partner is met once on the way there and once on the way back.
                let is_back = u32::from(last >= self.group.steps() / 2);
                self.arrived[self.group.partner(self.own, last)] > before * 2 + is_back
            }
            Dance::AllToAll => {
                let has_come = |member: usize| member == self.own || self.arrived[member] > before;
                (0..size).all(has_come)
            }
        }
    }

    fn send(&mut self, actions: &mut Vec<Action>) {
        let (size, own, step) = (self.group.size(), self.own, self.step);
        match self.group.dance {
            Dance::Ring => {
                // Member p begins with its own part and passes on what it has just been sent.
                let part = (own + 2 * size - step as usize) % size;
                self.post((own + 1) % size, self.group.part(part), step.into(), actions);
            }
            Dance::HalvingDoubling => {
                let bytes = self.group.bytes.div_ceil(1 << self.group.halvings(step)) as u32;
                self.post(self.group.partner(own, step), bytes, step.into(), actions);
            }
            Dance::AllToAll => {
                for distance in 1..size {
                    let to = (own + distance) % size;
                    self.post(to, self.group.part(to), distance as u64 - 1, actions);
                }
            }
        }
    }

    fn post(&mut self, to: usize, bytes: u32, message: u64, actions: &mut Vec<Action>) {
        let group = &self.group;
        let job = group.first_flow.0 + u64::from(self.iteration) * group.flows_apart;
        let flow = FlowId(job + self.own as u64 * group.messages() + message);
        self.pending += 1;
        actions.push(Action::Post(Post { dst: group.members[to], bytes, flow: Some(flow), ends_flow: true }));
    }
}

impl Application for Collective {
    fn next_poll(&self) -> Time {
        if self.begun { Time::MAX } else { self.start }
    }

    fn poll(&mut self, now: Time, actions: &mut Vec<Action>) {
        if !self.begun && now >= self.start {
            self.begun = true;
            self.go_on(actions);
        }
    }

    fn on_completion(&mut self, _now: Time, done: Done, actions: &mut Vec<Action>) {
        self.pending -= 1;
        self.broken |= done.outcome != Outcome::Finished;
        self.go_on(actions);
    }

    fn on_receive(&mut self, _now: Time, from: HostId, actions: &mut Vec<Action>) {
        if let Some(member) = self.group.members.iter().position(|member| *member == from) {
            self.arrived[member] += 1;
            self.go_on(actions);
        }
    }

    fn is_done(&self) -> bool {
        self.broken || self.iteration == self.group.iterations
    }

    /// Its messages share connections in any case, so that they come in the order in which they were posted.
    fn shares_connections(&self, _per_pair: bool) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Runs a group by hand: messages are done and delivered in the order in which they were posted, or newest pair first.
    fn play(
        dance: Dance,
        size: usize,
        iterations: u32,
        newest_first: bool,
    ) -> Vec<(u64, HostId, HostId, u32)> {
        let group = Arc::new(Group {
            members: (0..size as u32).map(|host| HostId(host * 3)).collect(),
            dance,
            bytes: 1_001,
            iterations,
            first_flow: FlowId(1_000),
            flows_apart: 1_000,
        });
        let mut members: Vec<_> =
            (0..size).map(|own| Collective::new(Arc::clone(&group), own, Time::ZERO)).collect();
        let mut sent = Vec::new();
        let mut under_way: VecDeque<(usize, usize)> = VecDeque::new();
        let mut actions = Vec::new();
        for (own, member) in members.iter_mut().enumerate() {
            member.poll(Time::ZERO, &mut actions);
            note(&mut actions, own, &mut sent, &mut under_way);
        }
        while let Some((from, to)) = if newest_first { under_way.pop_back() } else { under_way.pop_front() } {
            members[to].on_receive(Time::ZERO, HostId(from as u32 * 3), &mut actions);
            note(&mut actions, to, &mut sent, &mut under_way);
            members[from].on_completion(Time::ZERO, Done::unfinished(Outcome::Finished), &mut actions);
            note(&mut actions, from, &mut sent, &mut under_way);
        }
        assert!(members.iter().all(Collective::is_done), "{dance:?} of {size}");
        sent
    }

    fn note(
        actions: &mut Vec<Action>,
        from: usize,
        sent: &mut Vec<(u64, HostId, HostId, u32)>,
        under_way: &mut VecDeque<(usize, usize)>,
    ) {
        for action in actions.drain(..) {
            let Action::Post(post) = action else { panic!("a member only posts") };
            sent.push((post.flow.unwrap().0, HostId(from as u32 * 3), post.dst, post.bytes));
            under_way.push_back((from, post.dst.index() / 3));
        }
    }

    #[test]
    fn every_member_sends_what_the_algorithm_says_and_flows_have_one_number_each() {
        for newest_first in [false, true] {
            for (dance, size, messages, bytes) in [
                (Dance::Ring, 5, 8, 8 * 1_001),
                (Dance::Ring, 2, 2, 2 * 1_001),
                (Dance::HalvingDoubling, 8, 6, 8 * 2 * (501 + 251 + 126)),
                (Dance::HalvingDoubling, 2, 2, 2 * 2 * 501),
                (Dance::AllToAll, 5, 4, 4 * 1_001),
            ] {
                let mut sent = play(dance, size, 3, newest_first);
                sent.sort_unstable();
                sent.dedup_by_key(|message| message.0);
                assert_eq!(sent.len() as u64, 3 * size as u64 * messages, "{dance:?}");
                assert!(
                    sent.iter().all(|(flow, ..)| *flow >= 1_000 && flow % 1_000 < size as u64 * messages)
                );
                // In a ring every part goes round all members but one, twice; of an exchange each keeps its own part.
                let all: u64 = sent.iter().map(|message| u64::from(message.3)).sum();
                assert_eq!(all, 3 * bytes, "{dance:?}");
            }
        }
    }

    #[test]
    fn a_member_of_a_ring_waits_for_the_one_before_it() {
        let group = Arc::new(Group {
            members: vec![HostId(0), HostId(1), HostId(2)],
            dance: Dance::Ring,
            bytes: 300,
            iterations: 1,
            first_flow: FlowId(0),
            flows_apart: 12,
        });
        let mut member = Collective::new(group, 1, Time::from_ns(5));
        let mut actions = Vec::new();
        assert_eq!(member.next_poll(), Time::from_ns(5));
        member.poll(Time::from_ns(5), &mut actions);
        member.on_receive(Time::ZERO, HostId(2), &mut actions);
        assert_eq!(actions.len(), 1, "data of another member are not those that it waits for");
        member.on_receive(Time::ZERO, HostId(0), &mut actions);
        assert_eq!(actions.len(), 2);
        (0..2).for_each(|_| member.on_receive(Time::ZERO, HostId(0), &mut actions));
        assert_eq!(actions.len(), 4, "what came early counts");
        assert!(!member.is_done());
        member.on_receive(Time::ZERO, HostId(0), &mut actions);
        (0..4).for_each(|_| {
            member.on_completion(Time::ZERO, Done::unfinished(Outcome::Finished), &mut actions);
        });
        assert!(member.is_done() && actions.len() == 4);
    }

    #[test]
    fn a_broken_connection_ends_it() {
        let sent = |outcome| {
            let group = Arc::new(Group {
                members: vec![HostId(0), HostId(1)],
                dance: Dance::AllToAll,
                bytes: 300,
                iterations: 2,
                first_flow: FlowId(0),
                flows_apart: 2,
            });
            let (mut member, mut actions) = (Collective::new(group, 1, Time::ZERO), Vec::new());
            member.poll(Time::ZERO, &mut actions);
            member.on_completion(Time::ZERO, Done::unfinished(outcome), &mut actions);
            member.on_receive(Time::ZERO, HostId(0), &mut actions);
            (actions.len(), member.is_done())
        };
        assert_eq!(sent(Outcome::Finished), (2, false));
        assert_eq!(sent(Outcome::RetryExceeded), (1, true));
    }
}
