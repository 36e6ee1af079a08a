//! Number of protected links per pipe of a switch.

use wiremend_fabric::tiers::Tiers;
use wiremend_units::{LinkId, SwitchId};

/// Ports per pipe. A ToR always has two pipes, as in the simulator of LG §4.8.
const PORTS: u32 = 16;
const TOR_PIPES: u32 = 2;

/// Number of a pipe among those of all switches.
pub(crate) type Pipe = u32;

/// All pipes. The pipe of a port is its number modulo the number of pipes of its switch.
pub(crate) struct Pipes {
    /// Pipes at the lower and at the upper end of each link.
    of_link: Vec<[Pipe; 2]>,
    count: u32,
}

/// Protected links by pipe.
pub(crate) struct PipeCounts {
    protected: Vec<u16>,
    /// Number of pipes by their number of protected links.
    with: Vec<u32>,
}

impl Pipes {
    pub(crate) fn new(tiers: &Tiers) -> Self {
        let mut starts = vec![0];
        for switch in (0..tiers.switch_count()).map(SwitchId) {
            let pipes = if tiers.tier(switch) == 0 {
                TOR_PIPES
            } else {
                tiers.port_count(switch).div_ceil(PORTS).max(1)
            };
            starts.push(starts[starts.len() - 1] + pipes);
        }
        let all = starts[starts.len() - 1];
        let mut of_link = vec![[0; 2]; tiers.link_count() as usize];
        for switch in (0..tiers.switch_count()).map(SwitchId) {
            let (from, to) = (starts[switch.index()], starts[switch.index() + 1]);
            let below = tiers.links_below(switch).iter().map(|link| (link, 1));
            let ports = below.chain(tiers.links_above(switch).iter().map(|link| (link, 0)));
            for ((link, end), port) in ports.zip(0..) {
                of_link[link.index()][end] = from + port % (to - from);
            }
        }
        Self { of_link, count: all }
    }

    /// Returns the pipes at both ends of a link.
    pub(crate) fn of_link(&self, link: LinkId) -> [Pipe; 2] {
        self.of_link[link.index()]
    }
}

impl PipeCounts {
    pub(crate) fn new(pipes: &Pipes) -> Self {
        Self { protected: vec![0; pipes.count as usize], with: vec![pipes.count] }
    }

    /// Updates the pipes at both ends of a link whose protection starts or ends.
    pub(crate) fn change(&mut self, pipes: [Pipe; 2], is_protected: bool) {
        for pipe in pipes {
            let pipe = pipe as usize;
            let before = usize::from(self.protected[pipe]);
            let after = if is_protected { before + 1 } else { before - 1 };
            self.protected[pipe] = after as u16;
            if self.with.len() == after {
                self.with.push(0);
            }
            self.with[before] -= 1;
            self.with[after] += 1;
            while self.with.len() > 1 && self.with[self.with.len() - 1] == 0 {
                self.with.pop();
            }
        }
    }

    /// Returns the largest number of protected links in one pipe.
    pub(crate) fn most(&self) -> u32 {
        self.with.len() as u32 - 1
    }
}
