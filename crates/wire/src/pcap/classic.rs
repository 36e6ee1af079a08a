//! The pcap format: one header, then packets.

use std::io::Read;

use super::clock::Clock;
use super::fields::ByteOrder;
use super::input::Input;
use super::reader::{Located, ReaderState};
use super::{CaptureError, CaptureFault, Interface, MAX_PACKET_BYTES};

/// Byte order and clock, from the first four bytes of a file.
#[derive(Clone, Copy)]
pub(super) struct Classic {
    order: ByteOrder,
    clock: Clock,
}

const MICROSECONDS_MAGIC: u32 = 0xA1B2_C3D4;
const NANOSECONDS_MAGIC: u32 = 0xA1B2_3C4D;

impl Classic {
    pub(super) fn recognize(magic: [u8; 4]) -> Option<Self> {
        [ByteOrder::Little, ByteOrder::Big].into_iter().find_map(|order| match order.u32(magic) {
            MICROSECONDS_MAGIC => Some(Self { order, clock: Clock::MICROSECONDS }),
            NANOSECONDS_MAGIC => Some(Self { order, clock: Clock::NANOSECONDS }),
            _ => None,
        })
    }

    /// Reads the header after the magic number: version, time zone, accuracy, snap length and link type.
    pub(super) fn read_header<R: Read>(self, input: &mut Input<R>) -> Result<Interface, CaptureError> {
        let offset = input.offset();
        let major = self.order.u16(input.array("file header")?);
        let minor = self.order.u16(input.array("file header")?);
        if major != 2 {
            return Err(CaptureError { offset, fault: CaptureFault::Version(major, minor) });
        }
        input.skip(8, "file header")?;
        let snap_len = self.order.u32(input.array("file header")?);
        // The upper half may contain the FCS length.
        let link_type = self.order.u32(input.array("file header")?) as u16;
        Ok(Interface { name: String::new(), link_type, snap_len, clock: self.clock })
    }

    pub(super) fn next<R: Read>(
        self,
        input: &mut Input<R>,
        state: &mut ReaderState,
    ) -> Result<Option<Located>, CaptureError> {
        const WHAT: &str = "packet header";
        let offset = input.offset();
        let Some(seconds) = input.array_or_end(WHAT)? else { return Ok(None) };
        let seconds = self.order.u32(seconds);
        let ticks = self.order.u32(input.array(WHAT)?);
        let captured_len = self.order.u32(input.array(WHAT)?);
        let original_len = self.order.u32(input.array(WHAT)?);
        if captured_len > MAX_PACKET_BYTES {
            return Err(CaptureError { offset, fault: CaptureFault::PacketTooLarge(captured_len) });
        }
        let time_ns = self.clock.with_offset(seconds.into()).ns(ticks.into());
        let time_ns = time_ns.ok_or(CaptureError { offset, fault: CaptureFault::Time })?;
        input.read(&mut state.block, captured_len, "packet")?;
        let bytes = 0..captured_len as usize;
        Ok(Some(Located { interface: 0, time_ns, original_len, bytes, commented: false }))
    }
}
