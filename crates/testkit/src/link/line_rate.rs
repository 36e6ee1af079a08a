//! Two ends of a protected link at line rate, with minimal overhead, to measure their cost.

use std::collections::VecDeque;

use wiremend_proto::link::{Config, Counters, Disposal, Endpoint, LinkHeader, QueueHead, Transmit};
use wiremend_units::{Bytes, Span, Time};

/// Back-to-back frames of one length, in one direction or both.
#[derive(Clone, Debug)]
pub struct LineRateLink {
    now: Time,
    tick: Span,
    len: Bytes,
    ends: [Endpoint<u32>; 2],
    sends: [bool; 2],
    /// Frames in flight from each end: one slot per tick.
    wires: [VecDeque<Option<FrameOnWire>>; 2],
    /// Numbered frames per lost one.
    loses_one_in: u64,
    carried: u64,
    delivered: u64,
}

type FrameOnWire = (LinkHeader, Option<u32>);

impl LineRateLink {
    /// Two active ends, `delay_frames` apart. One in `loses_one_in` numbered frames is lost.
    pub fn new(config: Config, delay_frames: usize, both_ways: bool, loses_one_in: u64) -> Self {
        let len = config.frame_bytes_max;
        let tick = config.rate.serialize(len + Bytes::new(20 + 10));
        let wire: VecDeque<_> = std::iter::repeat_n(None, delay_frames).collect();
        let ends = [Endpoint::new(config.clone()), Endpoint::new(config)];
        let mut link = Self {
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
        link.ends[0].activate(Time::ZERO, 1);
        if both_ways {
            link.ends[1].activate(Time::ZERO, 2);
        }
        link
    }

    /// Advances time until `count` more frames are delivered.
    pub fn deliver(&mut self, count: u64) {
        let end = self.delivered + count;
        while self.delivered < end {
            self.now += self.tick;
            self.step(0, 1);
            self.step(1, 0);
        }
    }

    /// Counters of an end.
    pub fn counters(&self, end: usize) -> &Counters {
        self.ends[end].counters()
    }

    fn step(&mut self, from: usize, to: usize) {
        let now = self.now;
        let sender = &mut self.ends[from];
        let waiting = self.sends[from].then_some(QueueHead { len: self.len, ordered: true });
        let leaves = match sender.poll_transmit(now, waiting) {
            Some(Transmit::New(signal)) => {
                sender.on_sent(now, self.carried as u32);
                Some((signal, Some(self.carried as u32)))
            }
            Some(Transmit::Retransmission(signal, frame)) => Some((signal, Some(frame))),
            Some(Transmit::Control(signal)) => Some((signal, None)),
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
