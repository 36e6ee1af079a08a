//! Families of generic netlink.

use std::io;

use super::{Message, NetlinkError, Reply, Socket, read_u16};

/// A family of generic netlink, and a socket for it.
#[derive(Debug)]
pub struct GenericFamily {
    socket: Socket,
    id: u16,
}

impl GenericFamily {
    /// Bytes of `struct genlmsghdr`: command, version, reserved.
    pub const HEADER: usize = 4;

    /// Opens a socket for the family `name`. `None` if the kernel does not have it.
    pub fn open(name: &str) -> io::Result<Option<Self>> {
        let mut socket = match Socket::open_protocol(libc::NETLINK_GENERIC) {
            Err(error) if error.raw_os_error() == Some(libc::EPROTONOSUPPORT) => return Ok(None),
            socket => socket?,
        };
        let mut message =
            Message::new(libc::GENL_ID_CTRL as u16, 0, &[libc::CTRL_CMD_GETFAMILY as u8, 1, 0, 0]);
        message.put_text(libc::CTRL_ATTR_FAMILY_NAME as u16, name);
        let replies = match socket.ask(&message) {
            Err(error) if error.errno() == Some(libc::ENOENT) => return Ok(None),
            replies => replies.map_err(|error| error.source)?,
        };
        let id = replies.iter().find_map(|reply| {
            let (_, attributes) = reply.split(Self::HEADER)?;
            read_u16(attributes.get(libc::CTRL_ATTR_FAMILY_ID as u16)?, 0)
        });
        Ok(id.map(|id| Self { socket, id }))
    }

    /// Sends a query with the attributes that `fill` adds. Returns its replies.
    pub fn ask(&mut self, command: u8, fill: impl FnOnce(&mut Message)) -> Result<Vec<Reply>, NetlinkError> {
        let mut message = Message::new(self.id, 0, &[command, 1, 0, 0]);
        fill(&mut message);
        self.socket.ask(&message)
    }
}
