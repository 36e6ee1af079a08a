//! Flow control of a port: pause frames and PFC.

use super::NetError;
use super::interface::checked;
use crate::sys::ioctl::{Ethtool, Pause};
use crate::sys::netlink::{Message, Reply, Socket};

/// Flow control of a port. The MAC consumes pause frames, so a flow-control domain ends at a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortFlowControl {
    /// Pause of all traffic (IEEE 802.3 annex 31B); `None` if the driver does not report it.
    pub pause: Option<Pause>,
    /// Bit mask of the priorities with PFC (IEEE 802.1Qbb); `None` if the driver does not report it.
    pub pfc: Option<u8>,
}

impl PortFlowControl {
    /// Reads the flow control of the port `name`.
    pub fn read(name: &str) -> Result<Self, NetError> {
        let pause = match Ethtool::open(name).and_then(|ethtool| ethtool.pause()) {
            Ok(pause) => Some(pause),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => None,
            Err(error) => {
                return Err(NetError::for_interface(
                    name,
                    format!("read the flow control of `{name}`"),
                    error.into(),
                ));
            }
        };
        Ok(Self { pause, pfc: pfc(name)? })
    }
}

fn pfc(name: &str) -> Result<Option<u8>, NetError> {
    let what = || format!("read the PFC of `{name}`");
    let mut socket = Socket::open().map_err(|error| NetError::failed(what(), error))?;
    // `struct dcbmsg`: family, command.
    let mut message = Message::new(libc::RTM_GETDCB, 0, &[0, DCB_CMD_IEEE_GET, 0, 0]);
    message.put_text(DCB_ATTR_IFNAME, checked(name)?);
    match socket.ask(&message) {
        Ok(replies) => Ok(replies.iter().find_map(enabled)),
        // The kernel or the driver has no data centre bridging.
        Err(error) if matches!(error.errno(), Some(libc::EOPNOTSUPP | libc::EINVAL)) => Ok(None),
        Err(error) => Err(NetError::for_interface(name, what(), error)),
    }
}

/// `struct ieee_pfc`: number of supported priorities, mask of enabled ones.
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

    /// Reply of a driver with PFC on priorities 3 and 4.
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
