//! How soon a receiver asks again when its requests were lost, in processes that sometimes wake up late.

use std::collections::VecDeque;

use wiremend_proto::link::{Config, Counters, Endpoint, LinkHeader, QueueHead, RecoveryDelays, Transmit};
use wiremend_testkit::Random;
use wiremend_units::{Bytes, Rate, Span, Time};

const LEN: Bytes = Bytes::new(1522);
const FRAME_GAP: Span = Span::from_us(50);
const STEP: Span = Span::from_us(1);
/// One way, and at most this much more.
const DELAY: Span = Span::from_us(10);
const JITTER_NS: u64 = 5000;
/// How long a process sleeps that is late.
const LATE: Span = Span::from_us(300);

/// What a link does, in a million frames or steps.
#[derive(Clone, Copy)]
struct Trouble {
    loss_ppm: u32,
    late_ppm: u32,
}

struct Pair {
    ends: [Endpoint<u32>; 2],
    /// Frames on their way to each end.
    wires: [VecDeque<(Time, LinkHeader, Option<u32>)>; 2],
    awake_at: [Time; 2],
    queued: u64,
    now: Time,
    random: Random,
}

impl Pair {
    fn new() -> Self {
        let link = Config::for_link(Rate::gbps(10), LEN, Span::from_ms(20));
        let config = Config {
            rtt_initial: Span::from_us(500),
            rtt_samples: 5,
            give_up: Some(Span::from_ms(20)),
            silence_max: Some(Span::from_ms(80)),
            pause_at: Some(Bytes::new(link.rx_bytes_max.get() / 2)),
            ..link
        };
        let mut ends = [0, 1].map(|_| Endpoint::new(config.clone()));
        for (end, epoch) in ends.iter_mut().zip(1..) {
            end.activate(Time::ZERO, epoch);
        }
        Self {
            ends,
            wires: [const { VecDeque::new() }; 2],
            awake_at: [Time::ZERO; 2],
            queued: 0,
            now: Time::ZERO,
            random: Random::new(5),
        }
    }

    /// The first end sends a frame every `FRAME_GAP`. `lost` decides on frames besides the random loss.
    fn run(&mut self, span: Span, trouble: Trouble, lost: &mut dyn FnMut(&LinkHeader) -> bool) {
        let until = self.now + span;
        let mut next_at = self.now;
        while self.now < until {
            if next_at <= self.now {
                next_at += FRAME_GAP;
                self.queued += 1;
            }
            self.step(trouble, lost);
        }
    }

    fn step(&mut self, trouble: Trouble, lost: &mut dyn FnMut(&LinkHeader) -> bool) {
        for end in 0..2 {
            if self.random.chance_ppm(trouble.late_ppm) {
                self.awake_at[end] = self.now + LATE;
            }
            if self.awake_at[end] <= self.now {
                self.turn(end, trouble, lost);
            }
        }
        self.now += STEP;
    }

    fn turn(&mut self, end: usize, trouble: Trouble, lost: &mut dyn FnMut(&LinkHeader) -> bool) {
        let (this, now) = (&mut self.ends[end], self.now);
        while let Some((_, header, frame)) = self.wires[end].pop_front_if(|(at, ..)| *at <= now) {
            this.on_signal(now, &header, frame.map(|frame| (frame, LEN)));
        }
        if this.next_timeout().is_some_and(|due| due <= now) {
            this.on_timeout(now);
        }
        loop {
            let head = (end == 0 && self.queued > 0).then_some(QueueHead { len: LEN, ordered: true });
            let (header, frame) = match this.poll_transmit(now, head) {
                None => break,
                Some(Transmit::Plain) => {
                    self.queued -= 1;
                    continue;
                }
                Some(Transmit::New(header)) => {
                    self.queued -= 1;
                    this.on_sent(now, 0);
                    (header, Some(0))
                }
                Some(Transmit::Retransmission(header, frame)) => (header, Some(frame)),
                Some(Transmit::Control(header)) => (header, None),
            };
            if self.random.chance_ppm(trouble.loss_ppm) || lost(&header) {
                continue;
            }
            let wire = &mut self.wires[1 - end];
            let at = now + DELAY + Span::from_ns(self.random.below(JITTER_NS));
            let behind = wire.back().map_or(at, |(last, ..)| at.max(*last));
            wire.push_back((behind, header, frame));
        }
        while this.poll().is_some() {}
    }

    fn counters(&self) -> &Counters {
        self.ends[1].counters()
    }

    fn delays(&self) -> &RecoveryDelays {
        self.ends[1].delays()
    }
}

const QUIET: Trouble = Trouble { loss_ppm: 0, late_ppm: 0 };
#[derive(Clone, Copy, PartialEq, Debug)]
enum Answers {
    Reports,
    Copies,
}

/// Both ways, with half of the jitter.
const ROUND_TRIP: Span = Span::from_us(25);

impl Pair {
    fn protected() -> Self {
        let mut pair = Self::new();
        pair.run(Span::from_ms(10), QUIET, &mut |_| false);
        assert!(pair.ends[0].is_active() && pair.delays().count() == 0);
        pair
    }

    /// Recovery time of the next frame, which is lost. For a round trip all first answers are lost too: reports,
    /// or copies.
    fn recovery_without_first(&mut self, answers: Answers) -> Span {
        let (count, sum) = (self.delays().count(), self.delays().sum());
        let (mut is_lost, mut until) = (false, None);
        self.queued = 1;
        for _ in 0..2000 {
            let now = self.now;
            self.step(QUIET, &mut |header| match header {
                LinkHeader::Data { retransmitted: false, .. } => !std::mem::replace(&mut is_lost, true),
                LinkHeader::Missing(_) if answers == Answers::Reports => {
                    now < *until.get_or_insert(now + ROUND_TRIP)
                }
                LinkHeader::Data { .. } if answers == Answers::Copies => {
                    now < *until.get_or_insert(now + ROUND_TRIP)
                }
                _ => false,
            });
        }
        assert_eq!(self.delays().count(), count + 1, "{:?}", self.counters());
        self.delays().sum() - sum
    }
}

/// The second report follows the round trip of the handshake, not the long one that is assumed for processes.
#[test]
fn first_recovery_is_patient_for_few_round_trips() {
    for answers in [Answers::Reports, Answers::Copies] {
        let took = Pair::protected().recovery_without_first(answers);
        assert!(took < ROUND_TRIP * 5, "{answers:?}: {took}");
    }
}

#[test]
fn recoveries_are_patient_for_few_round_trips_after_late_ones() {
    for late_ppm in [50, 200, 1000] {
        let mut pair = Pair::protected();
        pair.run(Span::from_ms(500), Trouble { loss_ppm: 10_000, late_ppm }, &mut |_| false);
        pair.run(Span::from_ms(5), QUIET, &mut |_| false);
        let took = pair.recovery_without_first(Answers::Reports);
        assert!(took < pair.delays().quantile_per_mille(900).unwrap().max(ROUND_TRIP) * 5, "{took}");
    }
}

#[test]
fn one_recovery_in_a_hundred_takes_few_round_trips() {
    for loss_ppm in [1000, 10_000, 100_000] {
        let mut pair = Pair::protected();
        pair.run(Span::from_ms(2000), Trouble { loss_ppm, late_ppm: 0 }, &mut |_| false);
        let p99 = pair.delays().quantile_per_mille(990).unwrap();
        assert!(p99 < ROUND_TRIP * 5 && pair.counters().lost == 0, "{loss_ppm}: {p99}");
    }
}
