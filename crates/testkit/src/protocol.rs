//! Protocols that a pair can run, and what each adds to the engine traits.

use std::fmt::Debug;

use wiremend_proto::engine::{Requester, Responder};
use wiremend_proto::tcp::{Segment, multipath};
use wiremend_proto::{Packet, dcp, rc, sr, tcp};
use wiremend_units::{Psn, QpNum};
use wiremend_wire::Opcode;

/// A protocol with its parameters. Creates the two engines of a connection.
pub trait Protocol {
    /// Configuration of both engines.
    type Config;
    /// Packet.
    type Packet: Copy + Debug + Into<Packet>;
    /// Requester.
    type Requester: Requester<Config = Self::Config, Packet = Self::Packet>;
    /// Responder.
    type Responder: Responder<Config = Self::Config, Packet = Self::Packet>;

    /// Configuration of both engines.
    fn config(&self) -> &Self::Config;
    /// Checks the configuration.
    fn check(&self) -> Result<(), String>;
    /// Creates a requester. Its packet numbers start at `first`, if the protocol allows it.
    fn requester(&self, peer: QpNum, first: Psn) -> Self::Requester;
    /// Creates a responder.
    fn responder(&self, peer: QpNum, first: Psn) -> Self::Responder;
    /// Order in which payload arrives.
    fn payload_order(&self) -> PayloadOrder;

    /// Whether a packet is for the requester of the host that receives it.
    fn is_answer(packet: Self::Packet) -> bool {
        packet.into().is_response()
    }

    /// Whether the payload goes into a receive buffer.
    fn is_send_opcode(_packet: Self::Packet) -> bool {
        false
    }

    /// Address and length of the payload of a READ response.
    fn source(_packet: Self::Packet) -> Option<(u64, u16)> {
        None
    }

    /// Transmission time, in thousandths of that of a full packet.
    fn wire_share(&self, _packet: Self::Packet) -> u64 {
        1_000
    }

    /// Text for traces.
    fn describe(packet: Self::Packet) -> String {
        format!("{packet:?}")
    }

    /// Pulls that the responder's host owes since the last call.
    fn take_pulls_owed(_responder: &mut Self::Responder) -> u32 {
        0
    }

    /// Lets the responder send a pull.
    fn grant_pull(_responder: &mut Self::Responder) {}
}

/// Order in which the payload of messages arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PayloadOrder {
    /// In order, from the first byte to the last.
    InOrder,
    /// In order, but a message may restart from its first byte.
    Restarting,
    /// In any order.
    AnyOrder,
    /// A stream whose bytes are counted, not stored.
    Counted,
}

/// Items that all RDMA protocols share.
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

    fn payload_order(&self) -> PayloadOrder {
        if self.recovery == rc::Recovery::GoBackZero {
            PayloadOrder::Restarting
        } else {
            PayloadOrder::InOrder
        }
    }

    fn is_send_opcode(packet: rc::Packet) -> bool {
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

    fn payload_order(&self) -> PayloadOrder {
        PayloadOrder::AnyOrder
    }

    fn is_send_opcode(packet: sr::Packet) -> bool {
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

    fn payload_order(&self) -> PayloadOrder {
        PayloadOrder::AnyOrder
    }

    fn is_answer(packet: dcp::Packet) -> bool {
        packet.is_for_requester()
    }

    fn source(packet: dcp::Packet) -> Option<(u64, u16)> {
        let dcp::Packet::Data(data) = packet else { return None };
        data.source().map(|address| (address, data.payload_len))
    }

    fn is_send_opcode(packet: dcp::Packet) -> bool {
        packet.opcode() <= Opcode::SendOnlyImm
    }

    fn take_pulls_owed(responder: &mut dcp::Responder) -> u32 {
        responder.take_pulls_owed()
    }

    fn grant_pull(responder: &mut dcp::Responder) {
        responder.grant_pull();
    }
}

/// Seed of random choices of a sender, such as the first step of BBR's cycle.
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

    fn payload_order(&self) -> PayloadOrder {
        PayloadOrder::Counted
    }

    fn wire_share(&self, segment: Segment) -> u64 {
        u64::from(segment.payload_len().max(64)) * 1_000 / u64::from(self.mss)
    }
}

/// Multipath TCP.
#[derive(Clone, Debug)]
pub struct Multipath {
    /// Configuration of all subflows.
    pub config: tcp::Config,
    /// Number of subflows.
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

    fn payload_order(&self) -> PayloadOrder {
        PayloadOrder::Counted
    }

    fn wire_share(&self, segment: Segment) -> u64 {
        self.config.wire_share(segment)
    }
}
