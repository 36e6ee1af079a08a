//! Who carries frames between the two ports: the kernel, or the relay.
//!
//! | | frames from the LAN | frames from the link |
//! |---|---|---|
//! | kernel | redirected to the link, except those that look like the link's own, which only the socket sees | redirected to the LAN, except the link's own, which only the socket sees |
//! | relay | dropped after the socket has seen them | dropped after the socket has seen them |
//!
//! Each direction is taken over by itself, when its protection begins, and given back when it ends. Taking over, the rule changes first
//! and the socket's filter after it. Giving back, the socket is told first to see no more; what it has seen is carried to its end; and only
//! then the kernel goes on, or its frames would overtake those. What arrives between the two steps is lost, and never seen twice: some
//! tens of microseconds, unless somebody else is changing interfaces at that very time.

use wiremend_proto::link::Endpoint;

use crate::net::{Refused, tc};
use crate::pool::Slot;
use crate::port::LinuxPort;
use crate::sys::packet::Tap;

/// The two ports, and who has them.
#[derive(Debug)]
pub(super) struct Junction {
    lan: Port,
    link: Port,
    ethertype: u16,
}

#[derive(Debug)]
struct Port {
    name: String,
    owner: Owner,
}

/// Who carries what arrives on a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    Kernel,
    Relay,
    /// The relay carries what it has seen, and sees no more.
    Leaving,
}

impl Junction {
    /// Leaves both directions to the kernel.
    pub(super) fn new(lan: &str, link: &str, ethertype: u16) -> Result<Self, Refused> {
        let port = |name: &str| Port { name: name.into(), owner: Owner::Relay };
        let mut junction = Self { lan: port(lan), link: port(link), ethertype };
        junction.leave_all()?;
        Ok(junction)
    }

    /// Lets sockets see what they must while both directions are the kernel's.
    pub(super) fn attend(&self, lan: &LinuxPort, link: &LinuxPort) -> std::io::Result<()> {
        lan.tap(Tap::Only(self.ethertype))?;
        link.tap(Tap::Only(self.ethertype))
    }

    /// Leaves both directions to the kernel.
    pub(super) fn leave_all(&mut self) -> Result<(), Refused> {
        self.redirect(&self.lan.name, &self.link.name)?;
        self.redirect(&self.link.name, &self.lan.name)?;
        (self.lan.owner, self.link.owner) = (Owner::Kernel, Owner::Kernel);
        Ok(())
    }

    /// Takes over or gives back what the end of the link has begun or ended. `drained`: all that the sockets had seen before was taken, and
    /// nothing waits for either port. True: it is not done yet, and is to be called again without waiting.
    #[inline]
    pub(super) fn follow(
        &mut self,
        end: &Endpoint<Slot>,
        drained: bool,
        sockets: [&LinuxPort; 2],
    ) -> Result<bool, Refused> {
        // Nothing is given back as long as something waits: what comes behind it would be lost.
        let busy = |port: &Port| port.owner == Owner::Relay && !drained;
        let ours = [!end.is_plain() || busy(&self.lan), end.is_receiving() || busy(&self.link)];
        let settled = |port: &Port, ours| port.owner == if ours { Owner::Relay } else { Owner::Kernel };
        if settled(&self.lan, ours[0]) && settled(&self.link, ours[1]) {
            return Ok(false);
        }
        self.change(ours, drained, sockets)
    }

    #[cold]
    fn change(&mut self, ours: [bool; 2], drained: bool, sockets: [&LinuxPort; 2]) -> Result<bool, Refused> {
        let mut unsettled = false;
        for (at, socket) in sockets.into_iter().enumerate() {
            let [port, other] = if at == 0 { [&self.lan, &self.link] } else { [&self.link, &self.lan] };
            let owner = match (ours[at], port.owner) {
                (true, Owner::Kernel) => {
                    tc::Rule::Drop { on: port.name.clone() }.apply()?;
                    tap(socket, Tap::All, &port.name)?;
                    Owner::Relay
                }
                (true, Owner::Leaving) => {
                    tap(socket, Tap::All, &port.name)?;
                    Owner::Relay
                }
                (false, Owner::Relay) => {
                    tap(socket, Tap::Only(self.ethertype), &port.name)?;
                    Owner::Leaving
                }
                (false, Owner::Leaving) if drained => {
                    self.redirect(&port.name, &other.name)?;
                    Owner::Kernel
                }
                (_, owner) => owner,
            };
            unsettled |= owner == Owner::Leaving;
            let port = if at == 0 { &mut self.lan } else { &mut self.link };
            port.owner = owner;
        }
        Ok(unsettled)
    }

    fn redirect(&self, from: &str, to: &str) -> Result<(), Refused> {
        tc::Rule::Redirect { from: from.into(), to: to.into(), except_ethertype: self.ethertype }.apply()
    }
}

fn tap(socket: &LinuxPort, tap: Tap, name: &str) -> Result<(), Refused> {
    socket.tap(tap).map_err(|error| Refused::failed(format!("filter what arrives on `{name}`"), error))
}
