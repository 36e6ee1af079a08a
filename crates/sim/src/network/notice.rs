//! What the ends of a connection tell each other outside the network: that it opens and closes, and the truth
//! about deliveries and timeouts that only the two ends together know.
//!
//! A notice takes the bare propagation delay of the path's two host links, plus the lookahead if the hosts lie in
//! different components. No frame is faster, so an opening is always known before the first packet comes, and
//! no notice crosses a partition in less than the lookahead.

use std::cmp::Ordering;

use wiremend_proto::engine::Expiry;
use wiremend_units::{HostId, QpNum, Time};

use crate::network::Protocol;

/// A notice under way to a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notice {
    pub(crate) at: Time,
    pub(crate) from: HostId,
    /// Counts the notices of `from`: with it, the order of notices is total.
    pub(crate) number: u32,
    pub(crate) to: HostId,
    pub(crate) what: News,
}

/// What a notice says. `qp` is the number that the requester's packets carry; `serial` its connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum News {
    /// To the responder: expect this connection, for the application on `port`.
    Open { qp: QpNum, requester: QpNum, serial: u32, port: u16, class: u8, protocol: Protocol },
    /// To the responder: forget this connection.
    Close { qp: QpNum, serial: u32 },
    /// To the requester: a message was delivered.
    Delivered(Delivered),
    /// To the responder: the requester's timer fired. Name the cause.
    Expired { qp: QpNum, serial: u32, expiry: Expiry },
}

/// Message number `message` of a connection was delivered at `at`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    pub(crate) requester: QpNum,
    pub(crate) serial: u32,
    pub(crate) message: u32,
    /// Segments that a link had to send again, since the message before.
    pub(crate) mended: u16,
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
