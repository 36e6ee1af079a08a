//! Management datagrams (IBA 13.4).

/// A management datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mad<'a> {
    /// Management class.
    pub class: u8,
    /// Method; the top bit marks a response.
    pub method: u8,
    /// Identifier of the transaction: answers repeat it.
    pub transaction: u64,
    /// Attribute: the message of a connection manager.
    pub attribute: u16,
    /// The bytes behind the common header.
    pub body: &'a [u8],
}

const HEADER_BYTES: usize = 24;
const BYTES: usize = 256;
const BASE_VERSION: u8 = 1;
/// Class version of connection management (IBA 12.6).
const CM_VERSION: u8 = 2;

impl<'a> Mad<'a> {
    /// Length of the common header.
    pub const HEADER_BYTES: usize = HEADER_BYTES;
    /// Length of a datagram.
    pub const BYTES: usize = BYTES;
    /// Queue key of management datagrams to QP 1.
    pub const QUEUE_KEY: u32 = 0x8001_0000;
    /// Class of communication management.
    pub const CLASS_CM: u8 = 7;
    /// Method of the messages of connection managers.
    pub const SEND: u8 = 3;

    /// Reads the common header.
    pub fn parse(payload: &'a [u8]) -> Option<Self> {
        let (head, body) = payload.split_first_chunk::<HEADER_BYTES>()?;
        let transaction = u64::from_be_bytes(*head[8..].first_chunk()?);
        let attribute = u16::from_be_bytes([head[16], head[17]]);
        Some(Self { class: head[1], method: head[3], transaction, attribute, body })
    }

    /// Writes a message of a connection manager. The rest of the datagram is zero.
    pub(super) fn emit(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let (head, body) = bytes.split_at_mut(HEADER_BYTES);
        head[..4].copy_from_slice(&[BASE_VERSION, self.class, CM_VERSION, self.method]);
        head[8..16].copy_from_slice(&self.transaction.to_be_bytes());
        head[16..18].copy_from_slice(&self.attribute.to_be_bytes());
        body[..self.body.len()].copy_from_slice(self.body);
        bytes
    }

    /// Name of class and message.
    pub fn name(&self) -> String {
        let class = match self.class {
            0x01 | 0x81 => "subnet management",
            0x03 => "subnet administration",
            0x04 => "performance management",
            Self::CLASS_CM => {
                return match self.attribute {
                    0x10 => "CM REQ".to_owned(),
                    0x11 => "CM MRA".to_owned(),
                    0x12 => "CM REJ".to_owned(),
                    0x13 => "CM REP".to_owned(),
                    0x14 => "CM RTU".to_owned(),
                    0x15 => "CM DREQ".to_owned(),
                    0x16 => "CM DREP".to_owned(),
                    0x17 => "CM SIDR REQ".to_owned(),
                    0x18 => "CM SIDR REP".to_owned(),
                    0x19 => "CM LAP".to_owned(),
                    0x1A => "CM APR".to_owned(),
                    attribute => format!("CM attribute {attribute:#06x}"),
                };
            }
            class => return format!("MAD class {class:#04x} attribute {:#06x}", self.attribute),
        };
        format!("{class} attribute {:#06x}", self.attribute)
    }
}
