//! What an endpoint does to frames on purpose: it drops, doubles and delays them.

use wiremend_impair::Impairments;
use wiremend_units::{Psn, Time};
use wiremend_wire::RoceFrame;

use crate::drops::{Direction, DropRule, Drops};

/// Which frames; each list follows the same grammar.
#[derive(Debug, Default)]
pub struct FaultRules {
    /// Frames to drop.
    pub drops: Vec<DropRule>,
    /// Frames to deliver or send twice.
    pub doubles: Vec<DropRule>,
    /// Frames that the next one overtakes.
    pub delays: Vec<DropRule>,
    /// Impairments of the link, which drop frames too: of those that are sent, and of those that arrive.
    pub impairments: [Impairments; 2],
    /// In these, the PSN of the first request of each direction.
    pub first_psn: Psn,
    /// Seed of random faults.
    pub seed: u64,
}

/// What happens to a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Passes,
    Doubled,
    Delayed,
    Dropped,
}

/// A frame that waits for the next one, with the identifier of its VLAN.
pub(super) type Late = (Vec<u8>, Option<u16>);

/// The rules, what they have dropped, and a frame of each direction that waits for the next one.
pub(super) struct Faults {
    pub(super) drops: Drops,
    doubles: Drops,
    delays: Drops,
    late: [Option<Late>; 2],
}

impl Faults {
    pub(super) fn new(rules: FaultRules) -> Self {
        let FaultRules { drops, doubles, delays, impairments, first_psn, seed } = rules;
        Self {
            drops: Drops::new(&drops, seed).impaired(impairments, first_psn),
            // Each list draws independently.
            doubles: Drops::new(&doubles, !seed),
            delays: Drops::new(&delays, seed.rotate_left(32)),
            late: [None, None],
        }
    }

    /// Decides about a frame.
    pub(super) fn draw(&mut self, now: Time, direction: Direction, bytes: &[u8]) -> Fate {
        if self.drops.is_empty() && self.doubles.is_empty() && self.delays.is_empty() {
            return Fate::Passes;
        }
        let Ok(frame) = RoceFrame::parse(bytes) else { return Fate::Passes };
        let [is_dropped, is_doubled, is_delayed] = [&mut self.drops, &mut self.doubles, &mut self.delays]
            .map(|rules| rules.drops(now, direction, &frame));
        match (is_dropped, is_doubled, is_delayed) {
            (true, ..) => Fate::Dropped,
            (_, true, _) => Fate::Doubled,
            // One frame waits at a time.
            (_, _, true) if self.late[direction as usize].is_none() => Fate::Delayed,
            _ => Fate::Passes,
        }
    }

    /// Keeps a frame until the next one has passed.
    pub(super) fn keep(&mut self, direction: Direction, bytes: &[u8], tag: Option<u16>) {
        self.late[direction as usize] = Some((bytes.to_vec(), tag));
    }

    /// The frame that waits.
    pub(super) fn take_late(&mut self, direction: Direction) -> Option<Late> {
        self.late[direction as usize].take()
    }
}

#[cfg(test)]
mod tests {
    use wiremend_impair::{Impairment, Rule, Script};
    use wiremend_units::QpNum;
    use wiremend_wire::{
        BthRepr, EthernetRepr, Extension, IpRepr, Ipv4Repr, MacAddr, Opcode, TrafficClass, Trailer, Vlans,
    };

    use super::*;

    fn send(psn: u32) -> Vec<u8> {
        let [source, destination] = [[198, 18, 0, 1].into(), [198, 18, 0, 2].into()];
        let class = TrafficClass::default();
        let ip = Ipv4Repr { source, destination, class, identification: 1, dont_fragment: true, ttl: 64 };
        let (destination, source) = (MacAddr::local(1), MacAddr::local(2));
        let frame = RoceFrame {
            ethernet: EthernetRepr { destination, source, vlans: Vlans::Untagged },
            ip: IpRepr::V4(ip),
            source_port: 5,
            bth: BthRepr::new(Opcode::SendOnly, QpNum::new(9), Psn::new(psn)),
            extension: Extension::Bare,
            payload: &[],
        };
        frame.to_bytes(Trailer::None)
    }

    #[test]
    fn frames_are_dropped_doubled_and_delayed_by_their_rules() {
        let rules = |text: &str| vec![text.parse::<DropRule>().unwrap()];
        let mut faults = Faults::new(FaultRules {
            drops: rules("in data 1"),
            doubles: rules("in data 2"),
            delays: rules("in data 3 2"),
            seed: 1,
            ..FaultRules::default()
        });
        let fates = |faults: &mut Faults, psn| faults.draw(Time::ZERO, Direction::In, &send(psn));
        assert_eq!(faults.draw(Time::ZERO, Direction::Out, &send(0)), Fate::Passes);
        assert_eq!(fates(&mut faults, 0), Fate::Dropped);
        assert_eq!(fates(&mut faults, 1), Fate::Doubled);
        assert_eq!(fates(&mut faults, 2), Fate::Delayed);
        faults.keep(Direction::In, &send(2), Some(4));
        assert_eq!(fates(&mut faults, 3), Fate::Passes, "one frame waits at a time");
        assert_eq!(faults.take_late(Direction::Out), None);
        assert_eq!(faults.take_late(Direction::In), Some((send(2), Some(4))));
        assert_eq!((faults.take_late(Direction::In), faults.drops.count()), (None, 1));
    }

    /// Rules name packets by their distance from the first one.
    #[test]
    fn impairments_of_the_link_drop_frames() {
        let rule = Script::new(&[Rule::nth_of_psn(2, Psn::new(102))]).unwrap();
        let mut impairments = [Impairments::default(), Impairments::default()];
        impairments[0].push(Impairment::always(rule));
        let mut faults =
            Faults::new(FaultRules { impairments, first_psn: Psn::new(100), ..FaultRules::default() });
        let mut fate = |direction, psn| faults.draw(Time::ZERO, direction, &send(psn));
        for psn in [7, 8, 9] {
            assert_eq!(fate(Direction::Out, psn), Fate::Passes);
        }
        assert_eq!(fate(Direction::In, 9), Fate::Passes);
        assert_eq!(fate(Direction::Out, 9), Fate::Dropped);
        assert_eq!(faults.drops.count(), 1);
    }
}
