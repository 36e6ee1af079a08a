//! Buffer configuration of a switch, and headroom of a port.

use std::fmt;

use wiremend_units::{Bytes, Rate, Span};
use wiremend_wire::{MIN_FRAME_BYTES, Quanta, WIRE_OVERHEAD_BYTES};

use super::buffer::CLASSES;

/// Buffer configuration of a switch.
#[derive(Clone, Debug)]
pub struct Config {
    /// Total size.
    pub buffer: Bytes,
    /// Share of the free bytes that one ingress and class may take.
    pub alpha: Alpha,
    /// Reserved bytes of each ingress and lossless class.
    pub reserve: Bytes,
    /// A neighbour is resumed when its bytes are this far below the threshold.
    pub resume_offset: Bytes,
    /// Lossless classes, one bit each.
    pub lossless: u8,
    /// Duration of a pause.
    pub quanta: Quanta,
    /// PFC frames per change, sent back to back; at least 1.
    pub copies: u8,
    /// Largest frame, without preamble and gap.
    pub frame_max: Bytes,
    /// Ports.
    pub ports: Vec<PortConfig>,
}

/// A port of a switch.
#[derive(Clone, Copy, Debug)]
pub struct PortConfig {
    /// Headroom in bytes of each lossless class.
    pub headroom: Bytes,
    /// Rate of the link, which pause quanta depend on.
    pub rate: Rate,
    /// Time from the arrival of a PFC frame at the neighbour until it takes effect.
    pub reaction: Span,
}

/// Share of the free bytes that one ingress and class may take: 1/128 to 8, the range of switch vendors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Alpha(u32);

impl Alpha {
    /// Denominator of alpha.
    pub const PARTS: u32 = 1 << 16;
    /// Minimum: 1/128.
    pub const MIN: Self = Self(Self::PARTS / 128);
    /// Maximum: 8.
    pub const MAX: Self = Self(Self::PARTS * 8);

    /// Alpha of `parts` / [`Alpha::PARTS`], if in range.
    pub fn from_parts(parts: u32) -> Option<Self> {
        (Self::MIN.0..=Self::MAX.0).contains(&parts).then_some(Self(parts))
    }

    /// Alpha times `bytes`, rounded down.
    pub(super) const fn share_of(self, bytes: u64) -> u64 {
        (bytes as u128 * self.0 as u128 / Self::PARTS as u128) as u64
    }
}

/// Parameters of headroom: how much a neighbour sends after a pause is due.
#[derive(Clone, Copy, Debug)]
pub struct HeadroomParams {
    /// Rate of the link in both directions.
    pub rate: Rate,
    /// From the last bit sent by the neighbour until the frame is in the buffer.
    pub inbound_delay: Span,
    /// From the last bit of a PFC frame until the neighbour has received it.
    pub pause_delay: Span,
    /// From then until the neighbour starts no more frames.
    pub reaction: Span,
    /// Largest frame in either direction, without preamble and gap.
    pub frame_max: Bytes,
    /// PFC frames per change. The last one must suffice.
    pub copies: u8,
}

impl HeadroomParams {
    /// Maximum bytes that arrive from the frame on that crosses the threshold: that frame; all that the
    /// neighbour sends while the PFC frame waits for a frame in transmission, leaves, arrives and takes
    /// effect, plus the bytes in flight; and a last frame that starts at the last instant.
    pub fn headroom(&self) -> Bytes {
        let on_wire = |bytes: u64| self.rate.serialize(Bytes::new(bytes + WIRE_OVERHEAD_BYTES as u64));
        let pfc_sent =
            on_wire(self.frame_max.get()) + on_wire(MIN_FRAME_BYTES as u64) * u64::from(self.copies);
        let round = pfc_sent + self.pause_delay + self.reaction + self.inbound_delay;
        Bytes::new(self.rate.bytes_in(round).get() + 1 + 2 * self.frame_max.get())
    }
}

/// Error of a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// Reserves and headroom exceed the buffer.
    Memory {
        /// Sum of all reserves.
        reserve: Bytes,
        /// Sum of all headroom.
        headroom: Bytes,
        /// Size of the buffer.
        buffer: Bytes,
    },
    /// The resume offset exceeds the threshold of an empty buffer.
    NeverResumes {
        /// Threshold of an empty buffer.
        threshold: Bytes,
        /// Resume offset.
        offset: Bytes,
    },
    /// More ports than [`Config::PORTS_MAX`].
    Ports(usize),
    /// A pause would end before its refresh.
    ShortPause {
        /// Duration of a pause.
        pause: Span,
        /// Minimum duration.
        needed: Span,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { reserve, headroom, buffer } => write!(
                f,
                "headroom of {headroom} and reserves of {reserve} do not fit into a buffer of {buffer}"
            ),
            Self::NeverResumes { threshold, offset } => write!(
                f,
                "a paused port could never resume: the threshold of an empty buffer is {threshold}, \
                 less than the resume offset of {offset}"
            ),
            Self::Ports(ports) => write!(f, "{ports} ports are too many; at most {}", Config::PORTS_MAX),
            Self::ShortPause { pause, needed } => {
                write!(f, "a pause of {pause} ends before its refresh; it needs at least {needed}")
            }
        }
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Maximum ports of a switch: each port and class has a 16-bit number.
    pub const PORTS_MAX: usize = u16::MAX as usize / CLASSES;

    /// Bytes that all ports share.
    pub fn shared(&self) -> Result<Bytes, ConfigError> {
        let classes = u64::from(self.lossless.count_ones());
        let reserve = self.reserve.get().saturating_mul(classes * self.ports.len() as u64);
        let headroom: u64 = self.ports.iter().map(|port| port.headroom.get().saturating_mul(classes)).sum();
        let shared = self.buffer.get().checked_sub(reserve.saturating_add(headroom));
        shared.map(Bytes::new).ok_or(ConfigError::Memory {
            reserve: Bytes::new(reserve),
            headroom: Bytes::new(headroom),
            buffer: self.buffer,
        })
    }

    /// Checks the configuration.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.ports.len() > Self::PORTS_MAX {
            return Err(ConfigError::Ports(self.ports.len()));
        }
        let threshold = Bytes::new(self.alpha.share_of(self.shared()?.get()));
        if self.resume_offset > threshold {
            return Err(ConfigError::NeverResumes { threshold, offset: self.resume_offset });
        }
        for port in &self.ports {
            let on_wire = |bytes: u64| port.rate.serialize(Bytes::new(bytes + WIRE_OVERHEAD_BYTES as u64));
            let pfc_frames = on_wire(MIN_FRAME_BYTES as u64) * u64::from(self.copies);
            let again = on_wire(self.frame_max.get()) + pfc_frames + port.reaction;
            let (pause, needed) = (self.quanta.span(port.rate), again * 2);
            if pause < needed {
                return Err(ConfigError::ShortPause { pause, needed });
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
    fn alpha_has_the_range_of_switch_vendors() {
        assert_eq!(Alpha::from_parts(511), None);
        assert_eq!(Alpha::from_parts(512).unwrap().share_of(128_000), 1_000);
        assert_eq!(Alpha::from_parts(8 * 65_536).unwrap().share_of(1_000), 8_000);
        assert_eq!(Alpha::from_parts(8 * 65_536 + 1), None);
    }

    #[test]
    fn bytes_beyond_reserves_and_headroom_are_shared() {
        assert_eq!(config().shared(), Ok(Bytes::new(16_000)));
        assert_eq!(config().check(), Ok(()));
        let two = Config { lossless: 0b11, ..config() };
        let message = two.check().unwrap_err().to_string();
        assert_eq!(message, "headroom of 160kB and reserves of 8kB do not fit into a buffer of 100kB");
    }

    #[test]
    fn resume_offset_above_the_threshold_is_refused() {
        let never = Config { resume_offset: Bytes::new(2_001), ..config() };
        let (threshold, offset) = (Bytes::new(2_000), Bytes::new(2_001));
        assert_eq!(never.check(), Err(ConfigError::NeverResumes { threshold, offset }));
    }

    #[test]
    fn too_many_ports_are_refused() {
        let port = PortConfig { headroom: Bytes::ZERO, rate: Rate::gbps(100), reaction: Span::ZERO };
        let with = |ports| Config { reserve: Bytes::ZERO, ports: vec![port; ports], ..config() }.check();
        assert_eq!(with(8_191), Ok(()));
        assert_eq!(with(8_192).unwrap_err().to_string(), "8192 ports are too many; at most 8191");
    }

    /// A 1500-B frame and a PFC frame take 1604 B with their gaps, 128.32 ns; with 64 B per quantum, 50
    /// quanta are too few.
    #[test]
    fn pause_outlasts_its_refresh() {
        assert!(Config { quanta: Quanta(51), ..config() }.check().is_ok());
        let short = Config { quanta: Quanta(50), ..config() }.check().unwrap_err();
        assert!(matches!(short, ConfigError::ShortPause { .. }), "{short}");
    }

    /// 100 km of fibre at 100 Gbit/s: a round trip of 1 ms is 12.5 MB (DCP §6.3 has such figures for each of
    /// 48 ports).
    #[test]
    fn headroom_follows_the_cable_length() {
        let reach = |inbound_delay: Span| HeadroomParams {
            rate: Rate::gbps(100),
            inbound_delay,
            pause_delay: inbound_delay,
            reaction: Span::ZERO,
            frame_max: Bytes::new(1_500),
            copies: 1,
        };
        assert_eq!(reach(Span::ZERO).headroom().get(), 1_520 + 84 + 1 + 3_000);
        assert_eq!(reach(Span::from_us(500)).headroom().get(), 12_500_000 + 1_605 + 3_000);
        let thrice = HeadroomParams { copies: 3, ..reach(Span::ZERO) };
        assert_eq!(thrice.headroom().get(), 1_520 + 3 * 84 + 1 + 3_000);
    }
}
