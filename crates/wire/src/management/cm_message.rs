//! The messages of a connection manager that set up and end reliable connections (IBA 12.6).

use std::net::{IpAddr, Ipv6Addr};

use wiremend_units::{Psn, QpNum};

use super::{CmAddresses, Mad};

/// Identifiers of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CmIds {
    /// At the sender of the message.
    pub local: u32,
    /// At its receiver.
    pub remote: u32,
}

/// What a connection manager tells about a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CmMessage {
    /// REQ: a request.
    Request(CmRequest),
    /// MRA: the answer takes this long, as an exponent of a timeout.
    Wait(CmIds, u8),
    /// REJ: no.
    Reject(CmIds, CmReject),
    /// REP: the reply to a request.
    Reply(CmReply),
    /// RTU: the reply has arrived.
    Ready(CmIds),
    /// DREQ: the connection with this queue pair of the receiver ends.
    Disconnect(CmIds, QpNum),
    /// DREP: it has ended.
    Disconnected(CmIds),
}

/// A request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CmRequest {
    /// Identifier of the connection at the sender.
    pub local_id: u32,
    /// The service.
    pub service: u64,
    /// Transport: 0 for reliable connections.
    pub transport: u8,
    /// Queue pair of the sender.
    pub pair: QpNum,
    /// PSN at which the peer begins to send.
    pub psn: Psn,
    /// READs and atomic operations that the sender answers at a time.
    pub responder_resources: u8,
    /// READs and atomic operations that the sender may have in flight.
    pub initiator_depth: u8,
    /// Retry count.
    pub retries: u8,
    /// RNR retry count.
    pub rnr_retries: u8,
    /// Exponent of the local ACK timeout.
    pub timeout: u8,
    /// Code of the path MTU: 1 to 5 for 256 to 4096 bytes.
    pub mtu: u8,
    /// Addresses of the sender's and of the receiver's port.
    pub ports: [IpAddr; 2],
    /// Addresses of the RDMA CM, in the private data.
    pub addresses: Option<CmAddresses>,
}

/// A reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CmReply {
    /// Identifiers of the connection.
    pub ids: CmIds,
    /// Queue pair of the sender.
    pub pair: QpNum,
    /// PSN at which the peer begins to send.
    pub psn: Psn,
    /// READs and atomic operations that the sender answers at a time.
    pub responder_resources: u8,
    /// READs and atomic operations that the sender may have in flight.
    pub initiator_depth: u8,
    /// RNR retry count.
    pub rnr_retries: u8,
}

/// Why a request or reply is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CmReject {
    /// Which message: 0 REQ, 1 REP, 2 none.
    pub message: u8,
    /// Reason (IBA 12.6.7.2).
    pub reason: u16,
}

impl CmReject {
    /// No resources.
    pub const NO_RESOURCES: u16 = 3;
    /// The other end does not answer.
    pub const TIMEOUT: u16 = 4;
    /// The request cannot be fulfilled.
    pub const UNSUPPORTED: u16 = 5;
    /// Nobody serves this service.
    pub const INVALID_SERVICE: u16 = 8;
    /// Only reliable connections.
    pub const INVALID_TRANSPORT: u16 = 9;
    /// The path MTU is too large.
    pub const INVALID_MTU: u16 = 26;
    /// The application refuses.
    pub const CONSUMER: u16 = 28;
}

mod attribute {
    pub(super) const REQ: u16 = 0x10;
    pub(super) const MRA: u16 = 0x11;
    pub(super) const REJ: u16 = 0x12;
    pub(super) const REP: u16 = 0x13;
    pub(super) const RTU: u16 = 0x14;
    pub(super) const DREQ: u16 = 0x15;
    pub(super) const DREP: u16 = 0x16;
}

/// Bytes of a message in a datagram.
const BODY_BYTES: usize = Mad::BYTES - Mad::HEADER_BYTES;
/// Where the private data of a request begin.
const PRIVATE: usize = 140;
/// Exponent of the time in which this end answers messages, as Linux has it: 4.3 s.
const RESPONSE_TIMEOUT: u8 = 20;
/// Repetitions of a message of the peer that this end expects at most.
const CM_RETRIES: u8 = 15;
const RATE_10_GBIT: u8 = 3;
const HOP_LIMIT: u8 = 64;
/// Exponent of the time in which this end acknowledges.
const ACK_DELAY: u8 = 15;
/// Value of the field "failover accepted" of a reply: failover is not supported.
const NO_FAILOVER: u8 = 1;

impl CmMessage {
    /// Reads a message, if it concerns a reliable connection and the capture has its fields.
    pub fn parse(mad: &Mad<'_>) -> Option<Self> {
        let body = mad.body;
        let byte = |at: usize| body.get(at).copied();
        let word = |at: usize| Some(u32::from_be_bytes(*body.get(at..)?.first_chunk()?));
        let ids = || Some(CmIds { local: word(0)?, remote: word(4)? });
        if mad.class != Mad::CLASS_CM {
            return None;
        }
        Some(match mad.attribute {
            attribute::REQ => Self::Request(CmRequest::parse(body)?),
            attribute::MRA => Self::Wait(ids()?, byte(9)? >> 3),
            attribute::REJ => {
                let reason = (word(8)? & 0xFFFF) as u16;
                Self::Reject(ids()?, CmReject { message: byte(8)? >> 6, reason })
            }
            attribute::REP => Self::Reply(CmReply {
                ids: ids()?,
                pair: QpNum::new(word(12)? >> 8),
                psn: Psn::new(word(20)? >> 8),
                responder_resources: byte(24)?,
                initiator_depth: byte(25)?,
                rnr_retries: byte(27)? >> 5,
            }),
            attribute::RTU => Self::Ready(ids()?),
            attribute::DREQ => Self::Disconnect(ids()?, QpNum::new(word(8)? >> 8)),
            attribute::DREP => Self::Disconnected(ids()?),
            _ => return None,
        })
    }

    /// The datagram.
    pub fn to_bytes(&self, transaction: u64) -> [u8; Mad::BYTES] {
        let mut body = [0; BODY_BYTES];
        let mut put_ids = |ids: &CmIds| {
            body[..4].copy_from_slice(&ids.local.to_be_bytes());
            body[4..8].copy_from_slice(&ids.remote.to_be_bytes());
        };
        let attribute = match self {
            Self::Request(request) => {
                request.emit(&mut body);
                attribute::REQ
            }
            Self::Wait(ids, timeout) => {
                put_ids(ids);
                body[9] = timeout << 3;
                attribute::MRA
            }
            Self::Reject(ids, reject) => {
                put_ids(ids);
                body[8] = reject.message << 6;
                body[10..12].copy_from_slice(&reject.reason.to_be_bytes());
                attribute::REJ
            }
            Self::Reply(reply) => {
                put_ids(&reply.ids);
                body[12..15].copy_from_slice(&reply.pair.to_be_bytes());
                body[20..23].copy_from_slice(&reply.psn.to_be_bytes());
                body[24..26].copy_from_slice(&[reply.responder_resources, reply.initiator_depth]);
                body[26] = ACK_DELAY << 3 | NO_FAILOVER << 1;
                body[27] = reply.rnr_retries << 5;
                attribute::REP
            }
            Self::Ready(ids) => {
                put_ids(ids);
                attribute::RTU
            }
            Self::Disconnect(ids, pair) => {
                put_ids(ids);
                body[8..11].copy_from_slice(&pair.to_be_bytes());
                attribute::DREQ
            }
            Self::Disconnected(ids) => {
                put_ids(ids);
                attribute::DREP
            }
        };
        Mad { class: Mad::CLASS_CM, method: Mad::SEND, transaction, attribute, body: &body }.emit()
    }
}

impl CmRequest {
    /// Offsets: IBA 12.6.5.
    fn parse(body: &[u8]) -> Option<Self> {
        let byte = |at: usize| body.get(at).copied();
        let word = |at: usize| Some(u32::from_be_bytes(*body.get(at..)?.first_chunk()?));
        let port = |at: usize| Some(ip_of(*body.get(at..)?.first_chunk()?));
        Some(Self {
            local_id: word(0)?,
            service: u64::from(word(8)?) << 32 | u64::from(word(12)?),
            transport: byte(43)? >> 1 & 0b11,
            pair: QpNum::new(word(32)? >> 8),
            psn: Psn::new(word(44)? >> 8),
            responder_resources: byte(35)?,
            initiator_depth: byte(39)?,
            retries: byte(47)? & 0b111,
            rnr_retries: byte(50)? & 0b111,
            timeout: byte(95)? >> 3,
            mtu: byte(50)? >> 4,
            ports: [port(56)?, port(72)?],
            addresses: body.get(PRIVATE..).and_then(CmAddresses::parse),
        })
    }

    fn emit(&self, body: &mut [u8; BODY_BYTES]) {
        body[..4].copy_from_slice(&self.local_id.to_be_bytes());
        body[8..16].copy_from_slice(&self.service.to_be_bytes());
        body[32..35].copy_from_slice(&self.pair.to_be_bytes());
        body[35] = self.responder_resources;
        body[39] = self.initiator_depth;
        body[43] = RESPONSE_TIMEOUT << 3 | self.transport << 1;
        body[44..47].copy_from_slice(&self.psn.to_be_bytes());
        body[47] = RESPONSE_TIMEOUT << 3 | self.retries;
        body[48..50].copy_from_slice(&[0xFF, 0xFF]);
        body[50] = self.mtu << 4 | self.rnr_retries;
        body[51] = CM_RETRIES << 4;
        for (at, ip) in [(56, self.ports[0]), (72, self.ports[1])] {
            body[at..at + 16].copy_from_slice(&gid_of(ip));
        }
        body[91] = RATE_10_GBIT;
        body[93] = HOP_LIMIT;
        body[95] = self.timeout << 3;
        if let Some(addresses) = &self.addresses {
            body[PRIVATE..PRIVATE + CmAddresses::BYTES].copy_from_slice(&addresses.to_bytes());
        }
    }
}

/// The GID of `RoCEv2`: the address, as IPv6 (IBA annex A17).
pub fn gid_of(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// The address of a GID.
pub fn ip_of(gid: [u8; 16]) -> IpAddr {
    Ipv6Addr::from(gid).to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> CmRequest {
        let (source, destination) = (IpAddr::from([198, 18, 0, 2]), IpAddr::from([198, 18, 0, 1]));
        CmRequest {
            local_id: 9,
            service: CmAddresses::service_of(7174),
            transport: 0,
            pair: QpNum::new(17),
            psn: Psn::new(0x01_0203),
            responder_resources: 4,
            initiator_depth: 5,
            retries: 7,
            rnr_retries: 6,
            timeout: 14,
            mtu: 3,
            ports: [source, destination],
            addresses: Some(CmAddresses { source_port: 5, source, destination }),
        }
    }

    fn read(bytes: &[u8]) -> Option<CmMessage> {
        CmMessage::parse(&Mad::parse(bytes)?)
    }

    /// Offsets of `ib_cm` in Linux, `include/rdma/ibta_vol1_c12.h`.
    #[test]
    fn a_request_and_its_reply_tell_queue_pairs_and_limits() {
        let mut payload = [0; Mad::BYTES];
        payload[1] = 7;
        payload[17] = 0x10;
        let body = &mut payload[Mad::HEADER_BYTES..];
        body[..4].copy_from_slice(&[0, 0, 0, 9]);
        body[8..16].copy_from_slice(&[0, 0, 0, 0, 1, 6, 0x1C, 0x06]);
        body[32..36].copy_from_slice(&[0, 0, 17, 4]);
        body[39] = 5;
        body[44..48].copy_from_slice(&[1, 2, 3, 0b1111]);
        body[50] = 3 << 4 | 6;
        body[66..72].copy_from_slice(&[0xFF, 0xFF, 198, 18, 0, 2]);
        body[82..88].copy_from_slice(&[0xFF, 0xFF, 198, 18, 0, 1]);
        body[95] = 14 << 3 | 1;
        body[141] = 0x40;
        body[143] = 5;
        body[156..160].copy_from_slice(&[198, 18, 0, 2]);
        body[172..176].copy_from_slice(&[198, 18, 0, 1]);
        assert_eq!(Mad::parse(&payload).unwrap().name(), "CM REQ");
        assert_eq!(read(&payload), Some(CmMessage::Request(request())));
        payload[17] = 0x13;
        payload[Mad::HEADER_BYTES + 12..][..3].copy_from_slice(&[0, 0, 18]);
        let Some(CmMessage::Reply(reply)) = read(&payload) else { panic!("a reply") };
        assert_eq!(reply.pair, QpNum::new(18));
        assert_eq!(read(&payload[..40]), None);
        assert_eq!(Mad::parse(&payload[..20]), None);
    }

    #[test]
    fn messages_are_read_as_they_are_written_and_truncated_ones_are_not() {
        let ids = CmIds { local: 1, remote: 0xFFFF_FFFE };
        let reply = CmReply {
            ids,
            pair: QpNum::new(0xAB_CDEF),
            psn: Psn::new(77),
            responder_resources: 1,
            initiator_depth: 2,
            rnr_retries: 7,
        };
        let reject = CmReject { message: 1, reason: CmReject::INVALID_SERVICE };
        for message in [
            CmMessage::Request(request()),
            CmMessage::Wait(ids, 20),
            CmMessage::Reject(ids, reject),
            CmMessage::Reply(reply),
            CmMessage::Ready(ids),
            CmMessage::Disconnect(ids, QpNum::new(5)),
            CmMessage::Disconnected(ids),
        ] {
            let bytes = message.to_bytes(3);
            assert_eq!(Mad::parse(&bytes).unwrap().transaction, 3);
            assert_eq!(read(&bytes), Some(message));
            // A request whose private data are cut lacks its addresses only.
            for len in 0..bytes.len() {
                if let Some(CmMessage::Request(cut)) = read(&bytes[..len]) {
                    assert_eq!(CmRequest { addresses: request().addresses, ..cut }, request());
                }
            }
            assert_eq!(read(&bytes[..Mad::HEADER_BYTES + 7]), None);
        }
    }
}
