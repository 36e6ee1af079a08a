//! Error correction over frames: every pattern of losses of small blocks, the clock, and the loss that remains.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use wiremend_proto::fec::{Code, Config, Disposal, Endpoint, Order, Signal, Transmit};
use wiremend_proto::link::Waiting;
use wiremend_units::{Bytes, Span, Time, mix};

/// A frame every microsecond; blocks close after this long.
const FLUSH: Span = Span::from_us(100);
/// The number of the first frame: near the end, so that numbers wrap.
const FIRST: u16 = u16::MAX - 7;

/// Two blocks that lose everything there is to lose, in every combination, between two that lose nothing: a frame is lost only
/// if more of its block were than there are parities, comes once, in its order, and is counted.
#[test]
fn every_pattern_of_losses_in_two_blocks() {
    let mut patterns = 0;
    for (data, parities) in (1..=5).flat_map(|data| [(data, 1), (data, 2)]) {
        let length = data + parities;
        for pattern in 0_u32..1 << (2 * length) {
            let is_lost = |sent: u64| {
                let place = sent.wrapping_sub(u64::from(length));
                place < 2 * u64::from(length) && pattern >> place & 1 == 1
            };
            let survivors = survivors(data, parities, pattern);
            for order in [Order::Kept, Order::AsTheyCome] {
                let mut link = Link::new(code(data, parities), order);
                link.send(4 * u64::from(data), is_lost);
                let what = format!("({data},{parities}) {pattern:b} {order:?}");
                link.check_once(&what);
                let mut delivered = link.delivered.clone();
                if order == Order::AsTheyCome {
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

/// Without a next block the clock ends every wait: the same patterns, once the wire is quiet.
#[test]
fn nothing_waits_for_ever() {
    for pattern in 0_u32..1 << 7 {
        let mut link = Link::new(code(5, 2), Order::Kept);
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

/// Frames behind a loss wait for the parity and no longer; those before it do not wait.
#[test]
fn frames_wait_only_behind_a_loss_and_only_for_the_block() {
    let mut link = Link::new(code(5, 1), Order::Kept);
    link.send(4, |sent| sent == 2);
    assert_eq!(link.delivered, [0, 1]);
    link.send(1, |_| false);
    assert_eq!(link.delivered, [0, 1, 2, 3, 4], "the parity follows the fifth frame at once");

    // Two losses are too many for one parity: no use in waiting for it.
    let mut link = Link::new(code(5, 1), Order::Kept);
    link.send(4, |sent| sent == 0 || sent == 2);
    assert_eq!(link.delivered, [1, 3]);

    // As Wharf does: what comes is handed on, and what is restored follows.
    let mut link = Link::new(code(5, 1), Order::AsTheyCome);
    link.send(5, |sent| sent == 2);
    assert_eq!(link.delivered, [0, 1, 3, 4, 2]);
}

#[test]
fn a_block_that_does_not_fill_up_is_closed_in_time() {
    let mut link = Link::new(Code::WHARF_25_1, Order::Kept);
    link.send(3, |sent| sent == 1);
    assert_eq!((link.delivered.as_slice(), link.tx.counters().parities), (&[0][..], 0));
    let due = link.tx.next_timeout().unwrap();
    assert_eq!(due, Time::ZERO.saturating_add(FLUSH), "since its first frame");
    link.idle(FLUSH);
    assert_eq!(link.delivered, [0, 1, 2]);
    let counters = link.tx.counters();
    assert_eq!((counters.parities, counters.blocks, counters.short_blocks), (1, 1, 1));
    assert_eq!(link.rx.counters().recovered, 1);
    // The next block goes on from there.
    link.send(25, |sent| sent == 7);
    assert!(link.delivered.iter().copied().eq(0..28));
    assert_eq!(link.tx.counters().short_blocks, 1);
}

/// All parities of a short block are lost: the clock of the receiver ends the wait, the next block tells what was lost.
#[test]
fn a_lost_flush_is_given_up() {
    let mut link = Link::new(Code::WHARF_5_1, Order::Kept);
    link.send(2, |sent| sent == 0);
    assert_eq!(link.delivered, []);
    link.lossy_idle(FLUSH);
    assert_eq!(link.delivered, [], "it may still be on its way");
    link.idle(FLUSH);
    assert_eq!((link.delivered.as_slice(), link.rx.counters().given_up), (&[1][..], 1));
    assert_eq!(link.rx.counters().lost, 0, "who knows how many there were");
    link.send(1, |_| false);
    assert_eq!((link.delivered.as_slice(), link.rx.counters().lost), (&[1, 2][..], 1));
}

#[test]
fn blocks_that_vanish_are_counted_by_their_numbers() {
    let mut link = Link::new(Code::WHARF_5_1, Order::Kept);
    link.send(20, |sent| (4..18).contains(&sent));
    assert_eq!(link.rx.counters().lost, 20 - link.delivered.len() as u64);
    assert_eq!(link.delivered, [0, 1, 2, 3, 15, 16, 17, 18, 19]);
}

#[test]
fn a_dormant_end_costs_nothing_and_a_block_ends_with_protection() {
    let config = Config::new(Code::WHARF_5_1, FLUSH).unwrap();
    let mut end = Endpoint::<u32>::new(config);
    assert_eq!(end.poll_transmit(Time::ZERO, Some(WAITING)), Some(Transmit::Plain));
    assert_eq!((end.poll_transmit(Time::ZERO, None), end.next_timeout(), end.poll()), (None, None, None));

    let mut link = Link::new(Code::WHARF_5_1, Order::Kept);
    link.send(3, |sent| sent == 1);
    link.tx.deactivate();
    assert!(link.tx.is_active(), "as long as there is a parity to send");
    link.send(2, |_| false);
    assert!(!link.tx.is_active());
    assert_eq!(link.delivered, [0, 1, 2, 3, 4]);
    assert_eq!(link.tx.counters().protected, 3);
    // Frames without a header end the wait for what is missing.
    link.tx.activate(1_000);
    link.send(2, |sent| sent == 6);
    link.tx.deactivate();
    link.send(1, |sent| sent == 8);
    assert_eq!(link.delivered, [0, 1, 2, 3, 4, 6, 7]);
    assert_eq!(link.rx.counters().lost, 1);
}

/// A sender that lost its state and numbers anew is neither a gap of thousands nor a duplicate.
#[test]
fn a_restart_is_told_from_a_gap() {
    let mut link = Link::new(Code::WHARF_5_1, Order::Kept);
    link.send(7, |_| false);
    for first in [FIRST.wrapping_add(5), 30_000] {
        let before = link.delivered.len();
        link.restart(first);
        link.send(5, |_| false);
        assert_eq!(link.delivered.len(), before + 5);
    }
    assert_eq!((link.rx.counters().restarts, link.rx.counters().lost), (2, 0));
}

/// What a decoder gives back without being asked, twice, or too late is not handed on.
#[test]
fn only_what_was_asked_for_is_taken_from_the_decoder() {
    let mut end = Endpoint::new(Config::new(code(3, 1), FLUSH).unwrap());
    let data = |block, index| Signal::Data { block, index, parities: 1 };
    end.on_signal(Time::ZERO, data(0, 0), Some(0));
    end.on_recovered(Time::ZERO, 0, 1, 901);
    end.on_signal(Time::ZERO, data(0, 2), Some(2));
    end.on_signal(Time::ZERO, Signal::Parity { block: 0, index: 3, data_count: 3, parities: 1 }, None);
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
            Disposal::Settled { block } => assert_eq!(block, 0),
            Disposal::Release(_) => panic!("nothing was sent"),
        }
    }
    assert_eq!((delivered, discarded), (vec![0, 1, 2, 3], (901..=906).collect()));
    assert_eq!((end.counters().recovered, end.counters().late, end.counters().lost), (1, 6, 0));
}

/// A wait that ends with its block leaves nothing of its time to the wait of the next.
#[test]
fn each_block_waits_for_its_own_time() {
    let mut end = Endpoint::new(Config::new(code(3, 1), FLUSH).unwrap());
    let at = |us| Time::ZERO.saturating_add(Span::from_us(us));
    let data = |block, index| Signal::Data { block, index, parities: 1 };
    end.on_signal(at(0), data(0, 1), Some(1));
    assert_eq!(end.next_timeout(), Some(at(200)));
    end.on_signal(at(150), data(3, 1), Some(4));
    assert_eq!(end.next_timeout(), Some(at(350)));
    end.on_timeout(at(200));
    assert_eq!((end.counters().given_up, end.counters().held), (0, 1));
    end.on_timeout(at(350));
    assert_eq!((end.counters().given_up, end.counters().held, end.next_timeout()), (1, 0, None));
}

/// The share that remains lost is that of frames of which more than h in a block are: p · P(h others of k + h − 1).
#[test]
fn the_loss_that_remains_is_that_of_the_closed_form() {
    for (code, loss, frames) in [
        (Code::WHARF_25_1, 0.01, 2_000_000_u64),
        (Code::WHARF_5_1, 0.03, 1_000_000),
        (code(5, 2), 0.1, 500_000),
        (code(50, 5), 0.05, 1_000_000),
    ] {
        let mut link = Link::new(code, Order::Kept);
        let bound = (loss * 2_f64.powi(64)) as u64;
        link.send(frames, |sent| mix(mix(sent) ^ 0x99) < bound);
        let expected = residual(code, loss) * frames as f64;
        let lost = link.rx.counters().lost as f64;
        // A block that fails loses h + 1 frames or more: losses are that much more spread than coins.
        let sigma = (expected * f64::from(code.parities() + 1)).sqrt();
        println!("{code} at {loss}: {lost} lost of {frames}, {expected:.1} expected");
        assert!((lost - expected).abs() < 4.0 * sigma, "{code} at {loss}: {lost}, not {expected}");
        assert_eq!(link.delivered.len() as u64 + link.rx.counters().lost, frames, "nothing else is lost");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever headers say, nothing panics and no handle is lost or given back twice.
    #[test]
    fn headers_that_lie_do_no_harm(inputs in prop::collection::vec(input(), 0..80)) {
        let mut end = Endpoint::new(Config::new(Code::WHARF_5_1, FLUSH).unwrap());
        let mut back = Vec::new();
        for (handle, input) in inputs.iter().enumerate() {
            let now = Time::ZERO.saturating_add(Span::from_us(7 * handle as u64));
            match *input {
                Input::Data { block, index, parities } => {
                    end.on_signal(now, Signal::Data { block, index, parities }, Some(handle));
                }
                Input::Parity { block, index, data_count, parities } => {
                    end.on_signal(now, Signal::Parity { block, index, data_count, parities }, None);
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
                Disposal::Release(_) => prop_assert!(false, "nothing was sent"),
                Disposal::Recover { .. } | Disposal::Settled { .. } => {}
            }
        }
        back.sort_unstable();
        prop_assert!(back.iter().copied().eq(0..=inputs.len()), "{back:?}");
        prop_assert_eq!(end.counters().held, 0);
    }
}

const WAITING: Waiting = Waiting { len: Bytes::new(1518), ordered: true };

fn code(data: u16, parities: u16) -> Code {
    Code::new(data, parities).unwrap()
}

/// The frames of four blocks that must be delivered, if the two in the middle lose what the pattern says.
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

/// Two ends and a wire on a clock; the host knows every frame that was sent, as a simulator does.
struct Link {
    now: Time,
    tx: Endpoint<u32>,
    rx: Endpoint<u32>,
    next_frame: u32,
    /// What went over the wire so far, parities included.
    sent: u64,
    /// What a decoder would restore: the frames of a block, from its number.
    truth: BTreeMap<u16, Vec<u32>>,
    /// Copies that the sender holds.
    kept: BTreeSet<u32>,
    delivered: Vec<u32>,
    settled: Vec<u16>,
    opened: Vec<u16>,
}

impl Link {
    fn new(code: Code, order: Order) -> Self {
        let config = Config::new(code, FLUSH).unwrap().with_order(order);
        let mut tx = Endpoint::new(config);
        tx.activate(FIRST);
        Self {
            now: Time::ZERO,
            tx,
            rx: Endpoint::new(config),
            next_frame: 0,
            sent: 0,
            truth: BTreeMap::new(),
            kept: BTreeSet::new(),
            delivered: Vec::new(),
            settled: Vec::new(),
            opened: Vec::new(),
        }
    }

    /// Sends so many frames, and the parities between and behind them.
    fn send(&mut self, frames: u64, is_lost: impl Fn(u64) -> bool) {
        let end = self.next_frame + frames as u32;
        while self.next_frame < end && self.transmit(true, &is_lost) {}
        while self.transmit(false, &is_lost) {}
    }

    fn idle(&mut self, span: Span) {
        self.wait(span, |_| false);
    }

    /// Whatever is sent meanwhile is lost.
    fn lossy_idle(&mut self, span: Span) {
        self.wait(span, |_| true);
    }

    /// The sender forgets everything.
    fn restart(&mut self, first: u16) {
        self.tx = Endpoint::new(*self.tx.config());
        self.tx.activate(first);
        self.truth.clear();
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

    /// Whether the wire carried something.
    fn transmit(&mut self, has_waiting: bool, is_lost: &impl Fn(u64) -> bool) -> bool {
        let Some(transmit) = self.tx.poll_transmit(self.now, has_waiting.then_some(WAITING)) else {
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
            Transmit::Fresh(signal) => {
                self.next_frame += 1;
                self.tx.on_sent(self.now, frame);
                self.kept.insert(frame);
                let Signal::Data { block, index, .. } = signal else { panic!("{signal:?}") };
                let frames = self.truth.entry(block).or_default();
                if index == 0 {
                    // Numbers wrap.
                    frames.clear();
                }
                assert_eq!(frames.len(), usize::from(index));
                frames.push(frame);
                self.arrive(signal, block, Some(frame), is_lost);
            }
            Transmit::Parity { signal, len } => {
                assert_eq!(len, Bytes::new(1520));
                let Signal::Parity { block, data_count, .. } = signal else { panic!("{signal:?}") };
                assert_eq!(self.tx.kept(), self.truth[&block], "what the parity is made of");
                assert_eq!(usize::from(data_count), self.tx.kept().len());
                self.arrive(signal, block, None, is_lost);
            }
        }
        self.drain();
        self.now = self.now.saturating_add(Span::from_us(1));
        true
    }

    fn arrive(&mut self, signal: Signal, block: u16, frame: Option<u32>, is_lost: bool) {
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
                        let frame = self.truth[&block][usize::from(index)];
                        self.rx.on_recovered(self.now, block, index, frame);
                    }
                }
                Disposal::Settled { block } => self.settled.push(block),
                Disposal::Discard(_) | Disposal::Release(_) => panic!("{disposal:?}"),
            }
        }
    }

    /// Every block of which something came, but for the last, is settled once, every copy is given back, and nothing is delivered twice.
    fn check_once(&self, what: &str) {
        assert_eq!(self.settled, self.opened[..self.opened.len() - 1], "{what}");
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

/// Few enough values that they meet, and the ends of their ranges.
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
