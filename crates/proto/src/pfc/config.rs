//! How a switch shares its memory, and how much of it each ingress needs.

use std::fmt;

use wiremend_units::{Bytes, Rate, Span};
use wiremend_wire::{MIN_FRAME_BYTES, Quanta, WIRE_OVERHEAD_BYTES};

use super::buffer::CLASSES;

/// How a switch shares its memory.
#[derive(Clone, Debug)]
pub struct Config {
    /// All of it.
    pub buffer: Bytes,
    /// The share of what is free that one ingress and class may take.
    pub alpha: Alpha,
    /// Bytes that each ingress has to itself for each lossless class.
    pub reserve: Bytes,
    /// A neighbour goes on when its bytes are so far below the threshold.
    pub resume_offset: Bytes,
    /// The lossless classes, a bit each.
    pub lossless: u8,
    /// How long a neighbour is told to stop.
    pub quanta: Quanta,
    /// How often a neighbour is told each thing, one frame after the other; at least once.
    pub copies: u8,
    /// The largest frame, without preamble and gap.
    pub frame_max: Bytes,
    /// By port.
    pub ports: Vec<PortConfig>,
}

/// One port of a switch.
#[derive(Clone, Copy, Debug)]
pub struct PortConfig {
    /// Bytes above the threshold that it may take in for each lossless class.
    pub headroom: Bytes,
    /// The rate of its link, which is the measure of quanta.
    pub rate: Rate,
    /// From a PFC frame's arrival at the neighbour to its obeying.
    pub reaction: Span,
}

/// The share of the free memory that one ingress and class may take: 1/128 to 8, the range that switch vendors offer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Alpha(u32);

impl Alpha {
    /// Alpha is counted in parts of this size.
    pub const PARTS: u32 = 1 << 16;
    /// The smallest.
    pub const MIN: Self = Self(Self::PARTS / 128);
    /// The largest.
    pub const MAX: Self = Self(Self::PARTS * 8);

    /// So many of [`Alpha::PARTS`], if that lies in the range.
    pub fn from_parts(parts: u32) -> Option<Self> {
        (Self::MIN.0..=Self::MAX.0).contains(&parts).then_some(Self(parts))
    }

    /// The share of so many bytes, rounded down.
    pub(super) const fn of(self, bytes: u64) -> u64 {
        (bytes as u128 * self.0 as u128 / Self::PARTS as u128) as u64
    }
}

/// What lies between a neighbour and the memory: how much of what it sends comes after it was told to stop.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// The rate of the link, both ways.
    pub rate: Rate,
    /// From the last bit sent by the neighbour to the frame lying in the memory.
    pub there: Span,
    /// From the last bit of a PFC frame to the neighbour having read it.
    pub back: Span,
    /// From then to the neighbour's starting no more frames.
    pub reaction: Span,
    /// The largest frame, either way, without preamble and gap.
    pub frame_max: Bytes,
    /// PFC frames that say the same: the last of them must do.
    pub copies: u8,
}

impl Reach {
    /// Bytes that come in at most from the frame on that crosses the threshold.
    ///
    /// That frame itself; then all that the neighbour sends while the PFC frame waits for a frame that is leaving, leaves,
    /// arrives and is obeyed, and while what was sent before is under way; and a last frame that starts at the last instant.
    pub fn headroom(&self) -> Bytes {
        let on_wire = |bytes: u64| self.rate.serialize(Bytes::new(bytes + WIRE_OVERHEAD_BYTES as u64));
        let told = on_wire(self.frame_max.get()) + on_wire(MIN_FRAME_BYTES as u64) * u64::from(self.copies);
        let round = told + self.back + self.reaction + self.there;
        Bytes::new(self.rate.bytes_in(round).get() + 1 + 2 * self.frame_max.get())
    }
}

/// Why a switch cannot work as told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unworkable {
    /// Reserves and headrooms take more than there is.
    Memory {
        /// What all reserves take.
        reserve: Bytes,
        /// What all headrooms take.
        headroom: Bytes,
        /// What there is.
        buffer: Bytes,
    },
    /// Even an empty buffer is not far enough below the threshold.
    NeverResumes {
        /// The threshold of an empty buffer.
        threshold: Bytes,
        /// How far below it one has to be.
        offset: Bytes,
    },
    /// More ports than [`Config::PORTS_MAX`].
    Ports(usize),
    /// A pause is over before it can have been said again.
    ShortPause {
        /// How long it is.
        pause: Span,
        /// How long it has to be.
        needed: Span,
    },
}

impl fmt::Display for Unworkable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { reserve, headroom, buffer } => write!(
                f,
                "headroom of {headroom} and reserves of {reserve} do not fit into a buffer of {buffer}"
            ),
            Self::NeverResumes { threshold, offset } => write!(
                f,
                "no port that is stopped could ever go on: the threshold of an empty buffer is {threshold}, \
                 less than the {offset} that one has to be below it"
            ),
            Self::Ports(ports) => write!(f, "{ports} ports are too many; at most {}", Config::PORTS_MAX),
            Self::ShortPause { pause, needed } => write!(
                f,
                "a pause of {pause} is over before it can be said again; it needs at least {needed}"
            ),
        }
    }
}

impl std::error::Error for Unworkable {}

impl Config {
    /// Ports that a switch may have: each class of each has a number of 16 bits.
    pub const PORTS_MAX: usize = u16::MAX as usize / CLASSES;

    /// Bytes that all ports share.
    pub fn shared(&self) -> Result<Bytes, Unworkable> {
        let classes = u64::from(self.lossless.count_ones());
        let reserve = self.reserve.get().saturating_mul(classes * self.ports.len() as u64);
        let headroom: u64 = self.ports.iter().map(|port| port.headroom.get().saturating_mul(classes)).sum();
        let shared = self.buffer.get().checked_sub(reserve.saturating_add(headroom));
        shared.map(Bytes::new).ok_or(Unworkable::Memory {
            reserve: Bytes::new(reserve),
            headroom: Bytes::new(headroom),
            buffer: self.buffer,
        })
    }

    /// Whether a switch can work so.
    pub fn check(&self) -> Result<(), Unworkable> {
        if self.ports.len() > Self::PORTS_MAX {
            return Err(Unworkable::Ports(self.ports.len()));
        }
        let threshold = Bytes::new(self.alpha.of(self.shared()?.get()));
        if self.resume_offset > threshold {
            return Err(Unworkable::NeverResumes { threshold, offset: self.resume_offset });
        }
        for port in &self.ports {
            let on_wire = |bytes: u64| port.rate.serialize(Bytes::new(bytes + WIRE_OVERHEAD_BYTES as u64));
            let words = on_wire(MIN_FRAME_BYTES as u64) * u64::from(self.copies);
            let again = on_wire(self.frame_max.get()) + words + port.reaction;
            let (pause, needed) = (self.quanta.span(port.rate), again * 2);
            if pause < needed {
                return Err(Unworkable::ShortPause { pause, needed });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config {
            buffer: Bytes::new(100_000),
            alpha: Alpha::from_parts(Alpha::PARTS / 8).unwrap(),
            reserve: Bytes::new(1_000),
            resume_offset: Bytes::new(2_000),
            lossless: 1 << 3,
            quanta: Quanta::MAX,
            copies: 1,
            frame_max: Bytes::new(1_500),
            ports: vec![
                PortConfig {
                    headroom: Bytes::new(20_000),
                    rate: Rate::gbps(100),
                    reaction: Span::ZERO
                };
                4
            ],
        }
    }

    #[test]
    fn alpha_has_the_range_of_vendors() {
        assert_eq!(Alpha::from_parts(511), None);
        assert_eq!(Alpha::from_parts(512).unwrap().of(128_000), 1_000);
        assert_eq!(Alpha::from_parts(8 * 65_536).unwrap().of(1_000), 8_000);
        assert_eq!(Alpha::from_parts(8 * 65_536 + 1), None);
    }

    #[test]
    fn what_is_not_set_apart_is_shared() {
        assert_eq!(config().shared(), Ok(Bytes::new(16_000)));
        assert_eq!(config().check(), Ok(()));
        let two = Config { lossless: 0b11, ..config() };
        let message = two.check().unwrap_err().to_string();
        assert_eq!(message, "headroom of 160kB and reserves of 8kB do not fit into a buffer of 100kB");
    }

    #[test]
    fn a_threshold_that_is_never_reached_is_found() {
        let never = Config { resume_offset: Bytes::new(2_001), ..config() };
        let (threshold, offset) = (Bytes::new(2_000), Bytes::new(2_001));
        assert_eq!(never.check(), Err(Unworkable::NeverResumes { threshold, offset }));
    }

    #[test]
    fn too_many_ports_are_refused() {
        let port = PortConfig { headroom: Bytes::ZERO, rate: Rate::gbps(100), reaction: Span::ZERO };
        let with = |ports| Config { reserve: Bytes::ZERO, ports: vec![port; ports], ..config() }.check();
        assert_eq!(with(8_191), Ok(()));
        assert_eq!(with(8_192).unwrap_err().to_string(), "8192 ports are too many; at most 8191");
    }

    /// A frame of 1500 B, a PFC frame: 1604 B with what is between them, 128.32 ns; at 64 B a quantum, 51 quanta are too few.
    #[test]
    fn a_pause_outlasts_its_refresh() {
        assert!(Config { quanta: Quanta(51), ..config() }.check().is_ok());
        let short = Config { quanta: Quanta(50), ..config() }.check().unwrap_err();
        assert!(matches!(short, Unworkable::ShortPause { .. }), "{short}");
    }

    /// 100 km of fibre at 100 Gbit/s: a round trip of 1 ms is 12.5 MB (DCP §6.3 counts such for each of 48 ports).
    #[test]
    fn headroom_follows_the_cable() {
        let reach = |there: Span| Reach {
            rate: Rate::gbps(100),
            there,
            back: there,
            reaction: Span::ZERO,
            frame_max: Bytes::new(1_500),
            copies: 1,
        };
        assert_eq!(reach(Span::ZERO).headroom().get(), 1_520 + 84 + 1 + 3_000);
        assert_eq!(reach(Span::from_us(500)).headroom().get(), 12_500_000 + 1_605 + 3_000);
        let thrice = Reach { copies: 3, ..reach(Span::ZERO) };
        assert_eq!(thrice.headroom().get(), 1_520 + 3 * 84 + 1 + 3_000);
    }
}
