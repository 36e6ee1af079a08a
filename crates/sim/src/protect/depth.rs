//! How much a buffer of a protected link holds.

/// Bytes in a buffer, now and at most.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Depth {
    pub(super) bytes: u64,
    pub(super) bytes_max: u64,
}

impl Depth {
    pub(super) fn add(&mut self, len: u16) {
        self.bytes += u64::from(len);
    }

    pub(super) fn take(&mut self, len: u16) {
        self.bytes -= u64::from(len);
    }

    /// What it holds now counts.
    pub(super) fn note(&mut self) {
        self.bytes_max = self.bytes_max.max(self.bytes);
    }
}
