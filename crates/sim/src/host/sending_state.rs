//! What connections send and may send, for samples over time.

use wiremend_proto::engine::Op;
use wiremend_proto::rc;
use wiremend_units::Rate;

use super::Host;
use super::connection::Connection;
use super::protocol_engine::RequesterEngine;
use crate::network::{Network, Transport};
use crate::observe::{SendingState, SentBytes};

impl Host {
    /// Returns what the connection in a slot sends.
    pub(crate) fn sending_state(&self, net: &Network, slot: u32) -> SendingState {
        self.connections[slot as usize].sending_state(&net.transport)
    }
}

impl Connection {
    pub(super) fn sending_state(&self, transport: &Transport) -> SendingState {
        SendingState {
            sent: self.sent_bytes(transport),
            rate_bps: self.control.as_ref().and_then(|control| control.sending_rate()).map(Rate::bits_per_s),
            window_bytes: self.requester.window_bytes(transport),
        }
    }

    /// Returns the payload bytes sent, in full packets.
    pub(super) fn sent_bytes(&self, transport: &Transport) -> SentBytes {
        let counters = self.requester.counters();
        let payload = u64::from(self.requester.payload_max(transport));
        let new = if transport.op == Op::Read {
            // The data of a READ arrives here.
            self.requester.acknowledged()
        } else {
            let others = counters.retransmitted_packets + counters.dummies + counters.repeats;
            counters.packets.saturating_sub(others)
        };
        SentBytes { new: new * payload, again: counters.retransmitted_bytes }
    }
}

impl RequesterEngine {
    /// Returns the payload bytes of a full packet.
    fn payload_max(&self, transport: &Transport) -> u16 {
        match self {
            Self::GoBack(_) | Self::Selective(_) | Self::Trimming(_) => transport.config.mtu,
            Self::Tcp(_) => transport.tcp().mss,
            Self::Multipath(_) => transport.multipath().mss,
        }
    }

    /// Returns the window in payload bytes; `None` if it is not limited.
    fn window_bytes(&self, transport: &Transport) -> Option<u64> {
        let packets = match self {
            Self::GoBack(half) => half.window(&transport.config),
            Self::Selective(half) => half.window(transport.selective()),
            Self::Trimming(half) => half.window(transport.trimming())?,
            Self::Tcp(half) => return Some(half.window().bytes),
            Self::Multipath(half) => {
                return Some(half.subflows().map(|subflow| subflow.window().bytes).sum());
            }
        };
        let is_limited = packets < u64::from(rc::Config::WINDOW_MAX);
        is_limited.then(|| packets * u64::from(transport.config.mtu))
    }
}
