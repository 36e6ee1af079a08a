//! Frame lengths, from MAC header to frame check sequence.

/// Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4.
const HEADERS: u32 = 62;
const RETH: u32 = 16;
const AETH: u32 = 4;
/// Shortest Ethernet frame.
const FRAME_MIN: u32 = 64;
/// Preamble and inter-frame gap: they take time, but an error in them corrupts no frame.
pub const GAP_BYTES: u32 = 20;

/// Operation that transfers the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// RDMA WRITE: its first packet has a RETH.
    Write,
    /// SEND.
    Send,
}

/// Frame sizes in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameSizes {
    /// Payload of a full packet.
    pub mtu: u32,
    /// All bytes but payload, in a middle or last packet.
    pub header: u32,
    /// Additional bytes in the first packet of a message.
    pub first_extra: u32,
    /// Shortest frame.
    pub min: u32,
    /// A dummy.
    pub dummy: u32,
    /// An ACK or a NAK.
    pub answer: u32,
}

impl FrameSizes {
    /// Sizes on the wire (IPv4, no VLAN): with MTU 1024 a WRITE of one full packet has 1102 B, a middle
    /// packet 1086 B, a zero-length WRITE 78 B, an ACK or NAK 66 B. Dummies are zero-length messages of the
    /// same operation.
    pub fn on_wire(mtu: u32, operation: Operation) -> Self {
        let first_extra = if operation == Operation::Write { RETH } else { 0 };
        Self {
            mtu,
            header: HEADERS,
            first_extra,
            min: FRAME_MIN,
            dummy: (HEADERS + first_extra).max(FRAME_MIN),
            answer: HEADERS + AETH,
        }
    }

    /// Sizes of JCST §3.2: a packet has its payload and 62 B, a dummy 62 B, an ACK or NAK 68 B.
    pub fn paper(mtu: u32) -> Self {
        Self { mtu, header: HEADERS, first_extra: 0, min: 0, dummy: HEADERS, answer: 68 }
    }

    /// The longest frame, for which β is stated: a full packet that starts a message.
    pub fn full(&self) -> u32 {
        self.mtu + self.header + self.first_extra
    }

    /// A full packet in the middle of a message.
    pub fn middle(&self) -> u32 {
        self.mtu + self.header
    }

    /// The first packet of a message with this payload.
    pub fn first(&self, payload: f64) -> f64 {
        (payload + f64::from(self.header + self.first_extra)).max(f64::from(self.min))
    }

    /// The last packet of a longer message with this payload.
    pub fn last(&self, payload: f64) -> f64 {
        (payload + f64::from(self.header)).max(f64::from(self.min))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_wire() {
        let write = FrameSizes::on_wire(1024, Operation::Write);
        assert_eq!((write.full(), write.middle(), write.dummy, write.answer), (1102, 1086, 78, 66));
        assert_eq!(FrameSizes::on_wire(4096, Operation::Send).full(), 4158);
        assert_eq!(FrameSizes::on_wire(1024, Operation::Send).dummy, 64, "62 B are padded");
        let paper = FrameSizes::paper(1024);
        assert_eq!((paper.full(), paper.middle(), paper.dummy, paper.answer), (1086, 1086, 62, 68));
    }
}
