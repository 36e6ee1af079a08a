//! The output ports of a path, in little memory.

/// The output ports at the first switches of a path, [`PathPorts::width`] bits each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct PathPorts(u32);

impl PathPorts {
    const KNOWN: u32 = 1 << 31;

    /// Returns the number of bits that a port number needs, if no switch has more than `ports` ports.
    pub(crate) fn width(ports: usize) -> u8 {
        ports.max(2).next_power_of_two().ilog2() as u8
    }

    /// Returns at how many switches the output port can be known.
    pub(crate) fn hops(width: u8) -> u8 {
        Self::KNOWN.ilog2() as u8 / width
    }

    /// Returns the output port at a switch, if it is known; `hop` is the number of switches before it.
    #[inline]
    pub(crate) fn at(self, hop: u8, width: u8) -> Option<u32> {
        let first = u32::from(hop) * u32::from(width);
        let is_known = self.0 & Self::KNOWN != 0 && first + u32::from(width) <= Self::KNOWN.ilog2();
        is_known.then(|| self.0 >> first & ((1 << width) - 1))
    }

    /// Sets the output port at a switch.
    pub(crate) fn set(&mut self, hop: u8, width: u8, port: u16) {
        self.0 |= Self::KNOWN | u32::from(port) << (hop * width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_known_as_far_as_there_is_room() {
        for (ports, width, hops) in
            [(2, 1, 31), (4, 2, 15), (16, 4, 7), (64, 6, 5), (65, 7, 4), (3000, 12, 2)]
        {
            assert_eq!(PathPorts::width(ports), width);
            let mut path = PathPorts::default();
            assert_eq!(path.at(0, width), None);
            let port = |hop: u8| (ports - 1 - usize::from(hop) % ports.min(7)) as u16;
            (0..hops).for_each(|hop| path.set(hop, width, port(hop)));
            for hop in 0..=u8::MAX {
                assert_eq!(
                    path.at(hop, width),
                    (hop < hops).then(|| port(hop).into()),
                    "{ports} ports, hop {hop}"
                );
            }
        }
    }
}
