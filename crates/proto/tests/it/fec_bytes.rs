//! FEC core and codec together, as on a real wire.

use std::collections::{BTreeMap, VecDeque};

use wiremend_proto::fec::codec::Codec;
use wiremend_proto::fec::{Code, Config, Disposal, Endpoint, FecHeader, Transmit};
use wiremend_proto::link::QueueHead;
use wiremend_units::{Bytes, Span, Time, mix};

/// Frames of all lengths over a wire that loses 5 %. Every frame is delivered unchanged and in order, except
/// those of blocks that lost more than their parities.
#[test]
fn frames_are_restored_byte_for_byte() {
    for (code, seed) in [(Code::WHARF_5_1, 1_u64), (Code::new(8, 3).unwrap(), 2)] {
        let mut link = CodedLink::new(code);
        let total = 5_000_u64;
        for number in 0..total {
            let len = 60 + mix(number ^ seed) % 1_454;
            let frame = (0..len).map(|index| mix(number ^ index << 32) as u8).collect();
            link.send(frame, |sent| mix(mix(sent) ^ seed).is_multiple_of(20));
        }
        link.flush();
        let counters = *link.rx.counters();
        assert!(counters.recovered > 150, "{counters:?}");
        assert_eq!(link.delivered.len() as u64 + counters.lost, total);
        let mut sent = link.frames.iter();
        assert!(
            link.delivered.iter().all(|frame| sent.any(|other| other == frame)),
            "each is a frame that was sent, in order"
        );
    }
}

struct CodedLink {
    now: Time,
    tx: Endpoint<usize>,
    rx: Endpoint<usize>,
    codec: Codec,
    /// Frames by the sender's handles.
    frames: Vec<Vec<u8>>,
    /// Parities of the closed block that have not left.
    parities: VecDeque<Vec<u8>>,
    /// Frames by the receiver's handles.
    arrived: Vec<Vec<u8>>,
    blocks: BTreeMap<u16, StoredBlock>,
    sent: u64,
    delivered: Vec<Vec<u8>>,
}

/// Frames and parities of a block that the receiver stores to restore others.
#[derive(Default)]
struct StoredBlock {
    frames: Vec<Option<Vec<u8>>>,
    parities: Vec<Option<Vec<u8>>>,
}

impl CodedLink {
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
        let head = QueueHead { len: Bytes::new(frame.len() as u64), ordered: true };
        self.frames.push(frame);
        let mut head = Some(head);
        while let Some(transmit) = self.tx.poll_transmit(self.now, head) {
            if self.transmit(transmit, is_lost(self.sent)) {
                head = None;
            }
            self.sent += 1;
            self.now = self.now.saturating_add(Span::from_us(1));
        }
    }

    /// Closes the last block without further losses.
    fn flush(&mut self) {
        self.now = self.now.saturating_add(Span::from_us(50));
        while let Some(transmit) = self.tx.poll_transmit(self.now, None) {
            self.transmit(transmit, false);
        }
        self.rx.on_plain(usize::MAX);
        self.drain();
    }

    /// Returns whether it was the head of the queue.
    fn transmit(&mut self, transmit: Transmit, is_lost: bool) -> bool {
        let is_new = match transmit {
            Transmit::Plain => panic!("the link is protected"),
            Transmit::New(signal) => {
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
        is_new
    }

    fn arrive(&mut self, signal: FecHeader, bytes: Vec<u8>) {
        match signal {
            FecHeader::Data { block, index, .. } => {
                self.arrived.push(bytes.clone());
                put(&mut self.blocks.entry(block).or_default().frames, index, bytes);
                self.rx.on_signal(self.now, signal, Some(self.arrived.len() - 1));
            }
            FecHeader::Parity { block, index, data_count, parities } => {
                let stored = self.blocks.entry(block).or_default();
                stored.frames.resize(usize::from(data_count), None);
                stored.parities.resize(usize::from(parities), None);
                put(&mut stored.parities, index - data_count, bytes);
                self.rx.on_signal(self.now, signal, None);
            }
        }
        self.drain();
        assert!(self.blocks.len() <= 1, "only the arriving block is stored");
    }

    fn drain(&mut self) {
        while let Some(disposal) = self.rx.poll() {
            match disposal {
                Disposal::Deliver(usize::MAX) => {}
                Disposal::Deliver(handle) => self.delivered.push(std::mem::take(&mut self.arrived[handle])),
                Disposal::Recover { block, missing } => {
                    let StoredBlock { frames, parities } = &self.blocks[&block];
                    let [frames, parities] =
                        [frames, parities].map(|all| all.iter().map(Option::as_deref).collect::<Vec<_>>());
                    let restored = self.codec.decode(&frames, &parities).unwrap();
                    assert!(restored.iter().map(|(index, _)| *index).eq(missing.iter()));
                    for (index, frame) in restored {
                        self.arrived.push(frame);
                        self.rx.on_recovered(self.now, block, index, self.arrived.len() - 1);
                    }
                }
                Disposal::BlockDone { block } => assert!(self.blocks.remove(&block).is_some()),
                Disposal::Discard(_) | Disposal::Release(_) => panic!("{disposal:?}"),
            }
        }
    }
}

fn put(all: &mut Vec<Option<Vec<u8>>>, index: u8, bytes: Vec<u8>) {
    all.resize(all.len().max(usize::from(index) + 1), None);
    all[usize::from(index)] = Some(bytes);
}
