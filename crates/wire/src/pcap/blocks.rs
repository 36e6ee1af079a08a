//! The pcapng format: a sequence of blocks.

use std::io::Read;

use super::clock::Clock;
use super::fields::{ByteOrder, Fields};
use super::input::Input;
use super::reader::{Located, ReaderState};
use super::{CaptureError, CaptureFault, Interface, MAX_BLOCK_BYTES, MAX_INTERFACES, code};

/// The byte order of the current section.
pub(super) struct Blocks {
    order: ByteOrder,
}

/// Length of type and length, before the body of a block.
const HEAD_BYTES: u64 = 8;

impl Blocks {
    /// Starts after the first four bytes of the first section header.
    pub(super) fn start<R: Read>(input: &mut Input<R>) -> Result<Self, CaptureError> {
        section_header(input).map(|order| Self { order })
    }

    /// Reads blocks until the next packet.
    pub(super) fn next<R: Read>(
        &mut self,
        input: &mut Input<R>,
        state: &mut ReaderState,
    ) -> Result<Option<Located>, CaptureError> {
        loop {
            let start = input.offset();
            let Some(kind) = input.array_or_end("block")? else { return Ok(None) };
            let kind = self.order.u32(kind);
            if kind == code::SECTION_HEADER {
                self.order = section_header(input)?;
                state.interfaces.clear();
                state.section += 1;
                continue;
            }
            let len = block_len(self.order.u32(input.array("block")?), code::BLOCK_FRAME_BYTES, start)?;
            if !is_known(kind) {
                input.skip(len - code::BLOCK_FRAME_BYTES, "block")?;
                block_end(input, self.order, len)?;
                continue;
            }
            if len > MAX_BLOCK_BYTES {
                return Err(CaptureError { offset: start, fault: CaptureFault::BlockTooLarge(len) });
            }
            input.read(&mut state.block, len - code::BLOCK_FRAME_BYTES, "block")?;
            block_end(input, self.order, len)?;
            if let Some(located) = self.body(kind, start + HEAD_BYTES, state)? {
                return Ok(Some(located));
            }
        }
    }

    /// Interprets the buffered block: a packet, or an interface description.
    fn body(&self, kind: u32, offset: u64, state: &mut ReaderState) -> Result<Option<Located>, CaptureError> {
        let mut fields = Fields::new(&state.block, self.order, offset);
        match kind {
            code::INTERFACE_DESCRIPTION => {
                if state.interfaces.len() == MAX_INTERFACES {
                    return Err(fields.fault(CaptureFault::TooManyInterfaces));
                }
                state.interfaces.push(interface_description(&mut fields)?);
                Ok(None)
            }
            code::SIMPLE_PACKET => simple_packet(&mut fields, &state.interfaces).map(Some),
            _ => {
                let interface = if kind == code::PACKET {
                    let interface = fields.u16("interface")?;
                    fields.u16("drop count")?;
                    interface.into()
                } else {
                    fields.u32("interface")?
                };
                let mut located = packet(interface, &mut fields, &state.interfaces)?;
                located.commented = comments(&mut fields, &mut state.comment)?;
                Ok(Some(located))
            }
        }
    }
}

const fn is_known(kind: u32) -> bool {
    matches!(kind, code::INTERFACE_DESCRIPTION | code::PACKET | code::SIMPLE_PACKET | code::ENHANCED_PACKET)
}

fn block_len(len: u32, min: u32, offset: u64) -> Result<u32, CaptureError> {
    let fits = len >= min && len.is_multiple_of(4);
    if fits { Ok(len) } else { Err(CaptureError { offset, fault: CaptureFault::BlockLength(len) }) }
}

fn block_end<R: Read>(input: &mut Input<R>, order: ByteOrder, start: u32) -> Result<(), CaptureError> {
    let offset = input.offset();
    let end = order.u32(input.array("block")?);
    if start == end {
        Ok(())
    } else {
        Err(CaptureError { offset, fault: CaptureFault::BlockEnd { start, end } })
    }
}

/// Reads a section header after its type. The byte order follows the length, which depends on it.
fn section_header<R: Read>(input: &mut Input<R>) -> Result<ByteOrder, CaptureError> {
    const WHAT: &str = "section header";
    /// Type, length, byte order, version, section length, length.
    const MIN_BYTES: u32 = 28;
    /// Type, length, byte order, version.
    const READ_BYTES: u32 = 16;
    let start = input.offset() - 4;
    let len = input.array(WHAT)?;
    let magic: [u8; 4] = input.array(WHAT)?;
    let order = match u32::from_be_bytes(magic) {
        code::BYTE_ORDER_MAGIC => ByteOrder::Big,
        swapped if swapped.swap_bytes() == code::BYTE_ORDER_MAGIC => ByteOrder::Little,
        _ => return Err(CaptureError { offset: start + HEAD_BYTES, fault: CaptureFault::ByteOrder(magic) }),
    };
    let len = block_len(order.u32(len), MIN_BYTES, start)?;
    let (major, minor) = (order.u16(input.array(WHAT)?), order.u16(input.array(WHAT)?));
    if major != 1 {
        return Err(CaptureError {
            offset: start + HEAD_BYTES + 4,
            fault: CaptureFault::Version(major, minor),
        });
    }
    input.skip(len - READ_BYTES - 4, WHAT)?;
    block_end(input, order, len)?;
    Ok(order)
}

fn interface_description(fields: &mut Fields<'_>) -> Result<Interface, CaptureError> {
    let link_type = fields.u16("link type")?;
    fields.u16("link type")?;
    let snap_len = fields.u32("snap length")?;
    let mut interface = Interface { name: String::new(), link_type, snap_len, clock: Clock::MICROSECONDS };
    while let Some(option) = fields.next_option()? {
        let fault = |fault| CaptureError { offset: option.offset, fault };
        match option.code {
            code::INTERFACE_NAME => interface.name = option.text().into_owned(),
            code::INTERFACE_TIME_RESOLUTION => {
                let code = *option
                    .value
                    .first()
                    .ok_or_else(|| fault(CaptureFault::ShortBlock("time resolution")))?;
                let clock = interface.clock.with_resolution(code);
                interface.clock = clock.ok_or_else(|| fault(CaptureFault::TimeResolution(code)))?;
            }
            code::INTERFACE_TIME_OFFSET => {
                let offset_s = fields.inside(&option).i64("time offset")?;
                interface.clock = interface.clock.with_offset(offset_s);
            }
            _ => {}
        }
    }
    Ok(interface)
}

/// An enhanced packet block or an obsolete packet block, which differ only before this point.
fn packet(interface: u32, fields: &mut Fields<'_>, known: &[Interface]) -> Result<Located, CaptureError> {
    let Some(description) = known.get(interface as usize) else {
        return Err(fields.fault(CaptureFault::UnknownInterface { interface, known: known.len() }));
    };
    let high = fields.u32("time")?;
    let low = fields.u32("time")?;
    let time_ns = description.clock.ns(u64::from(high) << 32 | u64::from(low));
    let time_ns = time_ns.ok_or_else(|| fields.fault(CaptureFault::Time))?;
    let captured_len = fields.u32("captured length")? as usize;
    let original_len = fields.u32("original length")?;
    let start = fields.position();
    fields.padded(captured_len, "packet")?;
    Ok(Located { interface, time_ns, original_len, bytes: start..start + captured_len, commented: false })
}

/// A simple packet block: first interface, no time, captured length from the snap length.
fn simple_packet(fields: &mut Fields<'_>, known: &[Interface]) -> Result<Located, CaptureError> {
    let Some(description) = known.first() else {
        return Err(fields.fault(CaptureFault::UnknownInterface { interface: 0, known: 0 }));
    };
    let original_len = fields.u32("original length")?;
    let snap_len = if description.snap_len == 0 { u32::MAX } else { description.snap_len };
    let captured_len = original_len.min(snap_len) as usize;
    let start = fields.position();
    fields.padded(captured_len, "packet")?;
    let bytes = start..start + captured_len;
    Ok(Located { interface: 0, time_ns: 0, original_len, bytes, commented: false })
}

/// Collects the comments among the options; returns whether there was one.
fn comments(fields: &mut Fields<'_>, comment: &mut String) -> Result<bool, CaptureError> {
    comment.clear();
    let mut found = false;
    while let Some(option) = fields.next_option()? {
        if option.code == code::OPTION_COMMENT {
            if found {
                comment.push('\n');
            }
            comment.push_str(&option.text());
            found = true;
        }
    }
    Ok(found)
}
