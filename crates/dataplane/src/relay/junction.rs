//! Who carries frames between the two ports: the kernel, or the relay.
//!
//! | | frames from the LAN | frames from the link |
//! |---|---|---|
//! | kernel | redirected to the link, except those that look like the link's own, which only the socket sees | redirected to the LAN, except the link's own, which only the socket sees |
//! | relay | dropped after the socket has seen them | dropped after the socket has seen them |
//!
//! Each direction is taken over by itself, when its protection begins, and given back when it ends. The rule changes first and the
//! socket's filter after it: what arrives between the two, for some tens of microseconds, is lost, and never seen twice.

use wiremend_proto::link::Endpoint;

use crate::net::{Refused, tc};
use crate::pool::Slot;
use crate::port::LinuxPort;
use crate::sys::packet::Tap;

/// The two ports, and who has them.
#[derive(Debug)]
pub(super) struct Junction {
    lan: String,
    link: String,
    ethertype: u16,
    lan_is_ours: bool,
    link_is_ours: bool,
}

impl Junction {
    /// Leaves both directions to the kernel.
    pub(super) fn new(lan: &str, link: &str, ethertype: u16) -> Result<Self, Refused> {
        let mut junction =
            Self { lan: lan.into(), link: link.into(), ethertype, lan_is_ours: true, link_is_ours: true };
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
        self.redirect(&self.lan, &self.link)?;
        self.redirect(&self.link, &self.lan)?;
        (self.lan_is_ours, self.link_is_ours) = (false, false);
        Ok(())
    }

    /// Takes over or gives back what the end of the link has begun or ended. `empty`: nothing waits for the link.
    #[inline]
    pub(super) fn follow(
        &mut self,
        end: &Endpoint<Slot>,
        empty: bool,
        sockets: [&LinuxPort; 2],
    ) -> Result<(), Refused> {
        let wants_lan = !end.is_plain() || (self.lan_is_ours && !empty);
        if wants_lan != self.lan_is_ours {
            self.change_lan(wants_lan, sockets[0])?;
        }
        if end.is_receiving() != self.link_is_ours {
            self.change_link(end.is_receiving(), sockets[1])?;
        }
        Ok(())
    }

    #[cold]
    fn change_lan(&mut self, ours: bool, socket: &LinuxPort) -> Result<(), Refused> {
        if ours {
            tc::Rule::Drop { on: self.lan.clone() }.apply()?;
            tap(socket, Tap::All, &self.lan)?;
        } else {
            tap(socket, Tap::Only(self.ethertype), &self.lan)?;
            self.redirect(&self.lan, &self.link)?;
        }
        self.lan_is_ours = ours;
        Ok(())
    }

    #[cold]
    fn change_link(&mut self, ours: bool, socket: &LinuxPort) -> Result<(), Refused> {
        if ours {
            tc::Rule::Drop { on: self.link.clone() }.apply()?;
            tap(socket, Tap::All, &self.link)?;
        } else {
            tap(socket, Tap::Only(self.ethertype), &self.link)?;
            self.redirect(&self.link, &self.lan)?;
        }
        self.link_is_ours = ours;
        Ok(())
    }

    fn redirect(&self, from: &str, to: &str) -> Result<(), Refused> {
        tc::Rule::Redirect { from: from.into(), to: to.into(), except_ethertype: self.ethertype }.apply()
    }
}

fn tap(socket: &LinuxPort, tap: Tap, name: &str) -> Result<(), Refused> {
    socket.tap(tap).map_err(|error| Refused::failed(format!("filter what arrives on `{name}`"), error))
}
