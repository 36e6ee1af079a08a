//! Reading captures of either format.

use std::io::Read;
use std::ops::Range;

use super::blocks::Blocks;
use super::classic::Classic;
use super::input::Input;
use super::{CaptureError, CaptureFault, Interface, Packet, code};

/// Reads the packets of a capture file one by one. It is buffered.
pub struct Reader<R> {
    input: Input<R>,
    format: Format,
    state: ReaderState,
    finished: bool,
}

enum Format {
    Blocks(Blocks),
    Classic(Classic),
}

/// State between packets: the interfaces, and the buffer of the current packet.
#[derive(Default)]
pub(super) struct ReaderState {
    pub(super) interfaces: Vec<Interface>,
    pub(super) block: Vec<u8>,
    pub(super) comment: String,
    pub(super) section: u32,
}

/// A packet and its position in the buffer.
pub(super) struct Located {
    pub(super) interface: u32,
    pub(super) time_ns: u64,
    pub(super) original_len: u32,
    /// Range within the block.
    pub(super) bytes: Range<usize>,
    pub(super) commented: bool,
}

impl<R: Read> Reader<R> {
    /// Starts to read a file; its first bytes determine the format.
    pub fn new(source: R) -> Result<Self, CaptureError> {
        let mut input = Input::new(source);
        let mut state = ReaderState::default();
        let magic = input.array("file header")?;
        let format = if u32::from_be_bytes(magic) == code::SECTION_HEADER {
            Format::Blocks(Blocks::start(&mut input)?)
        } else if let Some(classic) = Classic::recognize(magic) {
            state.interfaces.push(classic.read_header(&mut input)?);
            Format::Classic(classic)
        } else {
            return Err(CaptureError { offset: 0, fault: CaptureFault::NotACapture(magic) });
        };
        Ok(Self { input, format, state, finished: false })
    }

    /// The interfaces of the current section read so far.
    pub fn interfaces(&self) -> &[Interface] {
        &self.state.interfaces
    }

    /// The next packet; `None` at the end of the file, and after an error.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        Ok(self.next_in_section()?.map(|(_, packet, _)| packet))
    }

    /// The next packet with its interface and the number of its section, from 0. Each section of a pcapng
    /// file describes its own interfaces.
    pub fn next_in_section(&mut self) -> Result<Option<(u32, Packet<'_>, &Interface)>, CaptureError> {
        if self.finished {
            return Ok(None);
        }
        let located = match &mut self.format {
            Format::Blocks(blocks) => blocks.next(&mut self.input, &mut self.state),
            Format::Classic(classic) => classic.next(&mut self.input, &mut self.state),
        };
        self.finished = !matches!(located, Ok(Some(_)));
        let state = &self.state;
        Ok(located?.map(|located| {
            let interface = &state.interfaces[located.interface as usize];
            (state.section, state.packet(located), interface)
        }))
    }
}

impl ReaderState {
    fn packet(&self, located: Located) -> Packet<'_> {
        Packet {
            interface: located.interface,
            time_ns: located.time_ns,
            original_len: located.original_len,
            bytes: &self.block[located.bytes],
            comment: located.commented.then_some(self.comment.as_str()),
        }
    }
}
