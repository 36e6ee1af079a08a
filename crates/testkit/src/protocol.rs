//! The engines that a pair can connect, and the few things that a protocol adds to their contract.

use std::fmt::Debug;

use wiremend_proto::engine::{Requester, Responder};
use wiremend_proto::tcp::{Segment, multipath};
use wiremend_proto::{Packet, dcp, rc, sr, tcp};
use wiremend_units::{Psn, QpNum};
use wiremend_wire::Opcode;

/// A protocol with its parameters: makes the two engines of a connection.
pub trait Protocol {
    /// What both engines share.
    type Config;
    /// What they send.
    type Packet: Copy + Debug + Into<Packet>;
    /// The end that was asked to move data.
    type Requester: Requester<Config = Self::Config, Packet = Self::Packet>;
    /// The end that takes them.
    type Responder: Responder<Config = Self::Config, Packet = Self::Packet>;

    /// What both engines share.
    fn config(&self) -> &Self::Config;
    /// Why it cannot work.
    fn check(&self) -> Result<(), String>;
    /// A requester that numbers its packets from `first` on, if it chooses.
    fn requester(&self, peer: QpNum, first: Psn) -> Self::Requester;
    /// Its peer.
    fn responder(&self, peer: QpNum, first: Psn) -> Self::Responder;
    /// How payload comes.
    fn placing(&self) -> Placing;

    /// The packet is for the requester of the host that receives it.
    fn is_answer(packet: Self::Packet) -> bool {
        packet.into().is_response()
    }

    /// Its payload goes into a receive buffer.
    fn is_send(_packet: Self::Packet) -> bool {
        false
    }

    /// Where a READ response takes its payload from, and its length.
    fn source(_packet: Self::Packet) -> Option<(u64, u16)> {
        None
    }

    /// How long it takes on the wire, in thousandths of what a full packet takes.
    fn wire_share(&self, _packet: Self::Packet) -> u64 {
        1_000
    }

    /// In a trace.
    fn describe(packet: Self::Packet) -> String {
        format!("{packet:?}")
    }

    /// Pulls that the host of the responder owes since the last call.
    fn take_owed(_responder: &mut Self::Responder) -> u32 {
        0
    }

    /// The host lets the responder send a pull.
    fn grant_pull(_responder: &mut Self::Responder) {}
}

/// How the payload of messages comes to its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placing {
    /// In the order of bytes.
    InOrder,
    /// In the order of bytes, perhaps several times from the start of a message.
    Restarting,
    /// In any order.
    AnyOrder,
    /// A stream: its bytes are counted, not kept.
    Counted,
}

/// What the protocols of RDMA have in common.
macro_rules! common {
    ($protocol:ident) => {
        type Config = $protocol::Config;
        type Packet = $protocol::Packet;
        type Requester = $protocol::Requester;
        type Responder = $protocol::Responder;

        fn config(&self) -> &Self::Config {
            self
        }

        fn check(&self) -> Result<(), String> {
            $protocol::Config::check(self).map_err(|why| why.to_string())
        }
    };
}

impl Protocol for rc::Config {
    common!(rc);

    fn requester(&self, peer: QpNum, first: Psn) -> rc::Requester {
        rc::Requester::new(peer, first)
    }

    fn responder(&self, peer: QpNum, first: Psn) -> rc::Responder {
        rc::Responder::new(peer, first)
    }

    fn placing(&self) -> Placing {
        if self.recovery == rc::Recovery::GoBackZero { Placing::Restarting } else { Placing::InOrder }
    }

    fn is_send(packet: rc::Packet) -> bool {
        packet.opcode <= Opcode::SendOnlyImm
    }

    fn source(packet: rc::Packet) -> Option<(u64, u16)> {
        packet.source().map(|addr| (addr, packet.payload_len))
    }

    fn describe(packet: rc::Packet) -> String {
        packet.to_string()
    }
}

impl Protocol for sr::Config {
    common!(sr);

    fn requester(&self, peer: QpNum, first: Psn) -> sr::Requester {
        sr::Requester::new(self, peer, first)
    }

    fn responder(&self, peer: QpNum, first: Psn) -> sr::Responder {
        sr::Responder::new(self, peer, first)
    }

    fn placing(&self) -> Placing {
        Placing::AnyOrder
    }

    fn is_send(packet: sr::Packet) -> bool {
        packet.opcode() <= Opcode::SendOnlyImm
    }
}

impl Protocol for dcp::Config {
    common!(dcp);

    fn requester(&self, peer: QpNum, first: Psn) -> dcp::Requester {
        dcp::Requester::new(peer, first)
    }

    fn responder(&self, peer: QpNum, first: Psn) -> dcp::Responder {
        dcp::Responder::new(self, peer, first)
    }

    fn placing(&self) -> Placing {
        Placing::AnyOrder
    }

    /// A header that comes back is for the requester, too.
    fn is_answer(packet: dcp::Packet) -> bool {
        !matches!(packet, dcp::Packet::Data(data) if !data.is_bounced())
    }

    fn is_send(packet: dcp::Packet) -> bool {
        packet.opcode() <= Opcode::SendOnlyImm
    }

    fn take_owed(responder: &mut dcp::Responder) -> u32 {
        responder.take_owed()
    }

    fn grant_pull(responder: &mut dcp::Responder) {
        responder.grant_pull();
    }
}

/// What decides on hidden choices of a sender, such as when CUBIC's first epoch ends.
const RANDOM: u64 = 5;

impl Protocol for tcp::Config {
    type Config = Self;
    type Packet = Segment;
    type Requester = tcp::Sender;
    type Responder = tcp::Receiver;

    fn config(&self) -> &Self {
        self
    }

    fn check(&self) -> Result<(), String> {
        Self::check(self).map_err(|why| why.to_string())
    }

    fn requester(&self, peer: QpNum, _first: Psn) -> tcp::Sender {
        tcp::Sender::new(self, peer, RANDOM)
    }

    fn responder(&self, peer: QpNum, _first: Psn) -> tcp::Receiver {
        tcp::Receiver::new(self, peer)
    }

    fn placing(&self) -> Placing {
        Placing::Counted
    }

    fn wire_share(&self, segment: Segment) -> u64 {
        u64::from(segment.payload_len().max(64)) * 1_000 / u64::from(self.mss)
    }
}

/// TCP with several subflows.
#[derive(Clone, Debug)]
pub struct Multipath {
    /// What all subflows share.
    pub config: tcp::Config,
    /// How many there are.
    pub subflows: u8,
}

impl Protocol for Multipath {
    type Config = tcp::Config;
    type Packet = Segment;
    type Requester = multipath::Sender;
    type Responder = multipath::Receiver;

    fn config(&self) -> &tcp::Config {
        &self.config
    }

    fn check(&self) -> Result<(), String> {
        Protocol::check(&self.config)
    }

    fn requester(&self, peer: QpNum, _first: Psn) -> multipath::Sender {
        multipath::Sender::new(&self.config, peer, RANDOM, self.subflows)
    }

    fn responder(&self, peer: QpNum, _first: Psn) -> multipath::Receiver {
        multipath::Receiver::new(&self.config, peer, self.subflows)
    }

    fn placing(&self) -> Placing {
        Placing::Counted
    }

    fn wire_share(&self, segment: Segment) -> u64 {
        self.config.wire_share(segment)
    }
}
