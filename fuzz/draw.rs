//! Bytes of a fuzzer as choices. After the last byte, every choice is the first.

/// The remaining bytes.
pub(crate) struct Draw<'a> {
    bytes: &'a [u8],
}

#[allow(dead_code, reason = "not every check uses every function")]
impl<'a> Draw<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    pub(crate) fn word(&mut self) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// True once in `one_of` times.
    pub(crate) fn is(&mut self, one_of: u8) -> bool {
        self.byte() % one_of == one_of - 1
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.byte()) % choices.len()]
    }

    /// A number near `known`, or any.
    pub(crate) fn near(&mut self, known: u32) -> u32 {
        match self.byte() {
            255 => self.word(),
            offset => known.wrapping_add(u32::from(offset)).wrapping_sub(64),
        }
    }
}
