//! ToR switches that copy NAKs and retransmissions (JCST §5.1).

use wiremend_measure::ExtraFrames;
use wiremend_proto::Packet;
use wiremend_proto::mend::Repeater;
use wiremend_units::SwitchId;
use wiremend_wire::NakCode;

use crate::frame::Frame;
use crate::network::{Network, SwitchCopyConfig};

/// The repeaters of a partition's switches.
pub(crate) struct Repeaters {
    config: SwitchCopyConfig,
    /// By switch; allocated at the first NAK.
    by_switch: Vec<Option<Box<Repeater>>>,
    added: Vec<ExtraFrames>,
}

impl Repeaters {
    pub(crate) fn new(config: SwitchCopyConfig, switches: usize) -> Self {
        let by_switch = (0..switches).map(|_| None).collect();
        Self { config, by_switch, added: vec![ExtraFrames::default(); switches] }
    }

    /// Returns how many copies follow a frame that `switch` forwards.
    pub(crate) fn copies(&mut self, net: &Network, switch: SwitchId, frame: &Frame) -> u8 {
        let Some(packet) = frame.packet().filter(|_| !frame.is_tcp()) else { return 0 };
        let is_tor_of = |host| net.graph.tor(host) == switch;
        let (added, len) = (&mut self.added[switch.index()], u64::from(frame.len));
        if is_sequence_nak(packet) {
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

    pub(crate) fn added(&self, switch: SwitchId) -> ExtraFrames {
        let repeater = self.by_switch[switch.index()].as_deref();
        ExtraFrames {
            false_matches: repeater.map_or(0, Repeater::false_matches),
            overwritten_registers: repeater.map_or(0, Repeater::overwritten),
            ..self.added[switch.index()]
        }
    }
}

fn is_sequence_nak(packet: &Packet) -> bool {
    packet.nak_code() == Some(NakCode::PsnSequence)
}

/// Returns the connection of a requester. A real switch could not know it; it is used only to count false
/// matches.
fn connection(requester: u32, frame: &Frame) -> u64 {
    u64::from(requester) << 32 | u64::from(frame.serial)
}
