//! MAC control frames: priority flow control (IEEE 802.1Qbb) and link-level pause (IEEE 802.3 annex 31B).
//! They are never forwarded.

use wiremend_units::{Bytes, Rate, Span};
use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{EthernetRepr, MIN_FRAME_BYTES, MacAddr, Malformed, Trailer, Vlans, view};

/// `EtherType` of MAC control frames.
pub const ETHERTYPE_MAC_CONTROL: u16 = 0x8808;

/// A complete pause frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PauseFrame {
    /// Address of the sender.
    pub source: MacAddr,
    /// Content.
    pub pause: Pause,
}

/// Content of a pause frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pause {
    /// Pauses the whole link.
    Link(Quanta),
    /// Pauses or resumes single classes; classes with `None` are not affected.
    Classes([Option<Quanta>; 8]),
}

/// A pause time in units of 512 bit times; 0 resumes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Quanta(pub u16);

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Classes {
    enabled: U16,
    quanta: [U16; 8],
}
const _: () = assert!(size_of::<Classes>() == 18);

const OPCODE_LINK: u16 = 0x0001;
const OPCODE_CLASSES: u16 = 0x0101;
const MAC_BYTES: usize = 14;
const OPCODE_BYTES: usize = 2;

impl Quanta {
    /// Resumes immediately.
    pub const RESUME: Self = Self(0);
    /// The longest pause.
    pub const MAX: Self = Self(u16::MAX);

    /// The duration at this link rate.
    pub const fn span(self, rate: Rate) -> Span {
        const QUANTUM_BYTES: u64 = 512 / 8;
        rate.serialize(Bytes::new(self.0 as u64 * QUANTUM_BYTES))
    }
}

impl PauseFrame {
    /// Length of the frame: the Ethernet minimum.
    pub const fn buffer_len(&self, trailer: Trailer) -> usize {
        MIN_FRAME_BYTES as usize - Trailer::Fcs.bytes() + trailer.bytes()
    }

    /// Parses a frame. Padding and FCS are ignored.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (ethernet, ethertype, rest) = EthernetRepr::parse(bytes)?;
        if ethertype != ETHERTYPE_MAC_CONTROL {
            return Err(Malformed::EtherType(ethertype));
        }
        let (opcode, rest) = view::split::<U16>(rest, "MAC control opcode")?;
        let pause = match opcode.get() {
            OPCODE_LINK => Pause::Link(Quanta(view::split::<U16>(rest, "pause time")?.0.get())),
            OPCODE_CLASSES => {
                let (classes, _) = view::split::<Classes>(rest, "pause times")?;
                let enabled = |class: usize| classes.enabled.get() >> class & 1 != 0;
                let quanta = |class: usize| Quanta(classes.quanta[class].get());
                Pause::Classes(std::array::from_fn(|class| enabled(class).then(|| quanta(class))))
            }
            other => return Err(Malformed::MacControl(other)),
        };
        Ok(Self { source: ethernet.source, pause })
    }

    /// Writes the frame into `buffer` of its length.
    pub fn emit(&self, trailer: Trailer, buffer: &mut [u8]) {
        assert_eq!(buffer.len(), self.buffer_len(trailer), "a buffer has the length its frame asks for");
        buffer.fill(0);
        let ethernet =
            EthernetRepr { destination: MacAddr::PAUSE, source: self.source, vlans: Vlans::Untagged };
        let (mac, rest) = buffer.split_at_mut(MAC_BYTES);
        ethernet.emit(ETHERTYPE_MAC_CONTROL, mac);
        let (opcode, rest) = rest.split_at_mut(OPCODE_BYTES);
        match self.pause {
            Pause::Link(quanta) => {
                view::fill(&U16::new(OPCODE_LINK), opcode);
                view::fill(&U16::new(quanta.0), &mut rest[..size_of::<U16>()]);
            }
            Pause::Classes(classes) => {
                view::fill(&U16::new(OPCODE_CLASSES), opcode);
                let bits =
                    classes.iter().enumerate().map(|(class, quanta)| u16::from(quanta.is_some()) << class);
                let enabled = U16::new(bits.sum());
                let quanta = classes.map(|quanta| U16::new(quanta.unwrap_or_default().0));
                view::fill(&Classes { enabled, quanta }, &mut rest[..size_of::<Classes>()]);
            }
        }
        trailer.seal(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcs;

    #[test]
    fn the_longest_pause_is_as_long_as_the_reference_says() {
        assert_eq!(Quanta::MAX.span(Rate::gbps(100)).as_ns(), 335_539);
        assert_eq!(Quanta::MAX.span(Rate::gbps(400)).as_ns(), 83_884);
    }

    /// Pauses class 3, resumes class 5.
    #[test]
    fn a_pfc_frame_has_the_right_bytes() {
        let mut classes = [None; 8];
        classes[3] = Some(Quanta::MAX);
        classes[5] = Some(Quanta::RESUME);
        let frame = PauseFrame { source: MacAddr::local(7), pause: Pause::Classes(classes) };
        let mut bytes = [0xAA; 64];
        frame.emit(Trailer::Fcs, &mut bytes);
        let head = [
            0x01, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0, 7, 0x88, 0x08, 0x01, 0x01, 0x00, 0x28, 0, 0, 0, 0, 0,
            0, 0xFF, 0xFF, 0, 0,
        ];
        assert_eq!(bytes[..28], head);
        assert!(bytes[28..60].iter().all(|byte| *byte == 0));
        assert_eq!(bytes[60..], fcs(&bytes[..60]).to_le_bytes());
        assert_eq!(PauseFrame::parse(&bytes), Ok(frame));
    }

    #[test]
    fn other_control_frames_are_refused() {
        let mut bytes = [0; 60];
        bytes[12..16].copy_from_slice(&[0x88, 0x08, 0x00, 0x02]);
        assert_eq!(PauseFrame::parse(&bytes), Err(Malformed::MacControl(2)));
        bytes[12..14].copy_from_slice(&[0x08, 0x00]);
        assert_eq!(PauseFrame::parse(&bytes), Err(Malformed::EtherType(0x0800)));
    }
}
