//! The numbering of event sources: arrivals by lane, ports by lane, three events for each host, one for each
//! switch, then a script of pauses for each node that has one.

use wiremend_units::{HostId, LaneId, NodeId, SwitchId};

use crate::event::EventSource;

#[derive(Clone, Copy, Debug)]
pub(crate) struct EventSources {
    lanes: u32,
    hosts: u32,
    switches: u32,
    scripts: u32,
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
    /// A pause of the script with this number begins.
    PauseScript(u32),
}

impl EventSources {
    pub(crate) fn new(lanes: usize, hosts: usize, switches: usize, scripts: usize) -> Self {
        let [lanes, hosts, switches, scripts] = [lanes, hosts, switches, scripts].map(|count| count as u32);
        Self { lanes, hosts, switches, scripts }
    }

    pub(crate) fn lanes(self) -> usize {
        self.lanes as usize
    }

    pub(crate) fn count(self) -> usize {
        self.script(self.scripts).0 as usize
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

    /// Returns whether a node is a host.
    pub(crate) fn is_host(self, node: NodeId) -> bool {
        node.0 < self.hosts
    }

    pub(crate) fn switch_timer(self, switch: SwitchId) -> EventSource {
        EventSource(2 * self.lanes + 3 * self.hosts + switch.0)
    }

    /// Returns the switch with this number among the nodes, in which hosts come first.
    #[inline]
    pub(crate) fn switch_of(self, node: NodeId) -> SwitchId {
        SwitchId(node.0 - self.hosts)
    }

    #[inline]
    pub(crate) fn switch_timer_of(self, node: NodeId) -> EventSource {
        self.switch_timer(self.switch_of(node))
    }

    pub(crate) fn script(self, script: u32) -> EventSource {
        EventSource(2 * self.lanes + 3 * self.hosts + self.switches + script)
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
            _ => Event::PauseScript(rest - 3 * self.hosts - self.switches),
        }
    }
}
