//! A packet socket without a ring: one frame per call. For tests and probes, not for the data path.

use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::sockopt::{owned, set};

/// A socket that receives and sends all frames of one interface. Needs `CAP_NET_RAW`.
#[derive(Debug)]
pub struct RawSocket {
    fd: OwnedFd,
}

/// A captured frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFrame {
    /// The frame from its destination address, without the VLAN tag that the kernel stripped.
    pub frame: Vec<u8>,
    /// The stripped VLAN tag: TPID and TCI.
    pub tag: Option<(u16, u16)>,
    /// Whether the interface sent the frame.
    pub outgoing: bool,
}

impl RawSocket {
    /// Opens a socket on the interface with this index.
    pub fn open(index: u32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let all = (libc::ETH_P_ALL as u16).to_be();
        // SAFETY: plain call without pointers.
        let fd = owned(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        set(&fd, libc::SOL_PACKET, libc::PACKET_AUXDATA, &1_i32)?;
        // SAFETY: all bytes zero is a valid address; the fields that matter are set below.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = all;
        address.sll_ifindex = index as i32;
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: pointer and length describe `address`, which is only read.
        let outcome = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), size) };
        if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(Self { fd }) }
    }

    /// Sends a frame, from its destination address on.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: pointer and length are those of a slice, which is only read.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits for the next frame in either direction, for at most `limit`.
    pub fn receive(&self, limit: Duration) -> io::Result<Option<CapturedFrame>> {
        let mut poll = libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the pointer is to one `pollfd`, and the count is 1.
        let ready = unsafe { libc::poll(&raw mut poll, 1, limit.as_millis() as i32) };
        match ready {
            0 => Ok(None),
            1.. => self.take().map(Some),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn take(&self) -> io::Result<CapturedFrame> {
        let mut frame = vec![0; 65_536];
        let mut control = [MaybeUninit::<libc::cmsghdr>::uninit(); 8];
        let mut part = libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() };
        // SAFETY: all bytes zero is a valid address and a valid, empty message.
        let (mut from, mut message): (libc::sockaddr_ll, libc::msghdr) = unsafe { (zeroed(), zeroed()) };
        message.msg_name = (&raw mut from).cast();
        message.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        // SAFETY: every pointer in `message` is to a local that outlives the call, with its length.
        let got = unsafe { libc::recvmsg(self.fd.as_raw_fd(), &raw mut message, 0) };
        let Ok(length) = usize::try_from(got) else { return Err(io::Error::last_os_error()) };
        frame.truncate(length);
        // SAFETY: the kernel has just filled `message`, and `control` is alive.
        let tag = unsafe { tag(&message) };
        Ok(CapturedFrame { frame, tag, outgoing: from.sll_pkttype == libc::PACKET_OUTGOING })
    }
}

impl AsFd for RawSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Returns the VLAN tag in the control message.
///
/// # Safety
/// `message` was filled by `recvmsg`, and its control buffer is alive.
unsafe fn tag(message: &libc::msghdr) -> Option<(u16, u16)> {
    // SAFETY: by the contract the control buffer and its length are valid; the macros stay within it.
    let first = unsafe { libc::CMSG_FIRSTHDR(message).as_ref() }?;
    if (first.cmsg_level, first.cmsg_type) != (libc::SOL_PACKET, libc::PACKET_AUXDATA) {
        return None;
    }
    // SAFETY: the kernel put a `tpacket_auxdata` behind the header it names; it may be unaligned.
    let aux = unsafe { libc::CMSG_DATA(first).cast::<libc::tpacket_auxdata>().read_unaligned() };
    (aux.tp_status & libc::TP_STATUS_VLAN_VALID != 0).then_some((aux.tp_vlan_tpid, aux.tp_vlan_tci))
}
