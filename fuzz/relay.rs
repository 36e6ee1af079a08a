//! Shared parts of the relay fuzzers: a relay between two ports in memory, and frames of all kinds.

use wiremend_dataplane::memory_port::MemoryPort;
use wiremend_dataplane::relay::{Classifier, DataPath, DataPathConfig, ProtectionMode, Trust};
use wiremend_proto::link::{Config, CopyCount};
use wiremend_units::{Bytes, Rate, Span};
use wiremend_wire::MacAddr;
use wiremend_wire::link::LinkCodec;

use super::draw::Draw;

/// A relay data path and its two ports.
pub(crate) struct Side {
    pub(crate) datapath: DataPath<MemoryPort>,
    pub(crate) lan: MemoryPort,
    pub(crate) link: MemoryPort,
    pub(crate) slots: u32,
}

/// Common settings of both ends of a link.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    rate: Rate,
    patience: Span,
    copies: CopyCount,
    slots: u32,
    queue_bytes_max: u64,
    device_frames: u32,
    tight: bool,
}

/// Frame size limit with a tag and the FCS.
const FRAME_BYTES_MAX: u64 = 1522;
const ADDRESSES_BYTES: usize = 12;

impl Sizes {
    pub(crate) fn draw(draw: &mut Draw<'_>) -> Self {
        Self {
            rate: Rate::gbps(draw.pick(&[10, 1, 100])),
            patience: Span::from_us(draw.pick(&[200, 20_000, 2_000])),
            copies: CopyCount::Fixed(draw.pick(&[1, 2, 4])),
            slots: draw.pick(&[512, 64, 8, 1]),
            queue_bytes_max: draw.pick(&[1 << 20, 10_000, 1_000]),
            device_frames: draw.pick(&[64, 1, 4]),
            tight: draw.is(4),
        }
    }
}

impl Side {
    /// Creates it like the service.
    pub(crate) fn new(sizes: Sizes, number: u8) -> Self {
        let (lan, link) = (MemoryPort::default(), MemoryPort::default());
        let mut config = Config::for_link(sizes.rate, Bytes::new(FRAME_BYTES_MAX), sizes.patience);
        config.copies = sizes.copies;
        config.rtt_initial = Span::from_us(500);
        config.rtt_samples = 5;
        config.give_up = Some(sizes.patience);
        config.silence_max = Some(Span::from_ms(80));
        if sizes.tight {
            (config.tx_bytes_max, config.rx_bytes_max) = (Bytes::new(8_000), Bytes::new(8_000));
        }
        config.pause_at = Some(Bytes::new(config.rx_bytes_max.get() / 2));
        let config = DataPathConfig {
            link: config,
            codec: LinkCodec::default(),
            source: MacAddr([2, 0, 0, 0, 0, number]),
            trust: Trust::PeerAddress,
            classes: Classifier::default(),
            queue_bytes_max: sizes.queue_bytes_max,
            slots: sizes.slots,
            device_frames: sizes.device_frames,
        };
        Self { datapath: DataPath::new(lan.clone(), link.clone(), config), lan, link, slots: sizes.slots }
    }

    /// Invariants.
    pub(crate) fn assert_bounds(&self, sizes: Sizes) {
        let (counts, counters) = (self.datapath.counts(), self.datapath.endpoint().counters());
        let config = self.datapath.endpoint().config();
        assert!(self.datapath.pool_used() <= self.slots as usize);
        assert!(counts.queue_bytes_max <= sizes.queue_bytes_max, "{counts:?}");
        assert!(counters.rx_bytes <= config.rx_bytes_max.get(), "{counters:?}");
        assert!(counters.tx_bytes <= config.tx_bytes_max.get(), "{counters:?}");
        let classed: u64 = self.datapath.classes().map(|(_, _, counts)| counts.frames).sum();
        assert!(classed <= counts.lan_in);
    }

    /// Ports accept all frames from here on.
    pub(crate) fn open_ports(&self) {
        for port in [&self.lan, &self.link] {
            port.set_capacity(None);
            port.set_down(false);
        }
    }

    /// A port goes down, comes up, or has limited room from here on.
    pub(crate) fn disturb_port(&self, draw: &mut Draw<'_>) {
        let port = if draw.is(2) { &self.link } else { &self.lan };
        match draw.byte() % 4 {
            0 => port.set_down(true),
            1 => port.set_capacity(Some(usize::from(draw.byte() % 20))),
            _ => {
                port.set_capacity(None);
                port.set_down(false);
            }
        }
    }
}

/// A frame as an interface passes it.
#[derive(Clone, Debug)]
pub(crate) struct PortFrame {
    pub(crate) bytes: Vec<u8>,
    pub(crate) tag: Option<[u8; 4]>,
    /// Frames of a kind are always of one class.
    #[allow(dead_code, reason = "unused with a single relay")]
    pub(crate) kind: u8,
}

/// Destinations: a station, the nearest bridge, broadcast, a group.
const DESTINATIONS: [[u8; 6]; 4] =
    [[2, 0, 0, 0, 1, 1], [0x01, 0x80, 0xC2, 0, 0, 0x0E], [0xFF; 6], [0x01, 0x80, 0xC2, 0, 0, 0x10]];

impl PortFrame {
    /// A unique frame, if it is long enough for its number.
    pub(crate) fn draw(draw: &mut Draw<'_>, number: u32, lens: &[usize]) -> Self {
        let mut bytes = [&draw.pick(&DESTINATIONS)[..], &[2, 0, 0, 0, 2, 2]].concat();
        let kind = draw.byte() % 8;
        let mut tag = None;
        match kind {
            0 | 1 => bytes.extend([0x08, 0x00, 0x45, 0]),
            2 => bytes.extend([0x08, 0x00, 0x45, 46 << 2]),
            3 => bytes.extend([0x86, 0xDD, 0x6B, 0x80]),
            4 => bytes.extend([0x81, 0x00, 0x60, 5, 0x08, 0x00, 0x45, 0]),
            5 => {
                tag = Some([0x81, 0x00, 0x60, 5]);
                bytes.extend([0x08, 0x00, 0x45, 0]);
            }
            6 => {
                // Behind a tag this type is not a link header.
                tag = Some([0x88, 0xA8, 0x20, 5]);
                bytes.extend(LinkCodec::default().ethertype.to_be_bytes());
            }
            _ => bytes.extend([0x08, 0x06, 0, 1]),
        }
        bytes.extend(number.to_be_bytes());
        let len = draw.pick(lens);
        bytes.resize(len, number as u8);
        Self { bytes, tag, kind }
    }

    pub(crate) fn put(&self, port: &MemoryPort) {
        match self.tag {
            Some(tag) => port.put_tagged(&self.bytes, tag),
            None => port.put(&self.bytes),
        }
    }

    /// The frame on the wire, if it is long enough.
    pub(crate) fn on_wire(&self) -> Option<Vec<u8>> {
        let (addresses, rest) = self.bytes.split_at_checked(ADDRESSES_BYTES)?;
        (rest.len() >= 2).then(|| [addresses, self.tag.as_ref().map_or(&[][..], |tag| tag), rest].concat())
    }
}

/// Random classes with all kinds of protection.
pub(crate) fn classes(draw: &mut Draw<'_>) -> Classifier {
    let other = draw.pick(&[ProtectionMode::Ordered, ProtectionMode::NonBlocking, ProtectionMode::Off]);
    let rules: &[&str] = draw.pick(&[
        &[][..],
        &["dscp=46:off"],
        &["pcp=3:off", "dscp=46:non-blocking"],
        &["dscp=0:non-blocking", "pcp=0-7:ordered"],
    ]);
    let rules = rules.iter().map(|rule| rule.parse().expect("a rule"));
    Classifier::new(rules.collect(), other).expect("no value in two rules")
}
