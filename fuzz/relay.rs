//! What the fuzzers of the relay's data path share: a bump between two ports of memory, and frames of all shapes.

use wiremend_dataplane::memory::MemoryPort;
use wiremend_dataplane::relay::{Bump, BumpConfig, Care, Classes};
use wiremend_proto::link::{Config, CopyCount};
use wiremend_units::{Bytes, Rate, Span};
use wiremend_wire::MacAddr;
use wiremend_wire::link::Dialect;

use super::draw::Draw;

/// A bump and both of its ports.
pub(crate) struct Side {
    pub(crate) bump: Bump<MemoryPort>,
    pub(crate) lan: MemoryPort,
    pub(crate) link: MemoryPort,
    pub(crate) slots: u32,
}

/// What is the same for both ends of a link.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    rate: Rate,
    patience: Span,
    copies: CopyCount,
    slots: u32,
    queue_bytes_max: u64,
    handed_frames: u32,
    tight: bool,
}

/// As ports say it: with a tag and the FCS.
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
            handed_frames: draw.pick(&[64, 1, 4]),
            tight: draw.is(4),
        }
    }
}

impl Side {
    /// As a service makes it.
    pub(crate) fn new(sizes: Sizes, number: u8) -> Self {
        let (lan, link) = (MemoryPort::default(), MemoryPort::default());
        let mut config = Config::for_link(sizes.rate, Bytes::new(FRAME_BYTES_MAX), sizes.patience);
        config.copies = sizes.copies;
        config.rtt_at_first = Span::from_us(500);
        config.rtt_samples = 5;
        config.give_up = Some(sizes.patience);
        config.silence_max = Some(Span::from_ms(80));
        if sizes.tight {
            (config.tx_bytes_max, config.rx_bytes_max) = (Bytes::new(8_000), Bytes::new(8_000));
        }
        config.pause_at = Some(Bytes::new(config.rx_bytes_max.get() / 2));
        let config = BumpConfig {
            link: config,
            dialect: Dialect::default(),
            source: MacAddr([2, 0, 0, 0, 0, number]),
            classes: Classes::default(),
            queue_bytes_max: sizes.queue_bytes_max,
            slots: sizes.slots,
            handed_frames: sizes.handed_frames,
        };
        Self { bump: Bump::new(lan.clone(), link.clone(), config), lan, link, slots: sizes.slots }
    }

    /// What must hold at any time.
    pub(crate) fn is_bounded(&self, sizes: Sizes) {
        let (counts, counters) = (self.bump.counts(), self.bump.end().counters());
        let config = self.bump.end().config();
        assert!(self.bump.pool_used() <= self.slots as usize);
        assert!(counts.queue_bytes_max <= sizes.queue_bytes_max, "{counts:?}");
        assert!(counters.rx_bytes <= config.rx_bytes_max.get(), "{counters:?}");
        assert!(counters.tx_bytes <= config.tx_bytes_max.get(), "{counters:?}");
        let classed: u64 = self.bump.classes().map(|(_, _, counts)| counts.frames).sum();
        assert!(classed <= counts.lan_in);
    }

    /// Ports take all from here on.
    pub(crate) fn open_ports(&self) {
        for port in [&self.lan, &self.link] {
            port.limit(None);
            port.set_down(false);
        }
    }

    /// A port goes down, comes up, or has so much room from here on.
    pub(crate) fn disturb_port(&self, draw: &mut Draw<'_>) {
        let port = if draw.is(2) { &self.link } else { &self.lan };
        match draw.byte() % 4 {
            0 => port.set_down(true),
            1 => port.limit(Some(usize::from(draw.byte() % 20))),
            _ => {
                port.limit(None);
                port.set_down(false);
            }
        }
    }
}

/// A frame as an interface hands it over.
#[derive(Clone, Debug)]
pub(crate) struct Shaped {
    pub(crate) bytes: Vec<u8>,
    pub(crate) tag: Option<[u8; 4]>,
    /// Those of a kind are always of one class.
    #[allow(dead_code, reason = "one relay alone keeps no order that could be seen")]
    pub(crate) kind: u8,
}

/// Destinations of any kind: a station, a neighbour, all.
const DESTINATIONS: [[u8; 6]; 4] =
    [[2, 0, 0, 0, 1, 1], [0x01, 0x80, 0xC2, 0, 0, 0x0E], [0xFF; 6], [0x01, 0x80, 0xC2, 0, 0, 0x10]];

impl Shaped {
    /// One that no other is like, if it is long enough to carry its number.
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
                // Behind a tag it is somebody else's.
                tag = Some([0x88, 0xA8, 0x20, 5]);
                bytes.extend(Dialect::default().ethertype.to_be_bytes());
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

    /// As it was on the wire, if it is a frame at all.
    pub(crate) fn on_wire(&self) -> Option<Vec<u8>> {
        let (addresses, rest) = self.bytes.split_at_checked(ADDRESSES_BYTES)?;
        (rest.len() >= 2).then(|| [addresses, self.tag.as_ref().map_or(&[][..], |tag| tag), rest].concat())
    }
}

/// Some classes, among which there are all cares.
pub(crate) fn classes(draw: &mut Draw<'_>) -> Classes {
    let other = draw.pick(&[Care::Ordered, Care::NonBlocking, Care::Off]);
    let rules: &[&str] = draw.pick(&[
        &[][..],
        &["dscp=46:off"],
        &["pcp=3:off", "dscp=46:non-blocking"],
        &["dscp=0:non-blocking", "pcp=0-7:ordered"],
    ]);
    let rules = rules.iter().map(|rule| rule.parse().expect("a rule"));
    Classes::new(rules.collect(), other).expect("no value is in two of them")
}
