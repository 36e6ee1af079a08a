//! The two halves of a connection, whatever its scheme.
//!
//! Go-back-N lies in place, because most connections have it and a run is as fast as they are; every other engine is
//! behind a pointer. All have the same doors, and what they are configured by is in the [`Transport`].

use wiremend_proto::{dcp, rc, sr, tcp};
use wiremend_units::{Psn, QpNum, Time};
use wiremend_wire::Ecn;

use crate::frame::{Frame, Kind};
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

/// What every engine does without its configuration.
macro_rules! each {
    ($kind:ident, $engine:expr, $half:ident => $call:expr) => {
        match $engine {
            $kind::GoBack($half) => $call,
            $kind::Selective($half) => $call,
            $kind::Trimming($half) => $call,
            $kind::Tcp($half) => $call,
            $kind::Multipath($half) => $call,
        }
    };
}

/// What every engine does with the configuration of its kind.
macro_rules! each_with {
    ($kind:ident, $engine:expr, $transport:expr, ($half:ident, $config:ident) => $call:expr) => {
        match $engine {
            $kind::GoBack($half) => {
                let $config = &$transport.config;
                $call
            }
            $kind::Selective($half) => {
                let $config = $transport.selective();
                $call
            }
            $kind::Trimming($half) => {
                let $config = $transport.trimming();
                $call
            }
            $kind::Tcp($half) => {
                let $config = $transport.tcp();
                $call
            }
            $kind::Multipath($half) => {
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

    pub(super) fn post(&mut self, transport: &Transport, now: Time, work: rc::Work) {
        each_with!(Self, self, transport, (half, config) => half.post(config, now, work));
    }

    #[inline]
    pub(super) fn ready(&self, transport: &Transport, now: Time) -> bool {
        each_with!(Self, self, transport, (half, config) => half.ready(config, now))
    }

    #[inline]
    pub(super) fn poll_transmit(&mut self, transport: &Transport, now: Time) -> Option<rc::Transmit> {
        each_with!(Self, self, transport, (half, config) => half.poll_transmit(config, now))
    }

    /// An answer came, by one of the paths if the connection has several: `entropy` is that of its own.
    #[inline]
    pub(super) fn on_answer(&mut self, transport: &Transport, now: Time, frame: &Frame, entropy: u16) {
        match self {
            Self::GoBack(half) => {
                half.on_packet(&transport.config, now, &frame.packet);
            }
            Self::Selective(half) => {
                half.heard_by(frame.entropy ^ entropy);
                half.on_packet(transport.selective(), now, &frame.packet);
            }
            Self::Trimming(half) => {
                half.on_packet(transport.trimming(), now, &frame.packet);
            }
            Self::Tcp(half) => {
                half.on_packet(transport.tcp(), now, &frame.packet);
            }
            Self::Multipath(half) => half.on_packet(transport.multipath(), now, &frame.packet),
        }
    }

    #[inline]
    pub(super) fn next_timeout(&self) -> Option<Time> {
        each!(Self, self, half => half.next_timeout())
    }

    pub(super) fn on_timeout(&mut self, transport: &Transport, now: Time) -> Option<rc::Expiry> {
        each_with!(Self, self, transport, (half, config) => half.on_timeout(config, now))
    }

    #[inline]
    pub(super) fn poll_completion(&mut self) -> Option<rc::Completion> {
        each!(Self, self, half => half.poll_completion())
    }

    /// Not for TCP, whose window is its own.
    #[inline]
    pub(super) fn allow(&mut self, window: u32) {
        match self {
            Self::GoBack(half) => half.allow(window),
            Self::Selective(half) => half.allow(window),
            Self::Trimming(half) => half.allow(window),
            Self::Tcp(_) | Self::Multipath(_) => {}
        }
    }

    #[inline]
    pub(super) fn protocol(&self) -> Protocol {
        match self {
            Self::GoBack(_) | Self::Selective(_) | Self::Trimming(_) => Protocol::Rdma,
            Self::Tcp(_) => Protocol::Tcp,
            Self::Multipath(half) => Protocol::Multipath(half.subflows().count() as u8),
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

    /// What its frames are, and whether switches may mark them.
    #[inline]
    pub(super) fn kind(&self, transport: &Transport) -> (Kind, Ecn) {
        match self {
            Self::Tcp(_) | Self::Multipath(_) => transport.tcp_kind(),
            _ => (Kind::Rc, Ecn::Capable0),
        }
    }

    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        each!(Self, self, half => half.is_idle())
    }

    #[inline]
    pub(super) fn is_error(&self) -> bool {
        each!(Self, self, half => half.is_error())
    }

    #[inline]
    pub(super) fn messages(&self) -> u64 {
        each!(Self, self, half => half.messages())
    }

    #[inline]
    pub(super) fn next_number(&self) -> u64 {
        each!(Self, self, half => half.next_number())
    }

    #[inline]
    pub(super) fn acknowledged(&self) -> u64 {
        each!(Self, self, half => half.acknowledged())
    }

    #[inline]
    pub(super) fn counters(&self) -> rc::RequesterCounters {
        match self {
            Self::GoBack(half) => *half.counters(),
            Self::Selective(half) => *half.counters(),
            Self::Trimming(half) => *half.counters(),
            Self::Tcp(half) => *half.counters(),
            Self::Multipath(half) => half.counters(),
        }
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

    /// A request came.
    #[inline]
    pub(super) fn on_request(&mut self, transport: &Transport, now: Time, frame: &Frame) -> rc::Outcome {
        match self {
            Self::GoBack(half) => half.on_packet(&transport.config, now, &frame.packet),
            Self::Selective(half) => half.on_packet(transport.selective(), now, &as_marked(frame)),
            Self::Trimming(half) => half.on_packet(transport.trimming(), now, &frame.packet),
            Self::Tcp(half) => half.on_packet(transport.tcp(), now, &as_marked(frame)),
            Self::Multipath(half) => half.on_packet(transport.multipath(), now, &as_marked(frame)),
        }
    }

    /// A segment has nothing that is not there already.
    pub(super) fn has_all_of(&self, frame: &Frame) -> bool {
        if let Self::Tcp(half) = self { half.has_all_of(&frame.packet) } else { false }
    }

    /// A request has completed messages of which its outcome does not tell.
    #[inline]
    pub(super) fn has_messages(&self) -> bool {
        match self {
            Self::GoBack(_) => false,
            Self::Selective(half) => half.has_messages(),
            Self::Trimming(half) => half.has_messages(),
            Self::Tcp(half) => half.has_messages(),
            Self::Multipath(half) => half.has_messages(),
        }
    }

    /// The next of these messages.
    pub(super) fn poll_message(&mut self) -> Option<rc::Message> {
        match self {
            Self::GoBack(_) => None,
            Self::Selective(half) => half.poll_message(),
            Self::Trimming(half) => half.poll_message(),
            Self::Tcp(half) => half.poll_message(),
            Self::Multipath(half) => half.poll_message(),
        }
    }

    #[inline]
    pub(super) fn poll_transmit(&mut self, transport: &Transport) -> Option<rc::Packet> {
        each_with!(Self, self, transport, (half, config) => half.poll_transmit(config))
    }

    #[inline]
    pub(super) fn has_output(&self) -> bool {
        each!(Self, self, half => half.has_output())
    }

    /// Pulls that the sender is owed since the last call.
    #[inline]
    pub(super) fn take_owed(&mut self) -> u32 {
        match self {
            Self::Trimming(half) => half.take_owed(),
            Self::GoBack(_) | Self::Selective(_) | Self::Tcp(_) | Self::Multipath(_) => 0,
        }
    }

    /// Grants a pull.
    pub(super) fn grant_pull(&mut self) {
        if let Self::Trimming(half) = self {
            half.grant_pull();
        }
    }

    /// READ responses wait.
    #[inline]
    pub(super) fn is_reading(&self) -> bool {
        match self {
            Self::GoBack(half) => half.is_reading(),
            Self::Selective(_) | Self::Trimming(_) | Self::Tcp(_) | Self::Multipath(_) => false,
        }
    }

    #[inline]
    pub(super) fn expected(&self) -> Psn {
        each!(Self, self, half => half.expected())
    }

    /// What tracking packets out of order has cost, where that is done.
    pub(super) fn steps(&self) -> Option<sr::Steps> {
        match self {
            Self::GoBack(_) | Self::Tcp(_) | Self::Multipath(_) => None,
            Self::Selective(half) => Some(half.steps()),
            Self::Trimming(half) => Some(half.steps()),
        }
    }

    /// The number that it expects on a path where each has numbers of its own, and whether it has asked for one.
    pub(super) fn standing(&self, path: u16) -> (Psn, bool) {
        match self {
            Self::Multipath(half) if let Some(subflow) = half.subflow(path) => {
                (subflow.expected(), subflow.nak_sent())
            }
            other => each!(Self, other, half => (half.expected(), half.nak_sent())),
        }
    }

    /// When it wants to be called if nothing comes, where it has a timer.
    #[inline]
    pub(super) fn next_timeout(&self) -> Option<Time> {
        match self {
            Self::Tcp(half) => half.next_timeout(),
            Self::Multipath(half) => half.next_timeout(),
            _ => None,
        }
    }

    /// The time may have come.
    pub(super) fn on_timeout(&mut self, now: Time) {
        match self {
            Self::Tcp(half) => half.on_timeout(now),
            Self::Multipath(half) => half.on_timeout(now),
            _ => {}
        }
    }

    /// What the frame of an answer is, and what tells its path from that of the frame which came last.
    #[inline]
    pub(super) fn kind(&self, answer: &rc::Packet) -> (Kind, u16) {
        match self {
            Self::Tcp(_) => (Kind::Tcp, 0),
            Self::Multipath(half) => (Kind::Tcp, half.apart(answer)),
            _ => (Kind::Rc, 0),
        }
    }
}

/// A packet as its receiver sees it.
#[inline]
fn as_marked(frame: &Frame) -> rc::Packet {
    if frame.ecn == Ecn::Congested { frame.packet.marked() } else { frame.packet }
}
