//! Selects for each direction whether the kernel or the relay forwards its frames.
//!
//! | owner | frames from the LAN | frames from the link |
//! |---|---|---|
//! | kernel | redirected to the link, except frames with the link's `EtherType`, which only the socket receives | redirected to the LAN, except link frames, which only the socket receives |
//! | relay | the socket receives them, then tc drops them | the socket receives them, then tc drops them |
//!
//! The relay takes a direction over when its protection begins, and returns it when protection ends. To take
//! over, it changes the tc rule first and the socket filter second. To return, it first stops the socket from
//! receiving, then forwards the frames that the socket already has, and only then sets the redirect;
//! otherwise the kernel's frames would overtake. Frames that arrive between the two steps are lost, never
//! duplicated. The gap lasts some tens of microseconds, or longer while another program changes interfaces.

use wiremend_proto::link::Endpoint;

use crate::net::{NetError, tc};
use crate::pool::Slot;
use crate::port::LinuxPort;
use crate::sys::packet::CaptureFilter;

#[derive(Debug)]
pub(super) struct TrafficOwner {
    lan: Port,
    link: Port,
    ethertype: u16,
}

#[derive(Debug)]
struct Port {
    name: String,
    owner: Owner,
}

/// The owner of the frames that arrive on a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    Kernel,
    Relay,
    /// The relay forwards the frames that it has received and receives no more.
    Leaving,
}

impl TrafficOwner {
    /// Creates it with the kernel as owner of both directions.
    pub(super) fn new(lan: &str, link: &str, ethertype: u16) -> Result<Self, NetError> {
        let port = |name: &str| Port { name: name.into(), owner: Owner::Relay };
        let mut traffic_owner = Self { lan: port(lan), link: port(link), ethertype };
        traffic_owner.give_all_to_kernel()?;
        Ok(traffic_owner)
    }

    /// Makes both sockets receive link frames only, as needed while the kernel owns both directions.
    pub(super) fn filter_sockets(&self, lan: &LinuxPort, link: &LinuxPort) -> std::io::Result<()> {
        lan.set_filter(CaptureFilter::Only(self.ethertype))?;
        link.set_filter(CaptureFilter::Only(self.ethertype))
    }

    pub(super) fn give_all_to_kernel(&mut self) -> Result<(), NetError> {
        self.redirect(&self.lan.name, &self.link.name)?;
        self.redirect(&self.link.name, &self.lan.name)?;
        (self.lan.owner, self.link.owner) = (Owner::Kernel, Owner::Kernel);
        Ok(())
    }
    /// Takes over or returns directions according to the state of the endpoint. `drained`: all received
    /// frames were taken and no frame waits for a port. Returns true if the caller must call again at once.
    #[inline]
    pub(super) fn update(
        &mut self,
        end: &Endpoint<Slot>,
        drained: bool,
        sockets: [&LinuxPort; 2],
    ) -> Result<bool, NetError> {
        // A direction is returned only when no frame waits: frames behind a waiting one would be lost.
        let busy = |port: &Port| port.owner == Owner::Relay && !drained;
        let ours = [!end.is_plain() || busy(&self.lan), end.is_receiving() || busy(&self.link)];
        let settled = |port: &Port, ours| port.owner == if ours { Owner::Relay } else { Owner::Kernel };
        if settled(&self.lan, ours[0]) && settled(&self.link, ours[1]) {
            return Ok(false);
        }
        self.change(ours, drained, sockets)
    }

    #[cold]
    fn change(&mut self, ours: [bool; 2], drained: bool, sockets: [&LinuxPort; 2]) -> Result<bool, NetError> {
        let mut unsettled = false;
        for (at, socket) in sockets.into_iter().enumerate() {
            let [port, other] = if at == 0 { [&self.lan, &self.link] } else { [&self.link, &self.lan] };
            let owner = match (ours[at], port.owner) {
                (true, Owner::Kernel) => {
                    tc::IngressRule::Drop { on: port.name.clone() }.apply()?;
                    set_filter(socket, CaptureFilter::All, &port.name)?;
                    Owner::Relay
                }
                (true, Owner::Leaving) => {
                    set_filter(socket, CaptureFilter::All, &port.name)?;
                    Owner::Relay
                }
                (false, Owner::Relay) => {
                    set_filter(socket, CaptureFilter::Only(self.ethertype), &port.name)?;
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

    fn redirect(&self, from: &str, to: &str) -> Result<(), NetError> {
        tc::IngressRule::Redirect { from: from.into(), to: to.into(), except_ethertype: self.ethertype }
            .apply()
    }
}

fn set_filter(socket: &LinuxPort, filter: CaptureFilter, name: &str) -> Result<(), NetError> {
    socket
        .set_filter(filter)
        .map_err(|error| NetError::failed(format!("set the socket filter of `{name}`"), error))
}
