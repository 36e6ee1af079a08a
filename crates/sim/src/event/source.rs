//! The numbering of event sources: arrivals by lane, ports by lane, three events for each host, one for each
//! switch, then the script of pauses.

use wiremend_units::{HostId, LaneId, SwitchId};

use crate::event::EventSource;

#[derive(Clone, Copy, Debug)]
pub(crate) struct EventSources {
    lanes: u32,
    hosts: u32,
    switches: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// The first frame of a lane arrives.
    Arrival(LaneId),
    /// A port becomes free, or is due to look at its queues.
    PortFree(LaneId),
    App(HostId),
    /// A timer of one of a host's connections is due. May be stale.
    Timer(HostId),
    /// A notice arrives at a host.
    Inbox(HostId),
    /// A switch has a looped frame, a PFC refresh or a watchdog poll that is due.
    SwitchTimer(SwitchId),
    PauseScript,
}

impl EventSources {
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
    pub(crate) fn port_free(self, lane: LaneId) -> EventSource {
        EventSource(self.lanes + lane.0)
    }

    #[inline]
    pub(crate) fn app(self, host: HostId) -> EventSource {
        EventSource(2 * self.lanes + host.0)
    }

    #[inline]
    pub(crate) fn timer(self, host: HostId) -> EventSource {
        EventSource(2 * self.lanes + self.hosts + host.0)
    }

    #[inline]
    pub(crate) fn inbox(self, host: HostId) -> EventSource {
        EventSource(2 * self.lanes + 2 * self.hosts + host.0)
    }

    pub(crate) fn switch_timer(self, switch: SwitchId) -> EventSource {
        EventSource(2 * self.lanes + 3 * self.hosts + switch.0)
    }

    pub(crate) fn script(self) -> EventSource {
        EventSource(2 * self.lanes + 3 * self.hosts + self.switches)
    }

    #[inline]
    pub(crate) fn event(self, source: EventSource) -> Event {
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
            _ if rest - 3 * self.hosts < self.switches => Event::SwitchTimer(SwitchId(rest - 3 * self.hosts)),
            _ => Event::PauseScript,
        }
    }
}
