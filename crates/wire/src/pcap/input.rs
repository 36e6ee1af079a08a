//! A byte source with a position.

use std::io::{self, BufReader, Read};

use super::{CaptureError, CaptureFault};

/// Bytes that are read at a time: few system calls for large files.
const BUFFER_BYTES: usize = 1 << 18;

/// A byte source and the number of bytes read.
pub(super) struct Input<R> {
    source: BufReader<R>,
    offset: u64,
}

impl<R: Read> Input<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source: BufReader::with_capacity(BUFFER_BYTES, source), offset: 0 }
    }

    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// The next `N` bytes; `None` if the file ends before them.
    pub(super) fn array_or_end<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<Option<[u8; N]>, CaptureError> {
        let mut bytes = [0; N];
        let mut filled = 0;
        while filled < N {
            match self.source.read(&mut bytes[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(self.ended(filled, what)),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        self.offset += N as u64;
        Ok(Some(bytes))
    }

    pub(super) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], CaptureError> {
        self.array_or_end(what)?.ok_or_else(|| self.ended(0, what))
    }

    /// Replaces `buffer` by the next `len` bytes. Memory grows with the available bytes, not with `len`.
    pub(super) fn read(
        &mut self,
        buffer: &mut Vec<u8>,
        len: u32,
        what: &'static str,
    ) -> Result<(), CaptureError> {
        buffer.clear();
        let count =
            self.source.by_ref().take(len.into()).read_to_end(buffer).map_err(|error| self.failed(error))?;
        self.advance(count as u64, len, what)
    }

    /// Skips `len` bytes.
    pub(super) fn skip(&mut self, len: u32, what: &'static str) -> Result<(), CaptureError> {
        let count = io::copy(&mut self.source.by_ref().take(len.into()), &mut io::sink());
        let count = count.map_err(|error| self.failed(error))?;
        self.advance(count, len, what)
    }

    fn advance(&mut self, count: u64, len: u32, what: &'static str) -> Result<(), CaptureError> {
        if count < len.into() {
            return Err(self.ended(count as usize, what));
        }
        self.offset += count;
        Ok(())
    }

    fn ended(&self, filled: usize, what: &'static str) -> CaptureError {
        CaptureError { offset: self.offset + filled as u64, fault: CaptureFault::Truncated(what) }
    }

    fn failed(&self, error: io::Error) -> CaptureError {
        CaptureError { offset: self.offset, fault: CaptureFault::Io(error) }
    }
}
