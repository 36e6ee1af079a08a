//! Two data paths with an in-memory lossy link between them, on a fake clock.

use wiremend_dataplane::memory_port::MemoryPort;
use wiremend_dataplane::relay::{Classifier, DataPath, DataPathConfig, Trust};
use wiremend_proto::link::Config;
use wiremend_units::{Bytes, Rate, Span, Time};
use wiremend_wire::MacAddr;
use wiremend_wire::link::LinkCodec;

/// Each end: the data path, its LAN port and its link port.
pub(crate) struct DataPathPair {
    pub(crate) ends: [(DataPath<MemoryPort>, MemoryPort, MemoryPort); 2],
    now: Time,
    crossing: u64,
}

const RTT: Span = Span::from_us(200);
const STEP: Span = Span::from_us(10);

impl DataPathPair {
    pub(crate) fn new() -> Self {
        let end = |number| {
            let (lan, link) = (MemoryPort::default(), MemoryPort::default());
            let config = DataPathConfig {
                link: Config::for_link(Rate::gbps(1), Bytes::new(1518), RTT),
                codec: LinkCodec::default(),
                source: MacAddr([2, 0, 0, 0, 0, number]),
                trust: Trust::PeerAddress,
                classes: Classifier::default(),
                queue_bytes_max: 1 << 20,
                slots: 4096,
                device_frames: 64,
            };
            (DataPath::new(lan.clone(), link.clone(), config), lan, link)
        };
        Self { ends: [end(1), end(2)], now: Time::ZERO, crossing: 0 }
    }

    pub(crate) fn activate(&mut self) {
        for epoch in 0..2 {
            self.ends[epoch].0.endpoint_mut().activate(self.now, epoch as u32 + 1);
        }
        self.run(Span::from_ms(5), &mut |_| false);
        assert!(self.ends.iter().all(|(datapath, ..)| datapath.endpoint().is_active()));
    }

    /// Advances time. Frames sent on the link arrive at the next step, unless `lost` returns true.
    pub(crate) fn run(&mut self, span: Span, lost: &mut dyn FnMut(&[u8]) -> bool) {
        self.run_some(&[0, 1], span, lost);
    }

    pub(crate) fn run_alone(&mut self, end: usize, span: Span, lost: &mut dyn FnMut(&[u8]) -> bool) {
        self.run_some(&[end], span, lost);
    }

    fn run_some(&mut self, ends: &[usize], span: Span, lost: &mut dyn FnMut(&[u8]) -> bool) {
        let until = self.now + span;
        loop {
            for end in ends {
                while self.ends[*end].0.run_once(self.now).unwrap() {}
            }
            for from in 0..2 {
                while let Some(sent) = self.ends[from].2.next_sent() {
                    self.crossing += 1;
                    if !lost(&sent) {
                        self.ends[1 - from].2.put(&sent);
                    }
                }
            }
            if self.now >= until {
                break;
            }
            self.now += STEP;
        }
    }

    /// Sends frames from the first LAN to the second. The link loses the n-th frame if `lost(n)`.
    pub(crate) fn carry(&mut self, frames: &[Vec<u8>], mut lost: impl FnMut(u64) -> bool) -> Vec<Vec<u8>> {
        let mut nth = 0;
        for batch in frames.chunks(50) {
            for frame in batch {
                self.ends[0].1.put(frame);
            }
            self.run(Span::from_us(600), &mut |_| {
                nth += 1;
                lost(nth)
            });
        }
        self.run(Span::from_ms(20), &mut |_| false);
        std::iter::from_fn(|| self.ends[1].1.next_sent()).collect()
    }

    /// Sends all frames at once from the first LAN to the second. The link loses a frame if `lost(frame)`.
    pub(crate) fn carry_filtered(
        &mut self,
        frames: &[Vec<u8>],
        mut lost: impl FnMut(&[u8]) -> bool,
    ) -> Vec<Vec<u8>> {
        for frame in frames {
            self.ends[0].1.put(frame);
        }
        self.run(Span::from_ms(20), &mut lost);
        std::iter::from_fn(|| self.ends[1].1.next_sent()).collect()
    }

    pub(crate) fn carry_and_record(&mut self, frames: &[Vec<u8>], recorded: &mut Vec<Vec<u8>>) {
        for frame in frames {
            self.ends[0].1.put(frame);
        }
        self.run(Span::from_us(300), &mut |sent| {
            if recorded.len() < 500 {
                recorded.push(sent.to_vec());
            }
            false
        });
    }

    pub(crate) fn watch(&mut self, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut seen = Vec::new();
        for frame in frames {
            self.ends[0].1.put(frame);
        }
        self.run(Span::from_ms(2), &mut |sent| {
            seen.push(sent.to_vec());
            false
        });
        seen
    }
}

pub(crate) fn frame(number: u32, len: usize) -> Vec<u8> {
    let mut frame = vec![number as u8; len.max(18)];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}
