//! Operations of all services of a BTH (IBA 9.2): the service in the top three bits, the operation below.

use std::fmt;

use wiremend_wire::{Malformed, Opcode};

/// An operation of any service.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Operation(u8);

/// Service of a queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names are those of the specification")]
pub enum Service {
    Rc,
    Uc,
    Ud,
    Xrc,
    Cnp,
}

/// The extension headers behind a BTH.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each header, present or not")]
pub(crate) struct Layout {
    pub(crate) xrc: bool,
    pub(crate) deth: bool,
    pub(crate) feth: bool,
    pub(crate) reth: bool,
    pub(crate) imm: bool,
    pub(crate) ieth: bool,
    pub(crate) aeth: bool,
    pub(crate) atomic: bool,
    pub(crate) atomic_ack: bool,
    pub(crate) cnp: bool,
}

const FLUSH: u8 = 0x1C;
const ATOMIC_WRITE: u8 = 0x1D;
const CNP: u8 = 0x81;

impl Operation {
    /// Whether the specification has an operation with this byte.
    fn is_known(byte: u8) -> bool {
        let low = byte & 0x1F;
        match byte >> 5 {
            0 => matches!(low, 0x00..=0x14 | 0x16 | 0x17 | FLUSH | ATOMIC_WRITE),
            1 => low <= 0x0B,
            3 => matches!(low, 0x04 | 0x05),
            4 => byte == CNP,
            5 => matches!(low, 0x00..=0x14 | 0x16 | 0x17 | FLUSH | ATOMIC_WRITE),
            _ => false,
        }
    }

    /// The byte on the wire.
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// The service.
    pub const fn service(self) -> Service {
        match self.0 >> 5 {
            0 => Service::Rc,
            1 => Service::Uc,
            3 => Service::Ud,
            4 => Service::Cnp,
            _ => Service::Xrc,
        }
    }

    /// The operation, if it is one of a reliable connection, a datagram or a congestion notification.
    pub fn opcode(self) -> Option<Opcode> {
        Opcode::try_from(self.0).ok()
    }

    pub(crate) fn layout(self) -> Layout {
        let low = self.0 & 0x1F;
        if self.0 == CNP {
            return Layout { cnp: true, ..Layout::default() };
        }
        let service = self.service();
        Layout {
            // Responses go to the queue pair that asked: they name no receive queue (IBA A14).
            xrc: service == Service::Xrc && !matches!(low, 0x0D..=0x12),
            deth: service == Service::Ud,
            feth: low == FLUSH,
            reth: matches!(low, 0x06 | 0x0A..=0x0C | FLUSH | ATOMIC_WRITE),
            imm: matches!(low, 0x03 | 0x05 | 0x09 | 0x0B),
            ieth: matches!(low, 0x16 | 0x17),
            aeth: matches!(low, 0x0D | 0x0F..=0x12),
            atomic: matches!(low, 0x13 | 0x14),
            atomic_ack: low == 0x12,
            cnp: false,
        }
    }
}

/// The operation of the first byte of a BTH.
impl TryFrom<u8> for Operation {
    type Error = Malformed;
    fn try_from(byte: u8) -> Result<Self, Malformed> {
        if Self::is_known(byte) { Ok(Self(byte)) } else { Err(Malformed::Opcode(byte)) }
    }
}

impl Layout {
    /// Length of the headers.
    pub(crate) fn bytes(self) -> usize {
        let lens = [
            (self.xrc, 4),
            (self.deth, 8),
            (self.feth, 4),
            (self.reth, 16),
            (self.imm, 4),
            (self.ieth, 4),
            (self.aeth, 4),
            (self.atomic, 28),
            (self.atomic_ack, 8),
            (self.cnp, 16),
        ];
        lens.into_iter().filter(|(present, _)| *present).map(|(_, len)| len).sum()
    }
}

/// Name as in other tools: the service unless it is a reliable connection, the verb in capitals, then the
/// position in the message.
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let service = match self.service() {
            Service::Rc | Service::Cnp => "",
            Service::Uc => "UC ",
            Service::Ud => "UD ",
            Service::Xrc => "XRC ",
        };
        let name = match self.0 & 0x1F {
            _ if self.0 == CNP => "CNP",
            FLUSH => "FLUSH",
            ATOMIC_WRITE => "ATOMIC WRITE",
            low => Opcode::try_from(low).map_or("unknown", Opcode::name),
        };
        f.pad(&format!("{service}{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_that_the_codec_knows_have_its_layout() {
        for opcode in Opcode::ALL {
            let operation = Operation::try_from(opcode as u8).unwrap();
            assert_eq!(operation.layout().bytes(), opcode.layout().bytes(), "{opcode}");
            assert_eq!(operation.to_string(), opcode.name());
            assert_eq!(operation.opcode(), Some(opcode));
        }
    }

    #[test]
    fn newer_operations_and_other_services_are_named() {
        let named = |byte| Operation::try_from(byte).ok().map(|operation| operation.to_string());
        assert_eq!(named(0x1C).as_deref(), Some("FLUSH"));
        assert_eq!(named(0x1D).as_deref(), Some("ATOMIC WRITE"));
        assert_eq!(named(0x2A).as_deref(), Some("UC WRITE only"));
        assert_eq!(named(0xAC).as_deref(), Some("XRC READ request"));
        let len = |byte| Operation::try_from(byte).unwrap().layout().bytes();
        assert_eq!((len(0xAC), len(0xB1), len(0xB0)), (20, 4, 4));
        assert_eq!(named(0x15), None);
        assert_eq!(named(0xFF), None);
    }
}
