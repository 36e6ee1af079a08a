//! Packet sockets with a receive ring shared with the kernel (`TPACKET_V2`). Sending bypasses the qdisc.

use std::io::{self, IoSlice};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, socklen_t};

use super::mapping::Mapping;
use super::sockopt::{self, checked, owned};

/// A packet socket on one interface, with a receive ring.
pub struct PacketSocket {
    fd: OwnedFd,
    ring: Ring,
}

/// The received frames that a socket captures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaptureFilter {
    /// All frames.
    All,
    /// Untagged frames of one `EtherType`.
    Only(u16),
    /// No frames. Frames already in the ring remain.
    Nothing,
}

/// Handle of a received frame in the ring.
#[derive(Clone, Copy, Debug)]
pub struct RxFrame {
    /// Index in the ring.
    pub index: u32,
    /// VLAN tag that the interface has stripped; it belongs after the addresses.
    pub tag: Option<[u8; 4]>,
    /// Whether the frame was too long for the ring and is truncated.
    pub truncated: bool,
}

/// Kernel counters since the last query.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct KernelCounts {
    /// Frames received.
    pub seen: u64,
    /// Frames dropped because the ring was full.
    pub dropped: u64,
}

/// The consecutive pieces of one frame.
pub type Pieces<'a> = [IoSlice<'a>; PIECES];

/// Number of pieces per frame.
pub const PIECES: usize = 3;
/// Maximum number of frames per send call.
pub const SEND_MAX: usize = 16;

impl PacketSocket {
    /// Opens a socket on the interface with this index, with a ring of at least `frames` frames of up to
    /// `frame_bytes`. It receives nothing before [`PacketSocket::bind`].
    pub fn open(interface: u32, frames: u32, frame_bytes: u32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers.
        let fd = owned(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        set(&fd, libc::PACKET_IGNORE_OUTGOING, &1i32)?;
        set(&fd, libc::PACKET_QDISC_BYPASS, &1i32)?;
        set(&fd, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as c_int))?;
        let ring = Ring::new(&fd, frames, frame_bytes)?;
        // SAFETY: all fields are integers.
        let mut membership: libc::packet_mreq = unsafe { zeroed() };
        membership.mr_ifindex = interface as c_int;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        set(&fd, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        Ok(Self { fd, ring })
    }

    /// Starts receiving from the interface.
    pub fn bind(&self, index: u32) -> io::Result<()> {
        // SAFETY: all fields are integers.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as c_int;
        // SAFETY: the address outlives the call and has the given length.
        let done = unsafe {
            let address = ptr::from_ref(&address).cast();
            libc::bind(self.fd.as_raw_fd(), address, size_of::<libc::sockaddr_ll>() as socklen_t)
        };
        checked(done).map(drop)
    }

    /// Selects the frames to receive.
    pub fn set_filter(&self, filter: CaptureFilter) -> io::Result<()> {
        const WHOLE: u32 = 0x4_0000;
        const TAG_PRESENT: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TAG_PRESENT) as u32;
        let load_tag = instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, TAG_PRESENT);
        let untagged = instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 3, 0);
        let load = instruction(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, 0, 0, 12);
        let accept = instruction(libc::BPF_RET | libc::BPF_K, 0, 0, WHOLE);
        let refuse = instruction(libc::BPF_RET | libc::BPF_K, 0, 0, 0);
        match filter {
            CaptureFilter::All => self.filter(&[accept]),
            CaptureFilter::Nothing => self.filter(&[refuse]),
            CaptureFilter::Only(ethertype) => {
                let compare =
                    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, u32::from(ethertype));
                self.filter(&[load_tag, untagged, load, compare, accept, refuse])
            }
        }
    }

    /// Takes the next received frame. Its bytes stay valid until [`PacketSocket::release`].
    #[inline]
    pub fn take(&mut self) -> Option<RxFrame> {
        self.ring.take()
    }

    /// The bytes of a frame.
    #[inline]
    pub fn bytes(&self, rx_frame: &RxFrame) -> &[u8] {
        self.ring.bytes(rx_frame.index)
    }

    /// Returns the ring entries of all taken frames to the kernel.
    #[inline]
    pub fn release(&mut self) {
        self.ring.release();
    }

    /// Sends frames, each in pieces. Returns the number of accepted frames; 0 if the interface has no room.
    pub fn send(&self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        let count = frames.len().min(SEND_MAX);
        // SAFETY: a zeroed message header is valid.
        let mut messages: [libc::mmsghdr; SEND_MAX] = unsafe { zeroed() };
        for (message, pieces) in messages.iter_mut().zip(&frames[..count]) {
            // An `IoSlice` has the layout of an `iovec`. The kernel only reads the pieces.
            message.msg_hdr.msg_iov = pieces.as_ptr().cast_mut().cast();
            message.msg_hdr.msg_iovlen = PIECES as _;
        }
        // SAFETY: the first `count` headers point to pieces that outlive the call.
        let sent = unsafe {
            libc::sendmmsg(self.fd.as_raw_fd(), messages.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT)
        };
        match checked(sent) {
            Ok(sent) => Ok(sent as usize),
            Err(error) if is_no_room(&error) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Reads and resets the kernel counters.
    pub fn kernel_counts(&self) -> io::Result<KernelCounts> {
        let stats: libc::tpacket_stats = sockopt::get(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
        Ok(KernelCounts { seen: u64::from(stats.tp_packets), dropped: u64::from(stats.tp_drops) })
    }

    /// Reads and clears the pending error of the socket, such as `ENETDOWN`.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        let value: c_int = sockopt::get(&self.fd, libc::SOL_SOCKET, libc::SO_ERROR)?;
        Ok((value != 0).then(|| io::Error::from_raw_os_error(value)))
    }

    fn filter(&self, program: &[libc::sock_filter]) -> io::Result<()> {
        let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
        sockopt::set(&self.fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
/// The receive ring. The kernel fills and marks the entries in order. It stops at an entry in use.
struct Ring {
    memory: Mapping,
    entry_bytes: usize,
    /// A power of two.
    entries: u32,
    /// Number of frames taken, and returned to the kernel.
    taken: u32,
    released: u32,
}

impl Ring {
    fn new(fd: &OwnedFd, entries: u32, frame_bytes: u32) -> io::Result<Self> {
        const BLOCK_BYTES: u32 = 1 << 16;
        let entry_bytes = (frame_bytes + HEADROOM_BYTES).next_power_of_two();
        let entries = entries.next_power_of_two().max(BLOCK_BYTES / entry_bytes.min(BLOCK_BYTES));
        let block_bytes = BLOCK_BYTES.max(entry_bytes);
        let request = libc::tpacket_req {
            tp_block_size: block_bytes,
            tp_block_nr: (u64::from(entries) * u64::from(entry_bytes) / u64::from(block_bytes)) as u32,
            tp_frame_size: entry_bytes,
            tp_frame_nr: entries,
        };
        set(fd, libc::PACKET_RX_RING, &request)?;
        Ok(Self {
            memory: Mapping::shared(fd.as_fd(), entries as usize * entry_bytes as usize, 0)?,
            entry_bytes: entry_bytes as usize,
            entries,
            taken: 0,
            released: 0,
        })
    }

    #[inline]
    fn take(&mut self) -> Option<RxFrame> {
        if self.taken.wrapping_sub(self.released) == self.entries {
            return None;
        }
        let index = self.taken & (self.entries - 1);
        if self.status(index).load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        self.taken = self.taken.wrapping_add(1);
        let header = self.header(index);
        let has_tag = header.tp_status & libc::TP_STATUS_VLAN_VALID != 0;
        let tag = has_tag.then(|| {
            let named = header.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            let protocol = if named { header.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
            let ([a, b], [c, d]) = (protocol.to_be_bytes(), header.tp_vlan_tci.to_be_bytes());
            [a, b, c, d]
        });
        Some(RxFrame { index, tag, truncated: header.tp_len > header.tp_snaplen })
    }

    #[inline]
    fn bytes(&self, index: u32) -> &[u8] {
        let age = self.taken.wrapping_sub(1).wrapping_sub(index) & (self.entries - 1);
        assert!(age < self.taken.wrapping_sub(self.released), "frame read after its release");
        let header = self.header(index);
        let start = usize::from(header.tp_mac);
        let len = (header.tp_snaplen as usize).min(self.entry_bytes.saturating_sub(start));
        // SAFETY: the range lies within the entry. The kernel does not write it until it is returned, which
        // needs a mutable borrow of `self`.
        unsafe { std::slice::from_raw_parts(self.at(index).add(start), len) }
    }

    #[inline]
    fn release(&mut self) {
        while self.released != self.taken {
            let index = self.released & (self.entries - 1);
            self.status(index).store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.released = self.released.wrapping_add(1);
        }
    }

    #[inline]
    fn at(&self, index: u32) -> *mut u8 {
        self.memory.at(index as usize * self.entry_bytes, self.entry_bytes)
    }

    #[inline]
    fn status(&self, index: u32) -> &AtomicU32 {
        // SAFETY: an entry begins with its status, is aligned to 16 bytes and lives as long as the mapping.
        unsafe { AtomicU32::from_ptr(self.at(index).cast()) }
    }

    /// Copies the header, because the kernel may write to an entry that it owns.
    #[inline]
    fn header(&self, index: u32) -> libc::tpacket2_hdr {
        // SAFETY: an entry begins with its header, all integers, and is aligned to 16 bytes.
        unsafe { ptr::read_volatile(self.at(index).cast()) }
    }
}

/// Space before a frame in its ring entry: header, address and alignment.
const HEADROOM_BYTES: u32 = 128;

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// Returns whether the device ring, its queue or the socket memory is full.
fn is_no_room(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM))
}

fn set<T>(fd: &OwnedFd, name: c_int, value: &T) -> io::Result<()> {
    sockopt::set(fd, libc::SOL_PACKET, name, value)
}
