//! Both halves of error correction together, as a host on a real wire has them: the core decides, the codec does.

use std::collections::{BTreeMap, VecDeque};

use wiremend_proto::fec::codec::Codec;
use wiremend_proto::fec::{Code, Config, Disposal, Endpoint, Signal, Transmit};
use wiremend_proto::link::Waiting;
use wiremend_units::{Bytes, Span, Time, mix};

/// Frames of all lengths cross a wire that loses one in twenty. Every one comes out as it went in and in order, but for those
/// of blocks that lost more than their parities.
#[test]
fn frames_come_back_byte_for_byte() {
    for (code, seed) in [(Code::WHARF_5_1, 1_u64), (Code::new(8, 3).unwrap(), 2)] {
        let mut relay = Relay::new(code);
        let total = 5_000_u64;
        for number in 0..total {
            let len = 60 + mix(number ^ seed) % 1_454;
            let frame = (0..len).map(|place| mix(number ^ place << 32) as u8).collect();
            relay.send(frame, |sent| mix(mix(sent) ^ seed).is_multiple_of(20));
        }
        relay.flush();
        let counters = *relay.rx.counters();
        assert!(counters.recovered > 150, "{counters:?}");
        assert_eq!(relay.delivered.len() as u64 + counters.lost, total);
        let mut sent = relay.frames.iter();
        assert!(
            relay.delivered.iter().all(|frame| sent.any(|other| other == frame)),
            "each is one that was sent, in order"
        );
    }
}

struct Relay {
    now: Time,
    tx: Endpoint<usize>,
    rx: Endpoint<usize>,
    codec: Codec,
    /// By the sender's handles.
    frames: Vec<Vec<u8>>,
    /// Parities of the block that is closed, which are yet to leave.
    parities: VecDeque<Vec<u8>>,
    /// By the receiver's handles.
    arrived: Vec<Vec<u8>>,
    blocks: BTreeMap<u16, Remembered>,
    sent: u64,
    delivered: Vec<Vec<u8>>,
}

/// What the receiver needs to restore frames of a block.
#[derive(Default)]
struct Remembered {
    frames: Vec<Option<Vec<u8>>>,
    parities: Vec<Option<Vec<u8>>>,
}

impl Relay {
    fn new(code: Code) -> Self {
        let config = Config::new(code, Span::from_us(50)).unwrap();
        let mut tx = Endpoint::new(config);
        tx.activate(0);
        Self {
            now: Time::ZERO,
            tx,
            rx: Endpoint::new(config),
            codec: Codec::default(),
            frames: Vec::new(),
            parities: VecDeque::new(),
            arrived: Vec::new(),
            blocks: BTreeMap::new(),
            sent: 0,
            delivered: Vec::new(),
        }
    }

    fn send(&mut self, frame: Vec<u8>, is_lost: impl Fn(u64) -> bool) {
        let waiting = Waiting { len: Bytes::new(frame.len() as u64), ordered: true };
        self.frames.push(frame);
        let mut waiting = Some(waiting);
        while let Some(transmit) = self.tx.poll_transmit(self.now, waiting) {
            if self.transmit(transmit, is_lost(self.sent)) {
                waiting = None;
            }
            self.sent += 1;
            self.now = self.now.saturating_add(Span::from_us(1));
        }
    }

    /// The last block closes; nothing is lost any more.
    fn flush(&mut self) {
        self.now = self.now.saturating_add(Span::from_us(50));
        while let Some(transmit) = self.tx.poll_transmit(self.now, None) {
            self.transmit(transmit, false);
        }
        self.rx.on_plain(usize::MAX);
        self.drain();
    }

    /// Whether it was the frame that waited.
    fn transmit(&mut self, transmit: Transmit, is_lost: bool) -> bool {
        let is_fresh = match transmit {
            Transmit::Plain => panic!("the link is protected"),
            Transmit::Fresh(signal) => {
                let handle = self.frames.len() - 1;
                self.tx.on_sent(self.now, handle);
                if !is_lost {
                    self.arrive(signal, self.frames[handle].clone());
                }
                true
            }
            Transmit::Parity { signal, len } => {
                if self.parities.is_empty() {
                    let kept: Vec<&[u8]> =
                        self.tx.kept().iter().map(|handle| self.frames[*handle].as_slice()).collect();
                    let made = self.codec.encode(&kept, self.tx.config().code().parities()).unwrap();
                    self.parities.extend(made);
                }
                let parity = self.parities.pop_front().unwrap();
                assert_eq!(parity.len() as u64, len.get());
                if !is_lost {
                    self.arrive(signal, parity);
                }
                false
            }
        };
        while self.tx.poll().is_some() {}
        is_fresh
    }

    fn arrive(&mut self, signal: Signal, bytes: Vec<u8>) {
        match signal {
            Signal::Data { block, index, .. } => {
                self.arrived.push(bytes.clone());
                put(&mut self.blocks.entry(block).or_default().frames, index, bytes);
                self.rx.on_signal(self.now, signal, Some(self.arrived.len() - 1));
            }
            Signal::Parity { block, index, data_count, parities } => {
                let remembered = self.blocks.entry(block).or_default();
                remembered.frames.resize(usize::from(data_count), None);
                remembered.parities.resize(usize::from(parities), None);
                put(&mut remembered.parities, index - data_count, bytes);
                self.rx.on_signal(self.now, signal, None);
            }
        }
        self.drain();
        assert!(self.blocks.len() <= 1, "only the block that is arriving is remembered");
    }

    fn drain(&mut self) {
        while let Some(disposal) = self.rx.poll() {
            match disposal {
                Disposal::Deliver(usize::MAX) => {}
                Disposal::Deliver(handle) => self.delivered.push(std::mem::take(&mut self.arrived[handle])),
                Disposal::Recover { block, missing } => {
                    let Remembered { frames, parities } = &self.blocks[&block];
                    let [frames, parities] =
                        [frames, parities].map(|all| all.iter().map(Option::as_deref).collect::<Vec<_>>());
                    let restored = self.codec.decode(&frames, &parities).unwrap();
                    assert!(restored.iter().map(|(index, _)| *index).eq(missing.iter()));
                    for (index, frame) in restored {
                        self.arrived.push(frame);
                        self.rx.on_recovered(self.now, block, index, self.arrived.len() - 1);
                    }
                }
                Disposal::Settled { block } => assert!(self.blocks.remove(&block).is_some()),
                Disposal::Discard(_) | Disposal::Release(_) => panic!("{disposal:?}"),
            }
        }
    }
}

fn put(all: &mut Vec<Option<Vec<u8>>>, place: u8, bytes: Vec<u8>) {
    all.resize(all.len().max(usize::from(place) + 1), None);
    all[usize::from(place)] = Some(bytes);
}
