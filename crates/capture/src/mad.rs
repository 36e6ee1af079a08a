//! Management datagrams (IBA 13.4) and the messages of connection management (IBA 12.6).

/// A management datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mad<'a> {
    /// Management class.
    pub class: u8,
    /// Method; the top bit marks a response.
    pub method: u8,
    /// Attribute: the message of a connection manager.
    pub attribute: u16,
    /// The bytes behind the common header.
    pub body: &'a [u8],
}

/// What a connection manager tells about a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CmMessage {
    /// A request; its sender has this queue pair and these limits.
    Request {
        /// Identifier of the connection at the sender.
        local_id: u32,
        /// Queue pair of the sender.
        qpn: u32,
        /// PSN at which the peer begins to send.
        psn: u32,
        /// Retry count.
        retries: u8,
        /// RNR retry count.
        rnr_retries: u8,
        /// Exponent of the local ACK timeout.
        timeout: u8,
        /// Code of the path MTU: 1 to 5 for 256 to 4096 bytes.
        mtu: u8,
    },
    /// The reply; its sender has this queue pair.
    Reply {
        /// Identifier of the connection at the sender.
        local_id: u32,
        /// Identifier of the connection at the receiver.
        remote_id: u32,
        /// Queue pair of the sender.
        qpn: u32,
        /// PSN at which the peer begins to send.
        psn: u32,
    },
}

/// Class of communication management.
const CLASS_CM: u8 = 7;
const HEADER_BYTES: usize = 24;

impl<'a> Mad<'a> {
    /// Length of the common header.
    pub const HEADER_BYTES: usize = HEADER_BYTES;
    /// Queue key of management datagrams to QP 1.
    pub const QUEUE_KEY: u32 = 0x8001_0000;

    /// Reads the common header.
    pub fn parse(payload: &'a [u8]) -> Option<Self> {
        let (head, body) = payload.split_first_chunk::<HEADER_BYTES>()?;
        let attribute = u16::from_be_bytes([head[16], head[17]]);
        Some(Self { class: head[1], method: head[3], attribute, body })
    }

    /// Name of class and message.
    pub fn name(&self) -> String {
        let class = match self.class {
            0x01 | 0x81 => "subnet management",
            0x03 => "subnet administration",
            0x04 => "performance management",
            CLASS_CM => {
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

    /// The message, if it sets up a connection and the capture has its fields.
    pub fn cm(&self) -> Option<CmMessage> {
        let byte = |at: usize| self.body.get(at).copied();
        let word = |at: usize| Some(u32::from_be_bytes(*self.body.get(at..)?.first_chunk()?));
        match (self.class, self.attribute) {
            (CLASS_CM, 0x10) => Some(CmMessage::Request {
                local_id: word(0)?,
                qpn: word(32)? >> 8,
                psn: word(44)? >> 8,
                retries: byte(47)? & 0b111,
                rnr_retries: byte(50)? & 0b111,
                timeout: byte(95)? >> 3,
                mtu: byte(50)? >> 4,
            }),
            (CLASS_CM, 0x13) => Some(CmMessage::Reply {
                local_id: word(0)?,
                remote_id: word(4)?,
                qpn: word(12)? >> 8,
                psn: word(20)? >> 8,
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offsets of `ib_cm` in Linux, `include/rdma/ibta_vol1_c12.h`.
    #[test]
    fn a_request_and_its_reply_tell_queue_pairs_and_limits() {
        let mut payload = [0; Mad::HEADER_BYTES + 140];
        payload[1] = 7;
        payload[17] = 0x10;
        let body = &mut payload[Mad::HEADER_BYTES..];
        body[..4].copy_from_slice(&[0, 0, 0, 9]);
        body[32..36].copy_from_slice(&[0, 0, 17, 5]);
        body[44..48].copy_from_slice(&[1, 2, 3, 0b1111]);
        body[50] = 3 << 4 | 6;
        body[95] = 14 << 3 | 1;
        let mad = Mad::parse(&payload).unwrap();
        assert_eq!(mad.name(), "CM REQ");
        let request = CmMessage::Request {
            local_id: 9,
            qpn: 17,
            psn: 0x01_0203,
            retries: 7,
            rnr_retries: 6,
            timeout: 14,
            mtu: 3,
        };
        assert_eq!(mad.cm(), Some(request));
        payload[17] = 0x13;
        payload[Mad::HEADER_BYTES + 12..][..3].copy_from_slice(&[0, 0, 18]);
        let Some(CmMessage::Reply { qpn, .. }) = Mad::parse(&payload).unwrap().cm() else {
            panic!("a reply")
        };
        assert_eq!(qpn, 18);
        assert_eq!(Mad::parse(&payload[..40]).unwrap().cm(), None);
        assert_eq!(Mad::parse(&payload[..20]), None);
    }
}
