//! The function of a programmable ToR switch (JCST §5.1): it copies the NAKs that its hosts send, and the
//! retransmissions that a NAK causes.
//!
//! A retransmission looks like any other packet. The switch identifies it by its PSN: a NAK on its way to a
//! requester writes the PSN into a register, and the first packet with that PSN is copied and clears the
//! register. A packet and a NAK carry the queue pairs of different ends, so the switch compares PSNs only,
//! and packets of other connections with the same PSN match too. Such a match only loses the copy.

use wiremend_units::Psn;

/// The registers of a switch: a table with one slot for each PSN modulo its size; a later PSN overwrites an
/// earlier one.
#[derive(Clone, Debug)]
pub struct Repeater {
    registers: Box<[Option<Register>]>,
    counters: Counters,
}

/// A PSN that a NAK requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Register {
    psn: Psn,
    /// The connection, known only to the simulation and used only for counting.
    connection: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Counters {
    false_matches: u64,
    overwritten: u64,
}

impl Repeater {
    /// Creates a switch with this number of registers.
    pub fn new(registers: u32) -> Self {
        assert!(registers > 0, "a repeater needs at least one register");
        Self { registers: vec![None; registers as usize].into(), counters: Counters::default() }
    }

    /// Handles a NAK on its way to a requester.
    pub fn on_nak(&mut self, psn: Psn, connection: u64) {
        let entry = Register { psn, connection };
        let register = self.register(psn);
        let overwrites = register.is_some_and(|other| other != entry);
        *register = Some(entry);
        self.counters.overwritten += u64::from(overwrites);
    }

    /// Handles a request on its way from a requester. Returns whether to copy it.
    pub fn on_request(&mut self, psn: Psn, connection: u64) -> bool {
        let register = self.register(psn);
        let Some(entry) = register.filter(|entry| entry.psn == psn) else { return false };
        *register = None;
        self.counters.false_matches += u64::from(entry.connection != connection);
        true
    }

    /// Packets copied for a NAK of another connection.
    pub fn false_matches(&self) -> u64 {
        self.counters.false_matches
    }

    /// Registers overwritten before their packet arrived.
    pub fn overwritten(&self) -> u64 {
        self.counters.overwritten
    }

    fn register(&mut self, psn: Psn) -> &mut Option<Register> {
        let index = psn.get() as usize % self.registers.len();
        &mut self.registers[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THIS: u64 = 1;
    const OTHER: u64 = 2;

    #[test]
    fn the_first_packet_with_the_psn_is_copied_once_for_any_number_of_naks() {
        let mut repeater = Repeater::new(16);
        repeater.on_nak(Psn::new(7), THIS);
        repeater.on_nak(Psn::new(7), THIS);
        assert!(!repeater.on_request(Psn::new(8), THIS));
        assert!(repeater.on_request(Psn::new(7), THIS));
        assert!(!repeater.on_request(Psn::new(7), THIS));
        assert_eq!((repeater.false_matches(), repeater.overwritten()), (0, 0));
    }

    #[test]
    fn a_packet_of_another_connection_can_match() {
        let mut repeater = Repeater::new(16);
        repeater.on_nak(Psn::new(7), THIS);
        assert!(repeater.on_request(Psn::new(7), OTHER));
        assert!(!repeater.on_request(Psn::new(7), THIS));
        assert_eq!(repeater.false_matches(), 1);
    }

    #[test]
    fn a_psn_in_the_same_slot_overwrites_an_earlier_one() {
        let mut repeater = Repeater::new(16);
        repeater.on_nak(Psn::new(7), THIS);
        repeater.on_nak(Psn::new(23), THIS);
        assert!(!repeater.on_request(Psn::new(7), THIS));
        assert!(repeater.on_request(Psn::new(23), THIS));
        assert_eq!(repeater.overwritten(), 1);
    }
}
