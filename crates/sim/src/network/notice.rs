//! Notices between the two hosts of a connection, outside the simulated network. They open and close the
//! connection, and report deliveries and the causes of timeouts, which need the state of both ends.
//!
//! A notice takes the bare propagation delay of the two host links, plus the lookahead if the hosts lie in
//! different components. No frame is faster, so a connection is open before its first packet arrives, and no
//! notice crosses a partition border in less than the lookahead.

use std::cmp::Ordering;

use wiremend_proto::engine::Expiry;
use wiremend_units::{HostId, QpNum, Time};

use crate::network::TransportProtocol;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Notice {
    pub(crate) at: Time,
    pub(crate) from: HostId,
    /// Sequence number of the sender's notices. It makes the order of notices total.
    pub(crate) number: u32,
    pub(crate) to: HostId,
    pub(crate) kind: NoticeKind,
}

/// The content of a notice. `qp` is the destination QP number of the requester's packets; `serial` identifies
/// the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoticeKind {
    /// To the responder: the connection opens, for the application on `port`.
    Open { qp: QpNum, requester: QpNum, serial: u32, port: u16, class: u8, protocol: TransportProtocol },
    /// To the responder: the connection closes.
    Close { qp: QpNum, serial: u32 },
    /// To the requester: a message was delivered.
    Delivered(DeliveryNotice),
    /// To the responder: the requester's timer fired at this time; classify the cause.
    Expired { qp: QpNum, serial: u32, at: Time, expiry: Expiry },
}

/// The delivery at time `at` of message number `message` of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeliveryNotice {
    pub(crate) requester: QpNum,
    pub(crate) serial: u32,
    pub(crate) message: u32,
    /// Segments since the previous message that a link had to retransmit.
    pub(crate) link_retransmits: u16,
    pub(crate) at: Time,
}

impl Notice {
    fn key(&self) -> (Time, HostId, u32) {
        (self.at, self.from, self.number)
    }
}

impl Ord for Notice {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Notice {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Notice {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Notice {}
