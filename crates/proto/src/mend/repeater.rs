//! What a programmable ToR switch does for its hosts (JCST §5.1): it copies the NAKs they send, and the packets that
//! they send again because of a NAK.
//!
//! A packet that is sent again looks like any other. The switch tells it by its number: a NAK on its way to a
//! requester leaves the number it asks for in a register, and the first packet with that number is copied and
//! clears the register. A packet names only its destination's queue pair, which is not the one that a NAK names, so
//! that packets of other connections with the same number match too. Nothing but the copy is lost by that.

use wiremend_units::Psn;

/// The registers of a switch: a table in which a number has one place, so that a later one may drive it out.
#[derive(Clone, Debug)]
pub struct Repeater {
    registers: Box<[Option<Register>]>,
    counters: Counters,
}

/// A number that a NAK asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Register {
    psn: Psn,
    /// Whose it is: known to a simulation, not to a switch, and used only to count.
    truth: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Counters {
    false_matches: u64,
    overwritten: u64,
}

impl Repeater {
    /// A switch with room for so many numbers.
    pub fn new(registers: u32) -> Self {
        assert!(registers > 0, "a repeater has a register");
        Self { registers: vec![None; registers as usize].into(), counters: Counters::default() }
    }

    /// A NAK passes on its way to a requester. `truth` names the connection.
    pub fn on_nak(&mut self, psn: Psn, truth: u64) {
        let entry = Register { psn, truth };
        let register = self.register(psn);
        let drives_out = register.is_some_and(|other| other != entry);
        *register = Some(entry);
        self.counters.overwritten += u64::from(drives_out);
    }

    /// A request passes on its way from a requester. Says whether it is to be copied.
    pub fn on_request(&mut self, psn: Psn, truth: u64) -> bool {
        let register = self.register(psn);
        let Some(entry) = register.filter(|entry| entry.psn == psn) else { return false };
        *register = None;
        self.counters.false_matches += u64::from(entry.truth != truth);
        true
    }

    /// Packets that were copied for a NAK that was not theirs.
    pub fn false_matches(&self) -> u64 {
        self.counters.false_matches
    }

    /// Numbers that were driven out before their packet came.
    pub fn overwritten(&self) -> u64 {
        self.counters.overwritten
    }

    fn register(&mut self, psn: Psn) -> &mut Option<Register> {
        let place = psn.get() as usize % self.registers.len();
        &mut self.registers[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINE: u64 = 1;
    const OTHER: u64 = 2;

    #[test]
    fn the_first_packet_with_the_number_is_copied_once_for_any_number_of_naks() {
        let mut repeater = Repeater::new(16);
        repeater.on_nak(Psn::new(7), MINE);
        repeater.on_nak(Psn::new(7), MINE);
        assert!(!repeater.on_request(Psn::new(8), MINE));
        assert!(repeater.on_request(Psn::new(7), MINE));
        assert!(!repeater.on_request(Psn::new(7), MINE));
        assert_eq!((repeater.false_matches(), repeater.overwritten()), (0, 0));
    }

    #[test]
    fn another_connection_may_take_the_copy() {
        let mut repeater = Repeater::new(16);
        repeater.on_nak(Psn::new(7), MINE);
        assert!(repeater.on_request(Psn::new(7), OTHER));
        assert!(!repeater.on_request(Psn::new(7), MINE));
        assert_eq!(repeater.false_matches(), 1);
    }

    #[test]
    fn a_number_in_the_same_place_drives_an_earlier_one_out() {
        let mut repeater = Repeater::new(16);
        repeater.on_nak(Psn::new(7), MINE);
        repeater.on_nak(Psn::new(23), MINE);
        assert!(!repeater.on_request(Psn::new(7), MINE));
        assert!(repeater.on_request(Psn::new(23), MINE));
        assert_eq!(repeater.overwritten(), 1);
    }
}
