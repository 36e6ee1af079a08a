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
}

/// The receiving half.
pub(super) enum ResponderEngine {
    GoBack(rc::Responder),
    Selective(Box<sr::Responder>),
    Trimming(Box<dcp::Responder>),
    Tcp(Box<tcp::Receiver>),
}

/// What every engine does without its configuration.
macro_rules! each {
    ($kind:ident, $engine:expr, $half:ident => $call:expr) => {
        match $engine {
            $kind::GoBack($half) => $call,
            $kind::Selective($half) => $call,
            $kind::Trimming($half) => $call,
            $kind::Tcp($half) => $call,
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
        }
    };
}

impl RequesterEngine {
    /// `random` is for what a protocol leaves to chance.
    pub(super) fn new(transport: &Transport, protocol: Protocol, peer: QpNum, random: u64) -> Self {
        if protocol == Protocol::Tcp {
            return Self::Tcp(Box::new(tcp::Sender::new(transport.tcp(), peer, random)));
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
            Self::Tcp(_) => {}
        }
    }

    #[inline]
    pub(super) fn protocol(&self) -> Protocol {
        if let Self::Tcp(_) = self { Protocol::Tcp } else { Protocol::Rdma }
    }

    /// What TCP alone counts.
    pub(super) fn seen(&self) -> Option<&tcp::Counters> {
        if let Self::Tcp(half) = self { Some(half.seen()) } else { None }
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
            Self::Tcp(_) => transport.tcp_kind(),
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
    pub(super) fn counters(&self) -> &rc::RequesterCounters {
        each!(Self, self, half => half.counters())
    }
}

impl ResponderEngine {
    pub(super) fn new(transport: &Transport, protocol: Protocol, peer: QpNum) -> Self {
        if protocol == Protocol::Tcp {
            return Self::Tcp(Box::new(tcp::Receiver::new(transport.tcp(), peer)));
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
            Self::Selective(half) => {
                let marked = frame.ecn == Ecn::Congested;
                let packet = if marked { frame.packet.marked() } else { frame.packet };
                half.on_packet(transport.selective(), now, &packet)
            }
            Self::Trimming(half) => half.on_packet(transport.trimming(), now, &frame.packet),
            Self::Tcp(half) => {
                let marked = frame.ecn == Ecn::Congested;
                let packet = if marked { frame.packet.marked() } else { frame.packet };
                half.on_packet(transport.tcp(), now, &packet)
            }
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
        }
    }

    /// The next of these messages.
    pub(super) fn poll_message(&mut self) -> Option<rc::Message> {
        match self {
            Self::GoBack(_) => None,
            Self::Selective(half) => half.poll_message(),
            Self::Trimming(half) => half.poll_message(),
            Self::Tcp(half) => half.poll_message(),
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
            Self::GoBack(_) | Self::Selective(_) | Self::Tcp(_) => 0,
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
            Self::Selective(_) | Self::Trimming(_) | Self::Tcp(_) => false,
        }
    }

    #[inline]
    pub(super) fn expected(&self) -> Psn {
        each!(Self, self, half => half.expected())
    }

    /// What tracking packets out of order has cost, where that is done.
    pub(super) fn steps(&self) -> Option<sr::Steps> {
        match self {
            Self::GoBack(_) | Self::Tcp(_) => None,
            Self::Selective(half) => Some(half.steps()),
            Self::Trimming(half) => Some(half.steps()),
        }
    }

    pub(super) fn nak_sent(&self) -> bool {
        each!(Self, self, half => half.nak_sent())
    }

    /// When it wants to be called if nothing comes, where it has a timer.
    #[inline]
    pub(super) fn next_timeout(&self) -> Option<Time> {
        if let Self::Tcp(half) = self { half.next_timeout() } else { None }
    }

    /// The time may have come.
    pub(super) fn on_timeout(&mut self, now: Time) {
        if let Self::Tcp(half) = self {
            half.on_timeout(now);
        }
    }

    #[inline]
    pub(super) fn kind(&self) -> Kind {
        if let Self::Tcp(_) = self { Kind::Tcp } else { Kind::Rc }
    }
}
