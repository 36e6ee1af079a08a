//! Random work in both directions over a wire that loses, doubles, reorders and corrupts: every byte is compared.

use wiremend_peer::{Access, Event, PairId, Post, RegionId, Settings, Slice};
use wiremend_proto::engine::{Op, Status};
use wiremend_proto::mend::{Dummies, MendConfig};
use wiremend_proto::rc::Config;
use wiremend_testkit::Random;
use wiremend_units::Span;

use crate::duo::{A, B, Duo, Faults, config, pattern, settings};

const MESSAGES: u64 = 40;
const LEN_MAX: u64 = 3000;
const PAIRS: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Expected {
    len: usize,
    /// Where the bytes must be: end and offset in its arena.
    end: usize,
    offset: usize,
    message: u64,
}

/// One region per end, in which each message has its place twice: where it comes from, and where it goes to.
#[test]
fn every_byte_arrives_once_whatever_the_wire_does() {
    let mut losses = 0;
    for seed in 0..120 {
        losses += transfer(seed, None).retransmissions();
    }
    assert!(losses > 1000, "only {losses} retransmissions were needed");
}

/// As many frames as `WIREMEND_SOAK_FRAMES` says, with 1 % of them lost, doubled and late: `cargo xtask soak peer`.
#[test]
#[ignore = "takes as long as it is told to"]
#[expect(clippy::disallowed_methods, reason = "a test has no arguments")]
fn soak() {
    const PERCENT: u32 = 10_000;
    let wanted = std::env::var("WIREMEND_SOAK_FRAMES").map_or(1_000_000, |text| text.parse().unwrap());
    let faults = Faults { loss: PERCENT, duplicate: PERCENT, reorder: PERCENT, corrupt: 0 };
    let (mut frames, mut resent) = (0, 0);
    let mut seed = 1 << 32;
    while frames < wanted {
        let run = transfer(seed, Some(faults));
        frames += run.duo.sent.len() as u64;
        resent += run.retransmissions();
        seed += 1;
        if seed.is_multiple_of(20_000) {
            println!("{frames} frames of {wanted}");
        }
    }
    println!("{frames} frames, {} seeds, {resent} packets sent again: every byte is right", seed - (1 << 32));
}

/// A run, and what must be true in the end.
struct Run {
    duo: Duo,
    random: Random,
    pairs: Vec<[PairId; 2]>,
    regions: [RegionId; 2],
    expected: Vec<Expected>,
    /// Sum of the additions at each end, and SENDs that it gets.
    additions: [u64; 2],
    sends: [u64; 2],
}

/// Sources, then targets; a counter follows.
const ARENA: u64 = MESSAGES * LEN_MAX;

/// Runs a seed, with its own faults or these.
fn transfer(seed: u64, faults: Option<Faults>) -> Run {
    let mut run = Run::new(seed, faults);
    for message in 0..MESSAGES {
        run.post(message);
        let pause = run.random.below(20);
        run.duo.run(Span::from_us(pause));
    }
    assert!(run.duo.run(Span::from_ms(10_000)), "seed {seed}: it does not end");
    check(seed, &run.duo);
    run.check_memory(seed);
    run
}

impl Run {
    fn new(seed: u64, faults: Option<Faults>) -> Self {
        let mut random = Random::new(seed);
        let ppm = |random: &mut Random| random.pick(&[0, 0, 10_000, 60_000]);
        let drawn = Faults {
            loss: ppm(&mut random),
            duplicate: ppm(&mut random),
            reorder: ppm(&mut random),
            corrupt: ppm(&mut random),
        };
        let faults = faults.unwrap_or(drawn);
        let config = random_config(&mut random);
        let copies = Settings {
            nak_copies: random.below(3) as u8,
            resend_copies: random.below(3) as u8,
            seed: seed as u32,
            ..settings()
        };
        let mut duo = Duo::new([copies; 2], seed).faults(faults);
        let mut pairs = Vec::new();
        for _ in 0..PAIRS {
            let first = [random.draw() as u32 & 0xFF_FFFF, 0xFF_FFF8];
            pairs.push(duo.connect(&config, [Access::ALL; 2], first));
        }
        let regions = [A, B].map(|end| duo.ends[end].register(2 * ARENA + 8, Access::ALL));
        Self { duo, random, pairs, regions, expected: Vec::new(), additions: [0; 2], sends: [0; 2] }
    }

    /// Posts a message at any end, on any queue pair.
    fn post(&mut self, message: u64) {
        let Self { duo, random, regions, .. } = self;
        let end = random.below(2) as usize;
        let pair = self.pairs[random.below(PAIRS as u64) as usize];
        let op = random.pick(&[Op::Send, Op::Write, Op::Read, Op::FetchAdd]);
        let len = if op == Op::FetchAdd { 8 } else { random.pick(&[0, 1, 256, 300, 1024, LEN_MAX]) };
        let (source, target) = (message * LEN_MAX, ARENA + message * LEN_MAX);
        let (address, key) = duo.ends[1 - end].address_and_key(regions[1 - end]);
        let slice = |end: usize, offset| Slice { region: regions[end], offset, len: len as u32 };
        let fill = |memory: &mut [u8]| {
            let bytes = (0..len as usize).map(|at| pattern(message, at));
            memory[source as usize..].iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
        };
        let (local, address, arrives) = match op {
            Op::Read => (slice(end, target), address + source, end),
            Op::FetchAdd => (slice(end, target), address + 2 * ARENA, end),
            _ => (slice(end, source), address + target, 1 - end),
        };
        match op {
            Op::Read => fill(duo.ends[1 - end].memory_mut(regions[1 - end])),
            Op::FetchAdd => self.additions[1 - end] += message,
            _ => fill(duo.ends[end].memory_mut(regions[end])),
        }
        if op == Op::Send {
            duo.ends[1 - end].post_receive(pair[1 - end], message, slice(1 - end, target)).unwrap();
            self.sends[1 - end] += 1;
        }
        if op != Op::FetchAdd {
            let (len, offset) = (len as usize, target as usize);
            self.expected.push(Expected { len, end: arrives, offset, message });
        }
        let operands = [message, 0];
        duo.post(end, pair[end], Post { id: message, op, local, address, key, imm: None, operands });
    }

    fn check_memory(&self, seed: u64) {
        for end in [A, B] {
            let memory = self.duo.ends[end].memory(self.regions[end]);
            let sum = &memory[2 * ARENA as usize..];
            assert_eq!(u64::from_ne_bytes(sum.try_into().unwrap()), self.additions[end], "seed {seed}");
            let received = |event: &&Event| matches!(event, Event::Received { .. });
            let received = self.duo.events[end].iter().filter(received).count();
            assert_eq!(received as u64, self.sends[end], "seed {seed}");
            for wanted in self.expected.iter().filter(|wanted| wanted.end == end) {
                let found = &memory[wanted.offset..][..wanted.len];
                let right = (0..wanted.len).all(|at| found[at] == pattern(wanted.message, at));
                assert!(right, "seed {seed}: {wanted:?}");
            }
        }
    }

    fn retransmissions(&self) -> u64 {
        let counters = |end: usize| {
            self.pairs.iter().map(move |pair| self.duo.ends[end].pair_counters(pair[end]).unwrap())
        };
        [A, B].into_iter().flat_map(counters).map(|counters| counters.requester.retransmitted_packets).sum()
    }
}

fn random_config(random: &mut Random) -> Config {
    let dummies =
        Dummies { count: random.below(3) as u8, write_denied: random.below(2) == 0, ..Dummies::default() };
    Config {
        mend: MendConfig { dummies, tail_copies: random.below(2) as u8, ..MendConfig::default() },
        window: random.pick(&[1, 8, 128]),
        ack_every: random.pick(&[1, 4, 64]),
        reads_max: random.pick(&[1, 4]),
        flow_control: random.below(2) == 0,
        retry_count: Config::RETRY_INFINITE,
        ..config()
    }
}

/// Each message has completed once and with success.
fn check(seed: u64, duo: &Duo) {
    let mut completed: Vec<u64> = Vec::new();
    for event in duo.events.iter().flatten() {
        match event {
            Event::Completed { id, status, .. } => {
                assert_eq!(*status, Status::Success, "seed {seed}: {event:?}");
                completed.push(*id);
            }
            Event::Refused { .. } => panic!("seed {seed}: {event:?}"),
            Event::Received { .. } | Event::Expired { .. } => {}
        }
    }
    completed.sort_unstable();
    assert_eq!(completed, (0..MESSAGES).collect::<Vec<_>>(), "seed {seed}");
}
