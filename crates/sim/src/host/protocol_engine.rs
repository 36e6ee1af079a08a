//! The two halves of a connection, for every protocol.
//!
//! Go-back-N is stored inline, because most connections use it and it determines the speed of a run. Every
//! other engine is boxed. All implement the traits of [`wiremend_proto::engine`]; their configurations are in
//! [`Transport`].

use wiremend_proto::engine::{
    Completion, Expiry, Message, RequestOutcome, Requester, RequesterCounters, Responder, Transmit, Work,
};
use wiremend_proto::{Packet, dcp, rc, sr, tcp};
use wiremend_units::{Psn, QpNum, Time};
use wiremend_wire::Ecn;

use crate::memory::{prefetch_address, prefetch_all};
use crate::network::{Engine, Transport, TransportProtocol};

/// The sending half.
#[expect(clippy::large_enum_variant, reason = "the large one is the usual one")]
pub(super) enum RequesterEngine {
    GoBack(rc::Requester),
    Selective(Box<sr::Requester>),
    Trimming(Box<dcp::Requester>),
    Tcp(Box<tcp::Sender>),
    Multipath(Box<tcp::multipath::Sender>),
}

/// The receiving half.
pub(super) enum ResponderEngine {
    GoBack(rc::Responder),
    Selective(Box<sr::Responder>),
    Trimming(Box<dcp::Responder>),
    Tcp(Box<tcp::Receiver>),
    Multipath(Box<tcp::multipath::Receiver>),
}

/// Calls a method of any engine, optionally with the configuration of its kind.
macro_rules! each {
    ($engine:expr, $half:ident => $call:expr) => {
        match $engine {
            Self::GoBack($half) => $call,
            Self::Selective($half) => $call,
            Self::Trimming($half) => $call,
            Self::Tcp($half) => $call,
            Self::Multipath($half) => $call,
        }
    };
    ($engine:expr, $transport:expr, ($half:ident, $config:ident) => $call:expr) => {
        match $engine {
            Self::GoBack($half) => {
                let $config = &$transport.config;
                $call
            }
            Self::Selective($half) => {
                let $config = $transport.selective();
                $call
            }
            Self::Trimming($half) => {
                let $config = $transport.trimming();
                $call
            }
            Self::Tcp($half) => {
                let $config = $transport.tcp();
                $call
            }
            Self::Multipath($half) => {
                let $config = $transport.multipath();
                $call
            }
        }
    };
}

/// Prefetches a boxed protocol, then (`is_now`) what its next packets need.
macro_rules! prefetch_boxed {
    ($engine:expr, $is_now:expr) => {
        match $engine {
            Self::GoBack(_) => {}
            Self::Trimming(half) if $is_now => half.next_addresses().for_each(prefetch_address),
            _ if $is_now => {}
            Self::Selective(half) => prefetch_all(&**half),
            Self::Trimming(half) => prefetch_all(&**half),
            Self::Tcp(half) => prefetch_all(&**half),
            Self::Multipath(half) => prefetch_all(&**half),
        }
    };
}

impl RequesterEngine {
    /// `random` seeds the random choices of a protocol.
    pub(super) fn new(
        transport: &Transport,
        protocol: TransportProtocol,
        peer: QpNum,
        first: Psn,
        random: u64,
    ) -> Self {
        match protocol {
            TransportProtocol::Rdma => {}
            TransportProtocol::Tcp => {
                return Self::Tcp(Box::new(tcp::Sender::new(transport.tcp(), peer, random)));
            }
            TransportProtocol::Multipath(subflows) => {
                let sender = tcp::multipath::Sender::new(transport.multipath(), peer, random, subflows);
                return Self::Multipath(Box::new(sender));
            }
        }
        match &transport.engine {
            Engine::GoBack => Self::GoBack(rc::Requester::new(peer, first)),
            Engine::Selective(config) => Self::Selective(Box::new(sr::Requester::new(config, peer, first))),
            Engine::Trimming(_) => Self::Trimming(Box::new(dcp::Requester::new(peer, first))),
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, is_now: bool) {
        prefetch_boxed!(self, is_now);
    }

    pub(super) fn post(&mut self, transport: &Transport, now: Time, work: Work) {
        each!(self, transport, (half, config) => half.post(config, now, work));
    }

    #[inline]
    pub(super) fn ready(&self, transport: &Transport, now: Time) -> bool {
        each!(self, transport, (half, config) => half.ready(config, now))
    }

    /// Returns whether the next packet waits for no congestion control.
    #[inline]
    pub(super) fn is_urgent(&self, transport: &Transport, now: Time) -> bool {
        matches!(self, Self::Trimming(half) if half.is_urgent(transport.trimming(), now))
    }

    #[inline]
    pub(super) fn poll_transmit(&mut self, transport: &Transport, now: Time) -> Option<Transmit<Packet>> {
        each!(self, transport, (half, config) => {
            half.poll_transmit(config, now).map(|transmit| transmit.map(Packet::from))
        })
    }

    /// Handles a response, which came over `path` if the connection has several.
    #[inline]
    pub(super) fn on_answer(&mut self, transport: &Transport, now: Time, answer: &Packet, path: u16) {
        match (self, answer) {
            (Self::GoBack(half), Packet::Rc(answer)) => half.on_packet(&transport.config, now, answer),
            (Self::Selective(half), Packet::Sr(answer)) => {
                half.on_response_path(path);
                half.on_packet(transport.selective(), now, answer)
            }
            (Self::Trimming(half), Packet::Dcp(answer)) => half.on_packet(transport.trimming(), now, answer),
            (Self::Tcp(half), Packet::Tcp(answer)) => half.on_packet(transport.tcp(), now, answer),
            (Self::Multipath(half), Packet::Tcp(answer)) => {
                half.on_packet(transport.multipath(), now, answer)
            }
            _ => unreachable!("all packets of a connection have its protocol"),
        };
    }

    #[inline]
    pub(super) fn next_timeout(&self) -> Option<Time> {
        each!(self, half => half.next_timeout())
    }

    pub(super) fn on_timeout(&mut self, transport: &Transport, now: Time) -> Option<Expiry> {
        each!(self, transport, (half, config) => half.on_timeout(config, now))
    }

    #[inline]
    pub(super) fn poll_completion(&mut self) -> Option<Completion> {
        each!(self, half => half.poll_completion())
    }

    #[inline]
    pub(super) fn set_window(&mut self, window: u32) {
        each!(self, half => half.set_window(window));
    }

    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        each!(self, half => half.is_idle())
    }

    #[inline]
    pub(super) fn is_error(&self) -> bool {
        each!(self, half => half.is_error())
    }

    #[inline]
    pub(super) fn messages(&self) -> u64 {
        each!(self, half => half.messages())
    }

    #[inline]
    pub(super) fn next_number(&self) -> u64 {
        each!(self, half => half.next_number())
    }

    #[inline]
    pub(super) fn acknowledged(&self) -> u64 {
        each!(self, half => half.acknowledged())
    }

    #[inline]
    pub(super) fn counters(&self) -> RequesterCounters {
        each!(self, half => half.counters())
    }

    #[inline]
    pub(super) fn protocol(&self) -> TransportProtocol {
        match self {
            Self::GoBack(_) | Self::Selective(_) | Self::Trimming(_) => TransportProtocol::Rdma,
            Self::Tcp(_) => TransportProtocol::Tcp,
            Self::Multipath(half) => TransportProtocol::Multipath(half.subflows().count() as u8),
        }
    }

    /// Returns the ECN field of its frames.
    #[inline]
    pub(super) fn ecn(&self, transport: &Transport) -> Ecn {
        match self {
            Self::Tcp(_) | Self::Multipath(_) => transport.tcp_ecn(),
            _ => Ecn::Ect0,
        }
    }

    pub(super) fn seen(&self) -> Option<tcp::Counters> {
        match self {
            Self::GoBack(_) | Self::Selective(_) | Self::Trimming(_) => None,
            Self::Tcp(half) => Some(*half.tcp_counters()),
            Self::Multipath(half) => Some(half.tcp_counters()),
        }
    }

    /// Returns the recovery record of the message that completed last, if it is TCP.
    pub(super) fn completed_recovery(&self) -> Option<tcp::MessageRecovery> {
        if let Self::Tcp(half) = self { Some(*half.completed_recovery()) } else { None }
    }

    pub(super) fn message_recovery(&self, message: u64) -> Option<tcp::MessageRecovery> {
        if let Self::Tcp(half) = self { half.message_recovery(message) } else { None }
    }
}

impl ResponderEngine {
    pub(super) fn new(transport: &Transport, protocol: TransportProtocol, peer: QpNum, first: Psn) -> Self {
        match protocol {
            TransportProtocol::Rdma => {}
            TransportProtocol::Tcp => return Self::Tcp(Box::new(tcp::Receiver::new(transport.tcp(), peer))),
            TransportProtocol::Multipath(subflows) => {
                let receiver = tcp::multipath::Receiver::new(transport.multipath(), peer, subflows);
                return Self::Multipath(Box::new(receiver));
            }
        }
        match &transport.engine {
            Engine::GoBack => Self::GoBack(rc::Responder::new(peer, first)),
            Engine::Selective(config) => Self::Selective(Box::new(sr::Responder::new(config, peer, first))),
            Engine::Trimming(config) => Self::Trimming(Box::new(dcp::Responder::new(config, peer, first))),
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, is_now: bool) {
        prefetch_boxed!(self, is_now);
    }

    /// Handles a request, which a switch may have marked.
    #[inline]
    pub(super) fn on_request(
        &mut self,
        transport: &Transport,
        now: Time,
        packet: &Packet,
        marked: bool,
    ) -> RequestOutcome {
        match (self, packet) {
            (Self::GoBack(half), Packet::Rc(packet)) => half.on_packet(&transport.config, now, packet),
            (Self::Trimming(half), Packet::Dcp(packet)) => half.on_packet(transport.trimming(), now, packet),
            (Self::Selective(half), Packet::Sr(packet)) => {
                let packet = if marked { packet.marked() } else { *packet };
                half.on_packet(transport.selective(), now, &packet)
            }
            (Self::Tcp(half), Packet::Tcp(segment)) => {
                let segment = if marked { segment.marked() } else { *segment };
                half.on_packet(transport.tcp(), now, &segment)
            }
            (Self::Multipath(half), Packet::Tcp(segment)) => {
                let segment = if marked { segment.marked() } else { *segment };
                half.on_packet(transport.multipath(), now, &segment)
            }
            _ => unreachable!("all packets of a connection have its protocol"),
        }
    }

    /// Returns whether a request has completed messages that its outcome does not include.
    #[inline]
    pub(super) fn has_messages(&self) -> bool {
        each!(self, half => half.has_messages())
    }

    /// Removes the next of these messages.
    pub(super) fn poll_message(&mut self) -> Option<Message> {
        each!(self, half => half.poll_message())
    }

    /// Returns the next response, and the difference of its path to that of the last received frame.
    #[inline]
    pub(super) fn poll_transmit(&mut self, transport: &Transport) -> Option<(Packet, u16)> {
        each!(self, transport, (half, config) => {
            half.poll_transmit(config).map(|answer| (Packet::from(answer), half.response_path(&answer)))
        })
    }

    #[inline]
    pub(super) fn has_output(&self) -> bool {
        each!(self, half => half.has_output())
    }

    #[inline]
    pub(super) fn has_read_responses(&self) -> bool {
        each!(self, half => half.has_read_responses())
    }

    #[inline]
    pub(super) fn expected(&self) -> Psn {
        each!(self, half => half.expected())
    }

    pub(super) fn path_state(&self, path: u16) -> (Psn, bool) {
        each!(self, half => half.path_state(path))
    }

    #[inline]
    pub(super) fn next_timeout(&self) -> Option<Time> {
        each!(self, half => half.next_timeout())
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        each!(self, half => half.on_timeout(now));
    }

    /// Returns a timeout of the data of a READ, if the responder has their timer.
    pub(super) fn take_expiry(&mut self) -> Option<Expiry> {
        if let Self::Trimming(half) = self { half.take_expiry() } else { None }
    }

    /// Returns whether all bytes of a segment have been received.
    pub(super) fn has_received(&self, segment: &tcp::Segment) -> bool {
        if let Self::Tcp(half) = self { half.has_received(segment) } else { false }
    }

    /// Returns the pulls that the sender is owed since the last call.
    #[inline]
    pub(super) fn take_pulls_owed(&mut self) -> u32 {
        if let Self::Trimming(half) = self { half.take_pulls_owed() } else { 0 }
    }

    pub(super) fn grant_pull(&mut self) {
        if let Self::Trimming(half) = self {
            half.grant_pull();
        }
    }

    /// Returns the steps of out-of-order tracking, if the engine tracks.
    pub(super) fn tracking_cost(&self) -> Option<sr::TrackingCost> {
        match self {
            Self::GoBack(_) | Self::Tcp(_) | Self::Multipath(_) => None,
            Self::Selective(half) => Some(half.tracking_cost()),
            Self::Trimming(half) => Some(half.tracking_cost()),
        }
    }
}
