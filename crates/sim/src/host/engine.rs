//! The two halves of a connection, whatever its protocol.
//!
//! Go-back-N lies in place, because most connections have it and a run is as fast as they are; every other engine is
//! behind a pointer. All keep the contract of [`wiremend_proto::engine`], and what they are configured by is in the [`Transport`].

use wiremend_proto::engine::{
    Completion, Expiry, Message, Outcome, Requester, RequesterCounters, Responder, Transmit, Work,
};
use wiremend_proto::{Packet, dcp, rc, sr, tcp};
use wiremend_units::{Psn, QpNum, Time};
use wiremend_wire::Ecn;

use crate::network::{Engine, Protocol, Transport};

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

/// What every engine does, with the configuration of its kind if that is wanted.
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

impl RequesterEngine {
    /// `random` is for what a protocol leaves to chance.
    pub(super) fn new(transport: &Transport, protocol: Protocol, peer: QpNum, random: u64) -> Self {
        match protocol {
            Protocol::Rdma => {}
            Protocol::Tcp => return Self::Tcp(Box::new(tcp::Sender::new(transport.tcp(), peer, random))),
            Protocol::Multipath(subflows) => {
                let sender = tcp::multipath::Sender::new(transport.multipath(), peer, random, subflows);
                return Self::Multipath(Box::new(sender));
            }
        }
        let first = transport.first_psn;
        match &transport.engine {
            Engine::GoBack => Self::GoBack(rc::Requester::new(peer, first)),
            Engine::Selective(config) => Self::Selective(Box::new(sr::Requester::new(config, peer, first))),
            Engine::Trimming(_) => Self::Trimming(Box::new(dcp::Requester::new(peer, first))),
        }
    }

    pub(super) fn post(&mut self, transport: &Transport, now: Time, work: Work) {
        each!(self, transport, (half, config) => half.post(config, now, work));
    }

    #[inline]
    pub(super) fn ready(&self, transport: &Transport, now: Time) -> bool {
        each!(self, transport, (half, config) => half.ready(config, now))
    }

    #[inline]
    pub(super) fn poll_transmit(&mut self, transport: &Transport, now: Time) -> Option<Transmit<Packet>> {
        each!(self, transport, (half, config) => {
            half.poll_transmit(config, now).map(|transmit| transmit.map(Packet::from))
        })
    }

    /// An answer came, by one of the paths if the connection has several.
    #[inline]
    pub(super) fn on_answer(&mut self, transport: &Transport, now: Time, answer: &Packet, path: u16) {
        match (self, answer) {
            (Self::GoBack(half), Packet::Rc(answer)) => half.on_packet(&transport.config, now, answer),
            (Self::Selective(half), Packet::Sr(answer)) => {
                half.heard_by(path);
                half.on_packet(transport.selective(), now, answer)
            }
            (Self::Trimming(half), Packet::Dcp(answer)) => half.on_packet(transport.trimming(), now, answer),
            (Self::Tcp(half), Packet::Tcp(answer)) => half.on_packet(transport.tcp(), now, answer),
            (Self::Multipath(half), Packet::Tcp(answer)) => {
                half.on_packet(transport.multipath(), now, answer)
            }
            _ => unreachable!("the packets of a connection are of its protocol"),
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
    pub(super) fn allow(&mut self, window: u32) {
        each!(self, half => half.allow(window));
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
    pub(super) fn protocol(&self) -> Protocol {
        match self {
            Self::GoBack(_) | Self::Selective(_) | Self::Trimming(_) => Protocol::Rdma,
            Self::Tcp(_) => Protocol::Tcp,
            Self::Multipath(half) => Protocol::Multipath(half.subflows().count() as u8),
        }
    }

    /// Whether switches may mark its frames.
    #[inline]
    pub(super) fn ecn(&self, transport: &Transport) -> Ecn {
        match self {
            Self::Tcp(_) | Self::Multipath(_) => transport.tcp_ecn(),
            _ => Ecn::Capable0,
        }
    }

    /// What TCP alone counts.
    pub(super) fn seen(&self) -> Option<tcp::Counters> {
        match self {
            Self::GoBack(_) | Self::Selective(_) | Self::Trimming(_) => None,
            Self::Tcp(half) => Some(*half.seen()),
            Self::Multipath(half) => Some(half.seen()),
        }
    }

    /// What the message had met that completed last, if it was one of TCP.
    pub(super) fn trouble(&self) -> Option<tcp::Trouble> {
        if let Self::Tcp(half) = self { Some(*half.trouble()) } else { None }
    }

    /// The same of one that is still under way.
    pub(super) fn trouble_of(&self, message: u64) -> Option<tcp::Trouble> {
        if let Self::Tcp(half) = self { half.trouble_of(message) } else { None }
    }
}

impl ResponderEngine {
    pub(super) fn new(transport: &Transport, protocol: Protocol, peer: QpNum) -> Self {
        match protocol {
            Protocol::Rdma => {}
            Protocol::Tcp => return Self::Tcp(Box::new(tcp::Receiver::new(transport.tcp(), peer))),
            Protocol::Multipath(subflows) => {
                let receiver = tcp::multipath::Receiver::new(transport.multipath(), peer, subflows);
                return Self::Multipath(Box::new(receiver));
            }
        }
        let first = transport.first_psn;
        match &transport.engine {
            Engine::GoBack => Self::GoBack(rc::Responder::new(peer, first)),
            Engine::Selective(config) => Self::Selective(Box::new(sr::Responder::new(config, peer, first))),
            Engine::Trimming(config) => Self::Trimming(Box::new(dcp::Responder::new(config, peer, first))),
        }
    }

    /// A request came, and a switch may have marked it.
    #[inline]
    pub(super) fn on_request(
        &mut self,
        transport: &Transport,
        now: Time,
        packet: &Packet,
        marked: bool,
    ) -> Outcome {
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
            _ => unreachable!("the packets of a connection are of its protocol"),
        }
    }

    /// A request has completed messages of which its outcome does not tell.
    #[inline]
    pub(super) fn has_messages(&self) -> bool {
        each!(self, half => half.has_messages())
    }

    /// The next of these messages.
    pub(super) fn poll_message(&mut self) -> Option<Message> {
        each!(self, half => half.poll_message())
    }

    /// The next answer, and what tells its path from that of the frame which came last.
    #[inline]
    pub(super) fn poll_transmit(&mut self, transport: &Transport) -> Option<(Packet, u16)> {
        each!(self, transport, (half, config) => {
            half.poll_transmit(config).map(|answer| (Packet::from(answer), half.path_of(&answer)))
        })
    }

    #[inline]
    pub(super) fn has_output(&self) -> bool {
        each!(self, half => half.has_output())
    }

    #[inline]
    pub(super) fn is_reading(&self) -> bool {
        each!(self, half => half.is_reading())
    }

    #[inline]
    pub(super) fn expected(&self) -> Psn {
        each!(self, half => half.expected())
    }

    pub(super) fn standing(&self, path: u16) -> (Psn, bool) {
        each!(self, half => half.standing(path))
    }

    #[inline]
    pub(super) fn next_timeout(&self) -> Option<Time> {
        each!(self, half => half.next_timeout())
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        each!(self, half => half.on_timeout(now));
    }

    /// A segment has nothing that is not there already.
    pub(super) fn has_all_of(&self, segment: &tcp::Segment) -> bool {
        if let Self::Tcp(half) = self { half.has_all_of(segment) } else { false }
    }

    /// Pulls that the sender is owed since the last call.
    #[inline]
    pub(super) fn take_owed(&mut self) -> u32 {
        if let Self::Trimming(half) = self { half.take_owed() } else { 0 }
    }

    /// Grants a pull.
    pub(super) fn grant_pull(&mut self) {
        if let Self::Trimming(half) = self {
            half.grant_pull();
        }
    }

    /// What tracking packets out of order has cost, where that is done.
    pub(super) fn steps(&self) -> Option<sr::Steps> {
        match self {
            Self::GoBack(_) | Self::Tcp(_) | Self::Multipath(_) => None,
            Self::Selective(half) => Some(half.steps()),
            Self::Trimming(half) => Some(half.steps()),
        }
    }
}
