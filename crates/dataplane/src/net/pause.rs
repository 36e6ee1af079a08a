//! Whether the other end of a link may stop a port, and it the other end.

use super::Refused;
use super::interface::checked;
use crate::sys::ioctl::{Ethtool, Pause};
use crate::sys::netlink::{Message, Reply, Socket};

/// The flow control of a port. A MAC swallows pause frames, so a relay in the middle ends whatever they protect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowControl {
    /// Pause of all traffic (IEEE 802.3 annex 31B); `None` if the driver does not say.
    pub pause: Option<Pause>,
    /// The priorities for which PFC (IEEE 802.1Qbb) is on, one bit each; `None` if the driver does not say.
    pub pfc: Option<u8>,
}

impl FlowControl {
    /// Asks about the port `name`.
    pub fn of(name: &str) -> Result<Self, Refused> {
        let pause = match Ethtool::open(name).and_then(|ethtool| ethtool.pause()) {
            Ok(pause) => Some(pause),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => None,
            Err(error) => {
                return Err(Refused::of(name, format!("read the flow control of `{name}`"), error.into()));
            }
        };
        Ok(Self { pause, pfc: pfc(name)? })
    }
}

fn pfc(name: &str) -> Result<Option<u8>, Refused> {
    let what = || format!("read the PFC of `{name}`");
    let mut socket = Socket::open().map_err(|error| Refused::failed(what(), error))?;
    // `struct dcbmsg`: family, command.
    let mut message = Message::new(libc::RTM_GETDCB, 0, &[0, DCB_CMD_IEEE_GET, 0, 0]);
    message.put_text(DCB_ATTR_IFNAME, checked(name)?);
    match socket.ask(&message) {
        Ok(replies) => Ok(replies.iter().find_map(enabled)),
        // No data centre bridging in this kernel, or none in this driver.
        Err(fault) if matches!(fault.errno(), Some(libc::EOPNOTSUPP | libc::EINVAL)) => Ok(None),
        Err(fault) => Err(Refused::of(name, what(), fault)),
    }
}

/// `struct ieee_pfc`: how many priorities may be on, which are.
fn enabled(reply: &Reply) -> Option<u8> {
    let (_, attributes) = reply.split(4)?;
    attributes.within(DCB_ATTR_IEEE).get(DCB_ATTR_IEEE_PFC)?.get(1).copied()
}

// `linux/dcbnl.h`.
const DCB_CMD_IEEE_GET: u8 = 21;
const DCB_ATTR_IFNAME: u16 = 1;
const DCB_ATTR_IEEE: u16 = 13;
const DCB_ATTR_IEEE_PFC: u16 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    /// What a driver with PFC on priorities 3 and 4 answers.
    #[test]
    fn enabled_priorities_are_found() {
        let mut payload = vec![0, DCB_CMD_IEEE_GET, 0, 0];
        let pfc: Vec<u8> = [144, 0, 2, 0].into_iter().chain([8, 0b1_1000]).chain([0; 134]).collect();
        payload.extend_from_slice(&((pfc.len() + 4) as u16).to_ne_bytes());
        payload.extend_from_slice(&DCB_ATTR_IEEE.to_ne_bytes());
        payload.extend_from_slice(&(pfc.len() as u16).to_ne_bytes());
        payload.extend_from_slice(&DCB_ATTR_IEEE_PFC.to_ne_bytes());
        payload.extend_from_slice(&pfc[4..]);
        assert_eq!(enabled(&Reply { kind: libc::RTM_GETDCB, payload: payload.clone() }), Some(0b1_1000));
        payload.truncate(13);
        assert_eq!(enabled(&Reply { kind: libc::RTM_GETDCB, payload }), None);
    }
}
