//! Builds capture files like other programs.

/// Byte order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

macro_rules! numbers {
    ($($number:ident),+) => {
        impl ByteOrder {
            $(pub(crate) fn $number(self, number: $number) -> [u8; size_of::<$number>()] {
                match self {
                    Self::Little => number.to_le_bytes(),
                    Self::Big => number.to_be_bytes(),
                }
            })+
        }
    };
}

numbers!(u16, u32, u64);

/// The header of a pcap file: version 2.4, snap length 128, Ethernet.
pub(crate) fn pcap_header(order: ByteOrder, magic: u32) -> Vec<u8> {
    let version = [order.u16(2), order.u16(4)].concat();
    let rest = [order.u32(0), order.u32(0), order.u32(128), order.u32(1)].concat();
    [&order.u32(magic)[..], &version, &rest].concat()
}

/// A pcapng file under construction.
pub(crate) struct File {
    pub(crate) order: ByteOrder,
    pub(crate) bytes: Vec<u8>,
}

impl File {
    /// A file that starts with a section.
    pub(crate) fn new(order: ByteOrder) -> Self {
        let mut file = Self { order, bytes: Vec::new() };
        file.section();
        file
    }

    pub(crate) fn section(&mut self) {
        let version = [self.order.u16(1), self.order.u16(0)].concat();
        let body = [&self.order.u32(0x1A2B_3C4D)[..], &version, &self.order.u64(u64::MAX)].concat();
        self.block(0x0A0D_0D0A, &body);
    }

    pub(crate) fn interface(&mut self, options: &[(u16, &[u8])]) {
        self.interface_cut_at(0, options);
    }

    pub(crate) fn interface_cut_at(&mut self, snap_len: u32, options: &[(u16, &[u8])]) {
        let mut body = [self.order.u16(1), self.order.u16(0)].concat();
        body.extend(self.order.u32(snap_len));
        self.options(&mut body, options);
        self.block(1, &body);
    }

    pub(crate) fn packet(&mut self, interface: u32, ticks: u64, bytes: &[u8], options: &[(u16, &[u8])]) {
        let len = bytes.len() as u32;
        let mut body = Vec::new();
        for word in [interface, (ticks >> 32) as u32, ticks as u32, len, len] {
            body.extend(self.order.u32(word));
        }
        body.extend(bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        self.options(&mut body, options);
        self.block(6, &body);
    }

    pub(crate) fn block(&mut self, kind: u32, body: &[u8]) {
        assert!(body.len().is_multiple_of(4));
        let len = self.order.u32(body.len() as u32 + 12);
        self.bytes.extend(self.order.u32(kind));
        self.bytes.extend(len);
        self.bytes.extend(body);
        self.bytes.extend(len);
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    fn options(&self, body: &mut Vec<u8>, options: &[(u16, &[u8])]) {
        for (code, value) in options {
            body.extend(self.order.u16(*code));
            body.extend(self.order.u16(value.len() as u16));
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
    }
}
