//! Occupancy of a buffer of a protected link.

/// Bytes in a buffer: now and at most.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Occupancy {
    pub(super) bytes: u64,
    pub(super) bytes_max: u64,
}

impl Occupancy {
    pub(super) fn add(&mut self, len: u16) {
        self.bytes += u64::from(len);
    }

    pub(super) fn remove(&mut self, len: u16) {
        self.bytes -= u64::from(len);
    }

    /// Updates the maximum.
    pub(super) fn update_max(&mut self) {
        self.bytes_max = self.bytes_max.max(self.bytes);
    }
}
