//! Forward error correction: all loss patterns of small blocks, timers, and the remaining loss.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use wiremend_proto::fec::{Code, Config, DeliveryOrder, Disposal, Endpoint, FecHeader, Transmit};
use wiremend_proto::link::QueueHead;
use wiremend_units::{Bytes, Span, Time, mix};

/// A frame is sent every microsecond; blocks close after this time.
const FLUSH: Span = Span::from_us(100);
/// Number of the first frame, close to the wrap.
const FIRST: u16 = u16::MAX - 7;

/// Two blocks with every combination of losses, between two without: a frame is lost only if its block lost
/// more than its parities. All others are delivered once and in order, and losses are counted.
#[test]
fn every_loss_pattern_of_two_blocks() {
    let mut patterns = 0;
    for (data, parities) in (1..=5).flat_map(|data| [(data, 1), (data, 2)]) {
        let length = data + parities;
        for pattern in 0_u32..1 << (2 * length) {
            let is_lost = |sent: u64| {
                let position = sent.wrapping_sub(u64::from(length));
                position < 2 * u64::from(length) && pattern >> position & 1 == 1
            };
            let survivors = survivors(data, parities, pattern);
            for order in [DeliveryOrder::InOrder, DeliveryOrder::OnArrival] {
                let mut link = Link::new(code(data, parities), order);
                link.send(4 * u64::from(data), is_lost);
                let what = format!("({data},{parities}) {pattern:b} {order:?}");
                link.check_once(&what);
                let mut delivered = link.delivered.clone();
                if order == DeliveryOrder::OnArrival {
                    delivered.sort_unstable();
                }
                assert_eq!(delivered, survivors, "{what}");
                let counters = link.rx.counters();
                let lost = 4 * u64::from(data) - survivors.len() as u64;
                assert_eq!((counters.lost, counters.held, counters.given_up), (lost, 0, 0), "{what}");
                assert_eq!(counters.arrived + counters.recovered, survivors.len() as u64, "{what}");
                assert!(counters.held_max < u64::from(data), "{what}");
                assert_eq!(counters.restarts + counters.malformed + counters.late, 0, "{what}");
            }
            patterns += 1;
        }
    }
    assert_eq!(patterns, 27_280, "4^(k + h), over k from 1 to 5 and h of 1 and 2");
}

/// Without a next block the timers end every wait.
#[test]
fn no_frame_waits_for_ever() {
    for pattern in 0_u32..1 << 7 {
        let mut link = Link::new(code(5, 2), DeliveryOrder::InOrder);
        link.send(5, |sent| pattern >> sent & 1 == 1);
        link.idle(Span::from_ms(1));
        let came = (0..5).filter(|frame| pattern >> frame & 1 == 0).count();
        let all = pattern.count_ones() <= 2 || came == 5;
        assert_eq!(link.delivered.len(), if all { 5 } else { came }, "{pattern:07b}");
        assert!(link.delivered.is_sorted());
        assert_eq!(link.rx.counters().held, 0);
        assert_eq!((link.tx.next_timeout(), link.rx.next_timeout()), (None, None));
        assert_eq!(link.kept, BTreeSet::new(), "{pattern:07b}");
    }
}

/// Frames behind a loss wait only for the parity; those before it do not wait.
#[test]
fn frames_wait_only_behind_a_loss_in_their_block() {
    let mut link = Link::new(code(5, 1), DeliveryOrder::InOrder);
    link.send(4, |sent| sent == 2);
    assert_eq!(link.delivered, [0, 1]);
    link.send(1, |_| false);
    assert_eq!(link.delivered, [0, 1, 2, 3, 4], "the parity follows the fifth frame at once");

    // Two losses are too many for one parity, so frames do not wait.
    let mut link = Link::new(code(5, 1), DeliveryOrder::InOrder);
    link.send(4, |sent| sent == 0 || sent == 2);
    assert_eq!(link.delivered, [1, 3]);

    // As in Wharf: frames are delivered on arrival, restored frames later.
    let mut link = Link::new(code(5, 1), DeliveryOrder::OnArrival);
    link.send(5, |sent| sent == 2);
    assert_eq!(link.delivered, [0, 1, 3, 4, 2]);
}

#[test]
fn short_block_is_closed_in_time() {
    let mut link = Link::new(Code::WHARF_25_1, DeliveryOrder::InOrder);
    link.send(3, |sent| sent == 1);
    assert_eq!((link.delivered.as_slice(), link.tx.counters().parities), (&[0][..], 0));
    let due = link.tx.next_timeout().unwrap();
    assert_eq!(due, Time::ZERO.saturating_add(FLUSH), "from its first frame on");
    link.idle(FLUSH);
    assert_eq!(link.delivered, [0, 1, 2]);
    let counters = link.tx.counters();
    assert_eq!((counters.parities, counters.blocks, counters.short_blocks), (1, 1, 1));
    assert_eq!(link.rx.counters().recovered, 1);
    // The next block continues the numbers.
    link.send(25, |sent| sent == 7);
    assert!(link.delivered.iter().copied().eq(0..28));
    assert_eq!(link.tx.counters().short_blocks, 1);
}

/// All parities of a short block are lost: the receiver's timer ends the wait, and the next block shows what
/// was lost.
#[test]
fn lost_flush_is_given_up() {
    let mut link = Link::new(Code::WHARF_5_1, DeliveryOrder::InOrder);
    link.send(2, |sent| sent == 0);
    assert_eq!(link.delivered, []);
    link.lossy_idle(FLUSH);
    assert_eq!(link.delivered, [], "the parity may still arrive");
    link.idle(FLUSH);
    assert_eq!((link.delivered.as_slice(), link.rx.counters().given_up), (&[1][..], 1));
    assert_eq!(link.rx.counters().lost, 0, "the number of frames is unknown");
    link.send(1, |_| false);
    assert_eq!((link.delivered.as_slice(), link.rx.counters().lost), (&[1, 2][..], 1));
}

#[test]
fn lost_blocks_are_counted_by_their_numbers() {
    let mut link = Link::new(Code::WHARF_5_1, DeliveryOrder::InOrder);
    link.send(20, |sent| (4..18).contains(&sent));
    assert_eq!(link.rx.counters().lost, 20 - link.delivered.len() as u64);
    assert_eq!(link.delivered, [0, 1, 2, 3, 15, 16, 17, 18, 19]);
}

#[test]
fn dormant_end_adds_no_frames_and_protection_ends_with_a_block() {
    let config = Config::new(Code::WHARF_5_1, FLUSH).unwrap();
    let mut end = Endpoint::<u32>::new(config);
    assert_eq!(end.poll_transmit(Time::ZERO, Some(HEAD)), Some(Transmit::Plain));
    assert_eq!((end.poll_transmit(Time::ZERO, None), end.next_timeout(), end.poll()), (None, None, None));

    let mut link = Link::new(Code::WHARF_5_1, DeliveryOrder::InOrder);
    link.send(3, |sent| sent == 1);
    link.tx.deactivate();
    assert!(link.tx.is_active(), "until the parity has left");
    link.send(2, |_| false);
    assert!(!link.tx.is_active());
    assert_eq!(link.delivered, [0, 1, 2, 3, 4]);
    assert_eq!(link.tx.counters().protected, 3);
    // Frames without a header end the wait for missing frames.
    link.tx.activate(1_000);
    link.send(2, |sent| sent == 6);
    link.tx.deactivate();
    link.send(1, |sent| sent == 8);
    assert_eq!(link.delivered, [0, 1, 2, 3, 4, 6, 7]);
    assert_eq!(link.rx.counters().lost, 1);
}

/// A restarted sender with new numbers is neither a large gap nor a duplicate.
#[test]
fn restart_differs_from_a_gap() {
    let mut link = Link::new(Code::WHARF_5_1, DeliveryOrder::InOrder);
    link.send(7, |_| false);
    for first in [FIRST.wrapping_add(5), 30_000] {
        let before = link.delivered.len();
        link.restart(first);
        link.send(5, |_| false);
        assert_eq!(link.delivered.len(), before + 5);
    }
    assert_eq!((link.rx.counters().restarts, link.rx.counters().lost), (2, 0));
}

/// Restored frames that were not requested, repeated or late are dropped.
#[test]
fn only_requested_frames_are_taken_from_the_decoder() {
    let mut end = Endpoint::new(Config::new(code(3, 1), FLUSH).unwrap());
    let data = |block, index| FecHeader::Data { block, index, parities: 1 };
    end.on_signal(Time::ZERO, data(0, 0), Some(0));
    end.on_recovered(Time::ZERO, 0, 1, 901);
    end.on_signal(Time::ZERO, data(0, 2), Some(2));
    end.on_signal(Time::ZERO, FecHeader::Parity { block: 0, index: 3, data_count: 3, parities: 1 }, None);
    end.on_recovered(Time::ZERO, 0, 0, 902);
    end.on_recovered(Time::ZERO, 0, 3, 903);
    end.on_recovered(Time::ZERO, 3, 1, 904);
    end.on_recovered(Time::ZERO, 0, 1, 1);
    end.on_recovered(Time::ZERO, 0, 1, 905);
    end.on_signal(Time::ZERO, data(3, 0), Some(3));
    end.on_recovered(Time::ZERO, 0, 1, 906);
    let (mut delivered, mut discarded) = (Vec::new(), Vec::new());
    while let Some(disposal) = end.poll() {
        match disposal {
            Disposal::Deliver(frame) => delivered.push(frame),
            Disposal::Discard(frame) => discarded.push(frame),
            Disposal::Recover { block, missing } => assert!(block == 0 && missing.iter().eq([1])),
            Disposal::BlockDone { block } => assert_eq!(block, 0),
            Disposal::Release(_) => panic!("no frame was sent"),
        }
    }
    assert_eq!((delivered, discarded), (vec![0, 1, 2, 3], (901..=906).collect()));
    assert_eq!((end.counters().recovered, end.counters().late, end.counters().lost), (1, 6, 0));
}

#[test]
fn each_block_has_its_own_timeout() {
    let mut end = Endpoint::new(Config::new(code(3, 1), FLUSH).unwrap());
    let at = |us| Time::ZERO.saturating_add(Span::from_us(us));
    let data = |block, index| FecHeader::Data { block, index, parities: 1 };
    end.on_signal(at(0), data(0, 1), Some(1));
    assert_eq!(end.next_timeout(), Some(at(200)));
    end.on_signal(at(150), data(3, 1), Some(4));
    assert_eq!(end.next_timeout(), Some(at(350)));
    end.on_timeout(at(200));
    assert_eq!((end.counters().given_up, end.counters().held), (0, 1));
    end.on_timeout(at(350));
    assert_eq!((end.counters().given_up, end.counters().held, end.next_timeout()), (1, 0, None));
}

/// Remaining loss: frames of blocks that lose more than h, p · P(at least h of the k + h − 1 others).
#[test]
fn remaining_loss_matches_the_closed_form() {
    for (code, loss, frames) in [
        (Code::WHARF_25_1, 0.01, 2_000_000_u64),
        (Code::WHARF_5_1, 0.03, 1_000_000),
        (code(5, 2), 0.1, 500_000),
        (code(50, 5), 0.05, 1_000_000),
    ] {
        let mut link = Link::new(code, DeliveryOrder::InOrder);
        let bound = (loss * 2_f64.powi(64)) as u64;
        link.send(frames, |sent| mix(mix(sent) ^ 0x99) < bound);
        let expected = residual(code, loss) * frames as f64;
        let lost = link.rx.counters().lost as f64;
        // A failed block loses at least h + 1 frames, so the variance is larger than binomial.
        let sigma = (expected * f64::from(code.parities() + 1)).sqrt();
        println!("{code} at {loss}: {lost} lost of {frames}, {expected:.1} expected");
        assert!((lost - expected).abs() < 4.0 * sigma, "{code} at {loss}: {lost}, not {expected}");
        assert_eq!(link.delivered.len() as u64 + link.rx.counters().lost, frames, "all other frames arrive");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Arbitrary headers neither panic nor lose or duplicate a handle.
    #[test]
    fn invalid_headers_do_no_harm(inputs in prop::collection::vec(input(), 0..80)) {
        let mut end = Endpoint::new(Config::new(Code::WHARF_5_1, FLUSH).unwrap());
        let mut back = Vec::new();
        for (handle, input) in inputs.iter().enumerate() {
            let now = Time::ZERO.saturating_add(Span::from_us(7 * handle as u64));
            match *input {
                Input::Data { block, index, parities } => {
                    end.on_signal(now, FecHeader::Data { block, index, parities }, Some(handle));
                }
                Input::Parity { block, index, data_count, parities } => {
                    end.on_signal(now, FecHeader::Parity { block, index, data_count, parities }, None);
                    back.push(handle);
                }
                Input::Recovered { block, index } => end.on_recovered(now, block, index, handle),
                Input::Plain => end.on_plain(handle),
            }
            if end.next_timeout().is_some_and(|time| time <= now) {
                end.on_timeout(now);
            }
        }
        end.on_plain(inputs.len());
        while let Some(disposal) = end.poll() {
            match disposal {
                Disposal::Deliver(handle) | Disposal::Discard(handle) => back.push(handle),
                Disposal::Release(_) => prop_assert!(false, "no frame was sent"),
                Disposal::Recover { .. } | Disposal::BlockDone { .. } => {}
            }
        }
        back.sort_unstable();
        prop_assert!(back.iter().copied().eq(0..=inputs.len()), "{back:?}");
        prop_assert_eq!(end.counters().held, 0);
    }
}

const HEAD: QueueHead = QueueHead { len: Bytes::new(1518), ordered: true };

fn code(data: u16, parities: u16) -> Code {
    Code::new(data, parities).unwrap()
}

/// Frames of four blocks that must be delivered if the middle two lose what the pattern says.
fn survivors(data: u16, parities: u16, pattern: u32) -> Vec<u32> {
    let length = u32::from(data + parities);
    let of_block = |block: u32| {
        let lost = if block == 1 || block == 2 {
            pattern >> ((block - 1) * length) & ((1 << length) - 1)
        } else {
            0
        };
        let all = lost.count_ones() <= u32::from(parities);
        let data = u32::from(data);
        (0..data).filter(move |frame| all || lost >> frame & 1 == 0).map(move |frame| block * data + frame)
    };
    (0..4).flat_map(of_block).collect()
}

/// p · P(at least h of the k + h − 1 others are lost).
fn residual(code: Code, loss: f64) -> f64 {
    let others = i32::from(code.data() + code.parities()) - 1;
    let mut chance = (1.0 - loss).powi(others);
    let mut fewer = 0.0;
    for lost in 0..i32::from(code.parities()) {
        fewer += chance;
        chance *= f64::from(others - lost) / f64::from(lost + 1) * loss / (1.0 - loss);
    }
    loss * (1.0 - fewer)
}

/// Two ends and a wire on a clock. The host knows every frame that was sent, as a simulator does.
struct Link {
    now: Time,
    tx: Endpoint<u32>,
    rx: Endpoint<u32>,
    next_frame: u32,
    /// Frames and parities sent.
    sent: u64,
    /// Frames of each block: what a decoder would restore.
    blocks: BTreeMap<u16, Vec<u32>>,
    kept: BTreeSet<u32>,
    delivered: Vec<u32>,
    done: Vec<u16>,
    opened: Vec<u16>,
}

impl Link {
    fn new(code: Code, order: DeliveryOrder) -> Self {
        let config = Config::new(code, FLUSH).unwrap().with_order(order);
        let mut tx = Endpoint::new(config);
        tx.activate(FIRST);
        Self {
            now: Time::ZERO,
            tx,
            rx: Endpoint::new(config),
            next_frame: 0,
            sent: 0,
            blocks: BTreeMap::new(),
            kept: BTreeSet::new(),
            delivered: Vec::new(),
            done: Vec::new(),
            opened: Vec::new(),
        }
    }

    /// Sends frames with their parities.
    fn send(&mut self, frames: u64, is_lost: impl Fn(u64) -> bool) {
        let end = self.next_frame + frames as u32;
        while self.next_frame < end && self.transmit(true, &is_lost) {}
        while self.transmit(false, &is_lost) {}
    }

    fn idle(&mut self, span: Span) {
        self.wait(span, |_| false);
    }

    /// Waits; all frames sent meanwhile are lost.
    fn lossy_idle(&mut self, span: Span) {
        self.wait(span, |_| true);
    }

    fn restart(&mut self, first: u16) {
        self.tx = Endpoint::new(*self.tx.config());
        self.tx.activate(first);
        self.blocks.clear();
        self.kept.clear();
    }

    fn wait(&mut self, span: Span, is_lost: impl Fn(u64) -> bool) {
        let end = self.now.saturating_add(span);
        loop {
            let times = [self.tx.next_timeout(), self.rx.next_timeout()];
            let Some(next) = times.into_iter().flatten().min().filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            self.tx.on_timeout(self.now);
            self.rx.on_timeout(self.now);
            while self.transmit(false, &is_lost) {}
            self.drain();
        }
        self.now = end;
    }

    /// Returns whether the wire carried a frame or parity.
    fn transmit(&mut self, has_head: bool, is_lost: &impl Fn(u64) -> bool) -> bool {
        let Some(transmit) = self.tx.poll_transmit(self.now, has_head.then_some(HEAD)) else {
            return false;
        };
        let is_lost = is_lost(self.sent);
        let frame = self.next_frame;
        self.sent += 1;
        match transmit {
            Transmit::Plain => {
                self.next_frame += 1;
                if !is_lost {
                    self.rx.on_plain(frame);
                }
            }
            Transmit::New(signal) => {
                self.next_frame += 1;
                self.tx.on_sent(self.now, frame);
                self.kept.insert(frame);
                let FecHeader::Data { block, index, .. } = signal else { panic!("{signal:?}") };
                let frames = self.blocks.entry(block).or_default();
                if index == 0 {
                    // Block numbers wrap.
                    frames.clear();
                }
                assert_eq!(frames.len(), usize::from(index));
                frames.push(frame);
                self.arrive(signal, block, Some(frame), is_lost);
            }
            Transmit::Parity { signal, len } => {
                assert_eq!(len, Bytes::new(1520));
                let FecHeader::Parity { block, data_count, .. } = signal else { panic!("{signal:?}") };
                assert_eq!(self.tx.kept(), self.blocks[&block], "the frames behind the parity");
                assert_eq!(usize::from(data_count), self.tx.kept().len());
                self.arrive(signal, block, None, is_lost);
            }
        }
        self.drain();
        self.now = self.now.saturating_add(Span::from_us(1));
        true
    }

    fn arrive(&mut self, signal: FecHeader, block: u16, frame: Option<u32>, is_lost: bool) {
        if !is_lost {
            if self.opened.last() != Some(&block) {
                self.opened.push(block);
            }
            self.rx.on_signal(self.now, signal, frame);
        }
    }

    fn drain(&mut self) {
        while let Some(disposal) = self.tx.poll() {
            let Disposal::Release(frame) = disposal else { panic!("{disposal:?}") };
            assert!(self.kept.remove(&frame), "{frame} was not kept");
        }
        while let Some(disposal) = self.rx.poll() {
            match disposal {
                Disposal::Deliver(frame) => self.delivered.push(frame),
                Disposal::Recover { block, missing } => {
                    for index in missing.iter() {
                        let frame = self.blocks[&block][usize::from(index)];
                        self.rx.on_recovered(self.now, block, index, frame);
                    }
                }
                Disposal::BlockDone { block } => self.done.push(block),
                Disposal::Discard(_) | Disposal::Release(_) => panic!("{disposal:?}"),
            }
        }
    }

    /// Checks that every block except the last is done once, every copy is released, and no frame is
    /// delivered twice.
    fn check_once(&self, what: &str) {
        assert_eq!(self.done, self.opened[..self.opened.len() - 1], "{what}");
        assert!(self.kept.is_empty(), "{what}");
        let mut delivered = self.delivered.clone();
        delivered.sort_unstable();
        delivered.dedup();
        assert_eq!(delivered.len(), self.delivered.len(), "{what}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Input {
    Data { block: u16, index: u8, parities: u8 },
    Parity { block: u16, index: u8, data_count: u8, parities: u8 },
    Recovered { block: u16, index: u8 },
    Plain,
}

/// Few values, so that they coincide, and the ends of their ranges.
fn input() -> impl Strategy<Value = Input> {
    let block = prop_oneof![8 => 0_u16..3, 1 => any::<u16>()];
    let byte = || prop_oneof![8 => 0_u8..6, 1 => any::<u8>(), 1 => 250_u8..];
    (block, byte(), byte(), prop_oneof![4 => Just(1_u8), 3 => Just(2), 1 => any::<u8>()], 0..10).prop_map(
        |(block, index, data_count, parities, kind)| match kind {
            0..5 => Input::Data { block, index, parities },
            5..8 => {
                let index = if kind == 5 { index } else { data_count.saturating_add(index % 2) };
                Input::Parity { block, index, data_count, parities }
            }
            8 => Input::Recovered { block, index },
            _ => Input::Plain,
        },
    )
}
