//! Writing pcapng.

use std::io::{self, Write};

use super::clock::Clock;
use super::{LINK_TYPE_ETHERNET, Packet, code};

/// Writes a pcapng file of Ethernet frames with nanosecond times. It is not buffered: use a `BufWriter`.
pub struct Writer<W> {
    sink: W,
    interfaces: u32,
    /// The current block.
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Starts a file with the name of the application.
    pub fn new(sink: W, application: &str) -> io::Result<Self> {
        /// Length of a section that is written as a stream.
        const UNKNOWN_LEN: u64 = u64::MAX;
        let mut writer = Self { sink, interfaces: 0, block: Vec::new() };
        writer.begin(code::SECTION_HEADER);
        writer.push(code::BYTE_ORDER_MAGIC.to_le_bytes());
        writer.push(1_u16.to_le_bytes());
        writer.push(0_u16.to_le_bytes());
        writer.push(UNKNOWN_LEN.to_le_bytes());
        writer.option(code::SECTION_APPLICATION, application.as_bytes())?;
        writer.option(code::OPTION_END, &[])?;
        writer.finish()?;
        Ok(writer)
    }

    /// Adds an interface; returns its index.
    pub fn add_interface(&mut self, name: &str) -> io::Result<u32> {
        const NO_SNAP_LEN: u32 = 0;
        self.begin(code::INTERFACE_DESCRIPTION);
        self.push(LINK_TYPE_ETHERNET.to_le_bytes());
        self.push(0_u16.to_le_bytes());
        self.push(NO_SNAP_LEN.to_le_bytes());
        self.option(code::INTERFACE_NAME, name.as_bytes())?;
        self.option(code::INTERFACE_TIME_RESOLUTION, &[Clock::NANOSECONDS_CODE])?;
        self.option(code::OPTION_END, &[])?;
        self.finish()?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Adds a packet of an existing interface.
    pub fn write(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        assert!(packet.interface < self.interfaces, "an interface is added before its packets");
        let captured_len = u32::try_from(packet.bytes.len()).expect("a frame is shorter than 4 GiB");
        self.begin(code::ENHANCED_PACKET);
        self.push(packet.interface.to_le_bytes());
        self.push(((packet.time_ns >> 32) as u32).to_le_bytes());
        self.push((packet.time_ns as u32).to_le_bytes());
        self.push(captured_len.to_le_bytes());
        self.push(packet.original_len.to_le_bytes());
        self.push_padded(packet.bytes);
        if let Some(comment) = packet.comment {
            self.option(code::OPTION_COMMENT, comment.as_bytes())?;
            self.option(code::OPTION_END, &[])?;
        }
        self.finish()
    }

    /// Flushes the sink.
    pub fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    /// Returns the sink.
    pub fn into_inner(self) -> W {
        self.sink
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.push(kind.to_le_bytes());
        self.push([0; 4]);
    }

    /// Writes the block with its length at both ends.
    fn finish(&mut self) -> io::Result<()> {
        let len = (self.block.len() as u32 + 4).to_le_bytes();
        self.block[4..8].copy_from_slice(&len);
        self.push(len);
        self.sink.write_all(&self.block)
    }

    fn push<const N: usize>(&mut self, bytes: [u8; N]) {
        self.block.extend(bytes);
    }

    fn push_padded(&mut self, bytes: &[u8]) {
        self.block.extend(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Writes an option. Its length has 16 bits: a longer text is an error.
    fn option(&mut self, code: u16, value: &[u8]) -> io::Result<()> {
        let len = u16::try_from(value.len()).map_err(|_| {
            let why = format!("name or comment of {} bytes; at most {}", value.len(), u16::MAX);
            io::Error::new(io::ErrorKind::InvalidInput, why)
        })?;
        self.push(code.to_le_bytes());
        self.push(len.to_le_bytes());
        self.push_padded(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A complete file byte by byte: lengths at both ends, everything a multiple of four.
    #[test]
    fn blocks_have_the_bytes_of_the_format() {
        let mut writer = Writer::new(Vec::new(), "wiremend").unwrap();
        let interface = writer.add_interface("l0").unwrap();
        let (time_ns, comment) = (0x1_0000_0002, Some("lost!"));
        writer
            .write(&Packet { interface, time_ns, original_len: 9, bytes: &[1, 2, 3, 4, 5], comment })
            .unwrap();
        let words: Vec<_> =
            writer.into_inner().chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        let text = |text: &[u8; 4]| u32::from_le_bytes(*text);
        let section = [
            0x0A0D_0D0A,
            44,
            0x1A2B_3C4D,
            1,
            u32::MAX,
            u32::MAX,
            8 << 16 | 4,
            text(b"wire"),
            text(b"mend"),
            0,
            44,
        ];
        let interface = [1, 40, 1, 0, 2 << 16 | 2, text(b"l0\0\0"), 1 << 16 | 9, 9, 0, 40];
        let packet =
            [6, 56, 0, 1, 2, 5, 9, 0x0403_0201, 5, 5 << 16 | 1, text(b"lost"), text(b"!\0\0\0"), 0, 56];
        assert_eq!(words, [section.as_slice(), &interface, &packet].concat());
    }

    #[test]
    fn a_comment_that_is_too_long_is_refused_and_writes_nothing() {
        let mut writer = Writer::new(Vec::new(), "").unwrap();
        let interface = writer.add_interface("").unwrap();
        let before = writer.sink.len();
        let comment = "x".repeat(70_000);
        let packet = Packet { interface, time_ns: 0, original_len: 0, bytes: &[], comment: Some(&comment) };
        let error = writer.write(&packet).unwrap_err();
        assert!(error.to_string().contains("65535"), "{error}");
        assert_eq!(writer.sink.len(), before);
    }
}
