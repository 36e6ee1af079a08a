//! ToR switches that copy NAKs and what is sent again (JCST §5.1).

use wiremend_measure::Added;
use wiremend_proto::Packet;
use wiremend_proto::mend::Repeater;
use wiremend_units::SwitchId;
use wiremend_wire::NakCode;

use crate::frame::Frame;
use crate::network::{Network, Repeats};

/// The repeaters of a part's switches.
pub(crate) struct Repeaters {
    config: Repeats,
    /// By switch; made when the switch sees its first NAK.
    by_switch: Vec<Option<Box<Repeater>>>,
    added: Vec<Added>,
}

impl Repeaters {
    pub(crate) fn new(config: Repeats, switches: usize) -> Self {
        let by_switch = (0..switches).map(|_| None).collect();
        Self { config, by_switch, added: vec![Added::default(); switches] }
    }

    /// How many copies follow a frame that `switch` forwards.
    pub(crate) fn copies(&mut self, net: &Network, switch: SwitchId, frame: &Frame) -> u8 {
        let Some(packet) = frame.packet().filter(|_| !frame.is_tcp()) else { return 0 };
        let is_tor_of = |host| net.graph.tor(host) == switch;
        let (added, len) = (&mut self.added[switch.index()], u64::from(frame.len));
        if asks_again(packet) {
            if self.config.retransmission_copies > 0 && is_tor_of(frame.dst) {
                let registers = self.config.registers;
                let repeater =
                    self.by_switch[switch.index()].get_or_insert_with(|| Box::new(Repeater::new(registers)));
                repeater.on_nak(packet.psn(), connection(frame.dst.0, frame));
            }
            let copies = if is_tor_of(frame.src) { self.config.nak_copies } else { 0 };
            (0..copies).for_each(|_| added.nak_copies.add(len));
            return copies;
        }
        let Some(repeater) = &mut self.by_switch[switch.index()] else { return 0 };
        if packet.is_response()
            || !is_tor_of(frame.src)
            || !repeater.on_request(packet.psn(), connection(frame.src.0, frame))
        {
            return 0;
        }
        let copies = self.config.retransmission_copies;
        (0..copies).for_each(|_| added.retransmission_copies.add(len));
        copies
    }

    /// What a switch has added.
    pub(crate) fn added(&self, switch: SwitchId) -> Added {
        let repeater = self.by_switch[switch.index()].as_deref();
        Added {
            false_matches: repeater.map_or(0, Repeater::false_matches),
            overwritten_registers: repeater.map_or(0, Repeater::overwritten),
            ..self.added[switch.index()]
        }
    }
}

/// A NAK that names a missing packet.
fn asks_again(packet: &Packet) -> bool {
    packet.nak_code() == Some(NakCode::PsnSequence)
}

/// The connection of a requester, which no switch could know.
fn connection(requester: u32, frame: &Frame) -> u64 {
    u64::from(requester) << 32 | u64::from(frame.serial)
}
