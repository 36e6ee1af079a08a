//! Two ends of a protected link at line rate, with as little around them as can be: for measuring what they cost.

use std::collections::VecDeque;

use wiremend_proto::link::{Config, Counters, Disposal, Endpoint, Signal, Transmit, Waiting};
use wiremend_units::{Bytes, Span, Time};

/// Frames of one length, each behind the other, in one direction or both.
#[derive(Clone, Debug)]
pub struct LinkConveyor {
    now: Time,
    tick: Span,
    len: Bytes,
    ends: [Endpoint<u32>; 2],
    sends: [bool; 2],
    /// What is on its way from each end: a slot for every tick.
    wires: [VecDeque<Option<Passage>>; 2],
    /// Of what is numbered, one in so many is lost.
    loses_one_in: u64,
    carried: u64,
    delivered: u64,
}

type Passage = (Signal, Option<u32>);

impl LinkConveyor {
    /// Active ends, `delay_frames` apart. Of the frames, one in `loses_one_in` is lost.
    pub fn new(config: Config, delay_frames: usize, both_ways: bool, loses_one_in: u64) -> Self {
        let len = config.frame_bytes_max;
        let tick = config.rate.serialize(len + Bytes::new(20 + 10));
        let wire: VecDeque<_> = std::iter::repeat_n(None, delay_frames).collect();
        let ends = [Endpoint::new(config.clone()), Endpoint::new(config)];
        let mut conveyor = Self {
            now: Time::ZERO,
            tick,
            len,
            ends,
            sends: [true, both_ways],
            wires: [wire.clone(), wire],
            loses_one_in,
            carried: 0,
            delivered: 0,
        };
        conveyor.ends[0].activate(Time::ZERO, 1);
        if both_ways {
            conveyor.ends[1].activate(Time::ZERO, 2);
        }
        conveyor
    }

    /// Lets time pass until `count` more frames have been handed on.
    pub fn deliver(&mut self, count: u64) {
        let end = self.delivered + count;
        while self.delivered < end {
            self.now += self.tick;
            self.step(0, 1);
            self.step(1, 0);
        }
    }

    /// What an end has counted.
    pub fn counters(&self, end: usize) -> &Counters {
        self.ends[end].counters()
    }

    fn step(&mut self, from: usize, to: usize) {
        let now = self.now;
        let sender = &mut self.ends[from];
        let waiting = self.sends[from].then_some(Waiting { len: self.len, ordered: true });
        let leaves = match sender.poll_transmit(now, waiting) {
            Some(Transmit::Fresh(signal)) => {
                sender.on_sent(now, self.carried as u32);
                Some((signal, Some(self.carried as u32)))
            }
            Some(Transmit::Again(signal, frame)) => Some((signal, Some(frame))),
            Some(Transmit::Own(signal)) => Some((signal, None)),
            Some(Transmit::Plain) | None => None,
        };
        let numbered = leaves.is_some_and(|(_, frame)| frame.is_some());
        self.carried += u64::from(numbered);
        let lost = numbered && self.carried.is_multiple_of(self.loses_one_in);
        self.wires[from].push_back(leaves.filter(|_| !lost));
        self.dispose(from);
        let receiver = &mut self.ends[to];
        if let Some((signal, frame)) = self.wires[from].pop_front().flatten() {
            receiver.on_signal(now, &signal, frame.map(|frame| (frame, self.len)));
        }
        if receiver.next_timeout().is_some_and(|at| at <= now) {
            receiver.on_timeout(now);
        }
        self.dispose(to);
    }

    fn dispose(&mut self, end: usize) {
        while let Some(disposal) = self.ends[end].poll() {
            self.delivered += u64::from(matches!(disposal, Disposal::Deliver(_)));
        }
    }
}
