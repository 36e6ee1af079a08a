//! How long frames are, from MAC header to frame check sequence.

/// Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4.
const HEADERS: u32 = 62;
const RETH: u32 = 16;
const AETH: u32 = 4;
/// Ethernet pads anything shorter.
const FRAME_MIN: u32 = 64;
/// Preamble and the gap between frames: they take time, but an error in them hits no frame.
pub const GAP_BYTES: u32 = 20;

/// What moves the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// RDMA WRITE: its first packet says where the data go.
    Write,
    /// SEND.
    Send,
}

/// Frame sizes in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Payload of a full packet.
    pub mtu: u32,
    /// Everything but payload, in a middle or last packet.
    pub header: u32,
    /// What the first packet of a message has in addition.
    pub first_extra: u32,
    /// No frame is shorter.
    pub min: u32,
    /// A dummy.
    pub dummy: u32,
    /// An ACK or a NAK.
    pub answer: u32,
}

impl Sizes {
    /// What is on the wire (IPv4, no VLAN): with MTU 1024 a WRITE of one full packet is 1102 B, a middle packet
    /// 1086 B, a zero-length WRITE 78 B, an answer 66 B. Dummies are zero-length messages of the same operation.
    pub fn real(mtu: u32, operation: Operation) -> Self {
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

    /// As JCST §3.2 counts: a packet is its payload and 62 B, a dummy 62 B, an answer 68 B.
    pub fn paper(mtu: u32) -> Self {
        Self { mtu, header: HEADERS, first_extra: 0, min: 0, dummy: HEADERS, answer: 68 }
    }

    /// The longest frame, which β is stated for: a full packet that opens a message.
    pub fn full(&self) -> u32 {
        self.mtu + self.header + self.first_extra
    }

    /// A full packet inside a message.
    pub fn middle(&self) -> u32 {
        self.mtu + self.header
    }

    /// The first packet of a message, with this payload.
    pub fn first(&self, payload: f64) -> f64 {
        (payload + f64::from(self.header + self.first_extra)).max(f64::from(self.min))
    }

    /// The last packet of a longer message, with this payload.
    pub fn last(&self, payload: f64) -> f64 {
        (payload + f64::from(self.header)).max(f64::from(self.min))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_wire() {
        let write = Sizes::real(1024, Operation::Write);
        assert_eq!((write.full(), write.middle(), write.dummy, write.answer), (1102, 1086, 78, 66));
        assert_eq!(Sizes::real(4096, Operation::Send).full(), 4158);
        assert_eq!(Sizes::real(1024, Operation::Send).dummy, 64, "62 B are padded");
        let paper = Sizes::paper(1024);
        assert_eq!((paper.full(), paper.middle(), paper.dummy, paper.answer), (1086, 1086, 62, 68));
    }
}
