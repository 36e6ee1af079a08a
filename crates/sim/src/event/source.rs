//! The numbering of event sources: arrivals by lane, ports by lane, then three events for each host, then one for each
//! switch, then the script.

use wiremend_units::{HostId, LaneId, SwitchId};

use crate::event::Source;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources {
    lanes: u32,
    hosts: u32,
    switches: u32,
}

/// What happens when an event is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// The first frame of a lane arrives.
    Arrival(LaneId),
    /// A port that something waits for falls free.
    PortFree(LaneId),
    /// A host's application wants to act.
    App(HostId),
    /// A timer of one of a host's connections is due, or was.
    Timer(HostId),
    /// A notice is there.
    Inbox(HostId),
    /// In a switch a buffered frame comes round, or neighbours are to be told again to wait.
    Inside(SwitchId),
    /// What a scenario says about a moment comes to pass.
    Script,
}

impl Sources {
    pub(crate) fn new(lanes: usize, hosts: usize, switches: usize) -> Self {
        Self { lanes: lanes as u32, hosts: hosts as u32, switches: switches as u32 }
    }

    pub(crate) fn lanes(self) -> usize {
        self.lanes as usize
    }

    pub(crate) fn count(self) -> usize {
        2 * self.lanes as usize + 3 * self.hosts as usize + self.switches as usize + 1
    }

    #[inline]
    pub(crate) fn tx(self, lane: LaneId) -> Source {
        Source(self.lanes + lane.0)
    }

    #[inline]
    pub(crate) fn app(self, host: HostId) -> Source {
        Source(2 * self.lanes + host.0)
    }

    #[inline]
    pub(crate) fn timer(self, host: HostId) -> Source {
        Source(2 * self.lanes + self.hosts + host.0)
    }

    #[inline]
    pub(crate) fn inbox(self, host: HostId) -> Source {
        Source(2 * self.lanes + 2 * self.hosts + host.0)
    }

    pub(crate) fn inside(self, switch: SwitchId) -> Source {
        Source(2 * self.lanes + 3 * self.hosts + switch.0)
    }

    pub(crate) fn script(self) -> Source {
        Source(2 * self.lanes + 3 * self.hosts + self.switches)
    }

    #[inline]
    pub(crate) fn event(self, source: Source) -> Event {
        let number = source.0;
        if number < self.lanes {
            return Event::Arrival(LaneId(number));
        }
        if number < 2 * self.lanes {
            return Event::PortFree(LaneId(number - self.lanes));
        }
        let rest = number - 2 * self.lanes;
        let host = HostId(rest % self.hosts);
        match rest / self.hosts {
            0 => Event::App(host),
            1 => Event::Timer(host),
            2 => Event::Inbox(host),
            _ if rest - 3 * self.hosts < self.switches => Event::Inside(SwitchId(rest - 3 * self.hosts)),
            _ => Event::Script,
        }
    }
}
