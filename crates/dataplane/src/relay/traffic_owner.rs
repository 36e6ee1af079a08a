//! Selects for each direction whether the kernel or the relay forwards its frames.
//!
//! | owner | frames from the LAN | frames from the link |
//! |---|---|---|
//! | kernel | redirected to the link, except frames with the link's `EtherType`, which only the socket receives | redirected to the LAN, except link frames, which only the socket receives |
//! | relay | the socket receives them, then tc drops them | the socket receives them, then tc drops them |
//!
//! The relay takes a direction over when its protection begins, and returns it when protection ends. See
//! [`handover`](super::handover) for how no frame is lost or forwarded twice meanwhile.

use tracing::warn;
use wiremend_proto::link::Endpoint;

use super::handover::{Handover, HandoverCounts};
use crate::net::{NetError, RuleWatch, tc};
use crate::pool::Slot;
use crate::port::LinuxPort;
use crate::sys::packet::CaptureFilter;

#[derive(Debug)]
pub(super) struct TrafficOwner {
    /// The LAN, then the link.
    ports: [Port; 2],
    ethertype: u16,
    counts: HandoverCounts,
    watch: RuleWatch,
}

#[derive(Debug)]
struct Port {
    name: String,
    owner: Owner,
    switch: tc::Switch,
}

/// The owner of the frames that arrive on a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    Kernel,
    Relay,
}

impl TrafficOwner {
    /// Creates it with the kernel as owner of both directions.
    pub(super) fn new(lan: &str, link: &str, ethertype: u16) -> Result<Self, NetError> {
        let watch = RuleWatch::open()?;
        redirect_both(lan, link, ethertype)?;
        let port = |name: &str, other: &str| {
            let switch = tc::Switch::open(name, other, ethertype)?;
            Ok(Port { name: name.into(), owner: Owner::Kernel, switch })
        };
        let ports = [port(lan, link)?, port(link, lan)?];
        Ok(Self { ports, ethertype, counts: HandoverCounts::default(), watch })
    }

    /// Makes both sockets receive link frames only, as needed while the kernel owns both directions.
    pub(super) fn filter_sockets(&self, lan: &LinuxPort, link: &LinuxPort) -> std::io::Result<()> {
        lan.set_filter(CaptureFilter::Only(self.ethertype))?;
        link.set_filter(CaptureFilter::LinkFrames(self.ethertype))
    }

    pub(super) fn give_all_to_kernel(&mut self) -> Result<(), NetError> {
        redirect_both(&self.ports[0].name, &self.ports[1].name, self.ethertype)?;
        for port in &mut self.ports {
            port.owner = Owner::Kernel;
        }
        Ok(())
    }

    /// Restores rules that another program has removed or changed, if any rule of this machine has changed.
    pub(super) fn follow_rules(&mut self) -> Result<(), NetError> {
        if self.watch.has_changed() {
            self.restore_rules()?;
        }
        Ok(())
    }

    /// Restores rules that another program has removed or changed, such as `tc qdisc del dev eth1 clsact`. Returns
    /// whether there were any.
    fn restore_rules(&mut self) -> Result<bool, NetError> {
        let mut any = false;
        for (port, other) in [(0, 1), (1, 0)].map(|(port, other)| (&self.ports[port], &self.ports[other])) {
            let rule = match port.owner {
                Owner::Kernel => redirect(&port.name, &other.name, self.ethertype),
                Owner::Relay => tc::IngressRule::Drop { on: port.name.clone() },
            };
            match tc::IngressRule::read(&port.name) {
                Ok(found) if found.as_ref() == Some(&rule) => {}
                Ok(_) => {
                    rule.apply()?;
                    any = true;
                    warn!(
                        link = self.ports[1].name,
                        "another program has changed the tc rules of `{}`; they are restored", port.name
                    );
                }
                // The supervisor reports an interface that is gone.
                Err(NetError::NoSuchInterface { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(any)
    }

    /// Frames affected when a direction changed its owner.
    pub(super) fn counts(&self) -> HandoverCounts {
        self.counts
    }

    /// Whether the kernel forwards the frames that arrive on the link.
    #[inline]
    pub(super) fn is_link_returned(&self) -> bool {
        self.ports[1].owner == Owner::Kernel
    }

    /// Whether the kernel forwards in both directions.
    pub(super) fn is_all_returned(&self) -> bool {
        self.ports.iter().all(|port| port.owner == Owner::Kernel)
    }

    /// Takes over or returns directions according to the state of the endpoint. `drained`: no frame of the
    /// direction waits for a port. Returns true if the caller must call again at once.
    #[inline]
    pub(super) fn update(
        &mut self,
        end: &Endpoint<Slot>,
        drained: [bool; 2],
        sockets: [&LinuxPort; 2],
    ) -> Result<bool, NetError> {
        // A direction is returned only when no frame waits: the kernel's frames would overtake it.
        let ours = [!end.is_plain(), end.is_receiving()];
        let settled = |at: usize| match self.ports[at].owner {
            Owner::Relay => ours[at] || !drained[at],
            Owner::Kernel => !ours[at],
        };
        if settled(0) && settled(1) {
            return Ok(false);
        }
        self.change(ours, drained, sockets).or_else(|error| {
            // Without its rules a port refuses the change.
            if self.restore_rules()? { Ok(true) } else { Err(error) }
        })
    }

    #[cold]
    fn change(
        &mut self,
        ours: [bool; 2],
        drained: [bool; 2],
        sockets: [&LinuxPort; 2],
    ) -> Result<bool, NetError> {
        let mut again = false;
        let returned = [CaptureFilter::Only(self.ethertype), CaptureFilter::LinkFrames(self.ethertype)];
        for (at, socket) in sockets.into_iter().enumerate() {
            let port = &mut self.ports[at];
            let handover = Handover {
                name: &port.name,
                switch: &mut port.switch,
                socket,
                ethertype: self.ethertype,
                returned: returned[at],
                counts: &mut self.counts,
            };
            match (port.owner, ours[at]) {
                (Owner::Kernel, true) => {
                    handover.take()?;
                    port.owner = Owner::Relay;
                }
                (Owner::Relay, false) if drained[at] => {
                    again = true;
                    if handover.give()? {
                        port.owner = Owner::Kernel;
                    }
                }
                _ => {}
            }
        }
        Ok(again)
    }
}

/// Lets the kernel forward between two ports.
pub(super) fn redirect_both(lan: &str, link: &str, ethertype: u16) -> Result<(), NetError> {
    redirect(lan, link, ethertype).apply()?;
    redirect(link, lan, ethertype).apply()
}

fn redirect(from: &str, to: &str, except_ethertype: u16) -> tc::IngressRule {
    tc::IngressRule::Redirect { from: from.to_owned(), to: to.to_owned(), except_ethertype }
}
