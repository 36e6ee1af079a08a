//! Numbers inside a block, in the byte order of its section.

use super::{CaptureError, CaptureFault, code};

/// Byte order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

macro_rules! numbers {
    ($($number:ident),+) => {
        impl ByteOrder {
            $(pub(super) const fn $number(self, bytes: [u8; size_of::<$number>()]) -> $number {
                match self {
                    Self::Little => $number::from_le_bytes(bytes),
                    Self::Big => $number::from_be_bytes(bytes),
                }
            })+
        }

        impl Fields<'_> {
            $(pub(super) fn $number(&mut self, what: &'static str) -> Result<$number, CaptureError> {
                self.array(what).map(|bytes| self.order.$number(bytes))
            })+
        }
    };
}

numbers!(u16, u32, i64);

/// The remaining bytes of a block.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    order: ByteOrder,
    /// Offset of the block in the file.
    start: u64,
    /// Offset of `rest` in the file.
    offset: u64,
}

/// One option of a block.
pub(super) struct OptionField<'a> {
    pub(super) code: u16,
    pub(super) value: &'a [u8],
    /// Offset of the value in the file.
    pub(super) offset: u64,
}

impl<'a> Fields<'a> {
    pub(super) const fn new(block: &'a [u8], order: ByteOrder, offset: u64) -> Self {
        Self { rest: block, order, start: offset, offset }
    }

    /// The fields inside an option's value.
    pub(super) const fn inside(&self, option: &OptionField<'a>) -> Self {
        Self::new(option.value, self.order, option.offset)
    }

    /// Number of bytes read from the block.
    pub(super) const fn position(&self) -> usize {
        (self.offset - self.start) as usize
    }

    pub(super) const fn fault(&self, fault: CaptureFault) -> CaptureError {
        CaptureError { offset: self.offset, fault }
    }

    /// Reads bytes that are padded to a multiple of four.
    pub(super) fn padded(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], CaptureError> {
        let bytes = self.bytes(len, what)?;
        self.bytes(len.wrapping_neg() & 0b11, what)?;
        Ok(bytes)
    }

    /// The next option; `None` at the end of options or of the block.
    pub(super) fn next_option(&mut self) -> Result<Option<OptionField<'a>>, CaptureError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let code = self.u16("option")?;
        let len = self.u16("option")?;
        let offset = self.offset;
        let value = self.padded(len as usize, "option")?;
        Ok((code != code::OPTION_END).then_some(OptionField { code, value, offset }))
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], CaptureError> {
        let (bytes, rest) =
            self.rest.split_first_chunk().ok_or_else(|| self.fault(CaptureFault::ShortBlock(what)))?;
        self.rest = rest;
        self.offset += N as u64;
        Ok(*bytes)
    }

    fn bytes(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], CaptureError> {
        let split = self.rest.split_at_checked(len);
        let (bytes, rest) = split.ok_or_else(|| self.fault(CaptureFault::ShortBlock(what)))?;
        self.rest = rest;
        self.offset += len as u64;
        Ok(bytes)
    }
}

impl OptionField<'_> {
    /// The value as text, with replacement characters for invalid UTF-8.
    pub(super) fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.value)
    }
}
