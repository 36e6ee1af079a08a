//! Packet sockets with a receive ring shared with the kernel (`TPACKET_V2`). Sending bypasses the qdisc.

use std::cell::Cell;
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
    /// Sends. The receiving socket would have to put a `virtio_net_hdr` before each frame.
    sender: OwnedFd,
    ring: Ring,
    /// Taken frames that are longer than an entry of the ring.
    long: Vec<Vec<u8>>,
    selection: Cell<Selection>,
}

/// Frames to take and then to skip at a hand-over, without counting link frames, which are all taken.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Selection {
    /// `EtherType` of link frames.
    pub ethertype: u16,
    /// Number of frames to take.
    pub keep: usize,
    /// Number of frames to skip after those.
    pub skip: usize,
}

/// Numbers of frames that wait in the ring.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct PendingFrames {
    /// Untagged frames with the link's `EtherType`.
    pub link: usize,
    /// All others.
    pub other: usize,
}

/// What a sender has left to its device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unfinished {
    /// First covered byte of a checksum to fill in, and the place of its field from there.
    pub checksum: Option<(u16, u16)>,
    /// Set if the frame stands for several.
    pub segmentation: Option<Segmentation>,
}

/// How to cut a frame into several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segmentation {
    /// Payload of each frame but the last.
    pub bytes: u16,
    /// UDP, else TCP.
    pub is_udp: bool,
}

/// The received frames that a socket captures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaptureFilter {
    /// All frames.
    All,
    /// Untagged frames of one `EtherType`.
    Only(u16),
    /// As `Only`, and hellos of the link header with any other `EtherType`, which show that the ends differ.
    LinkFrames(u16),
    /// UDP datagrams to this port, over IPv4 or IPv6 without extension headers. Tags that the interface leaves in
    /// the frame hide them.
    UdpPort(u16),
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
    /// Work that the sender has left to its device.
    pub unfinished: Option<Unfinished>,
    /// Place among the long frames that were taken.
    long: Option<u8>,
}

impl RxFrame {
    /// A complete frame.
    pub fn new(index: u32, tag: Option<[u8; 4]>, truncated: bool) -> Self {
        Self { index, tag, truncated, unfinished: None, long: None }
    }
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
        set(&fd, libc::PACKET_VNET_HDR, &1i32)?;
        // Frames that stand for several are longer than an entry and come through the queue of the socket.
        set(&fd, libc::PACKET_COPY_THRESH, &1i32)?;
        let _ = sockopt::set(&fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &LONG_BYTES_MAX);
        set(&fd, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as c_int))?;
        let ring = Ring::new(&fd, frames, frame_bytes)?;
        // SAFETY: all fields are integers.
        let mut membership: libc::packet_mreq = unsafe { zeroed() };
        membership.mr_ifindex = interface as c_int;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        set(&fd, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        // SAFETY: no pointers.
        let sender = owned(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        set(&sender, libc::PACKET_QDISC_BYPASS, &1i32)?;
        Ok(Self { fd, sender, ring, long: Vec::new(), selection: Cell::default() })
    }

    /// Starts receiving from the interface.
    pub fn bind(&self, index: u32) -> io::Result<()> {
        // Without a protocol a socket receives nothing.
        bind(&self.sender, index, 0)?;
        bind(&self.fd, index, libc::ETH_P_ALL as u16)
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
            CaptureFilter::LinkFrames(ethertype) => {
                let untagged = instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 5, 0);
                let compare =
                    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 2, 0, u32::from(ethertype));
                let load_magic =
                    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, HELLO_MAGIC_AT);
                let magic = u32::from_be_bytes(HELLO_MAGIC);
                let compare_magic = instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, magic);
                self.filter(&[load_tag, untagged, load, compare, load_magic, compare_magic, accept, refuse])
            }
            CaptureFilter::UdpPort(port) => self.filter(&udp_port_filter(port)),
            CaptureFilter::Only(ethertype) => {
                let compare =
                    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, u32::from(ethertype));
                self.filter(&[load_tag, untagged, load, compare, accept, refuse])
            }
        }
    }

    /// Size of the receive ring.
    pub fn ring_bytes(&self) -> usize {
        self.ring.memory.len()
    }

    /// Takes the next received frame. Its bytes stay valid until [`PacketSocket::release`].
    #[inline]
    pub fn take(&mut self) -> Option<RxFrame> {
        loop {
            let mut rx_frame = self.ring.take()?;
            if self.ring.is_copied(rx_frame.index) {
                self.take_long(&mut rx_frame);
            }
            if self.selection.get() == Selection::default() || self.is_selected(&rx_frame) {
                return Some(rx_frame);
            }
        }
    }

    /// Selects among the frames in the ring.
    pub fn select(&self, selection: Selection) {
        let selects = selection.keep + selection.skip > 0;
        self.selection.set(if selects { selection } else { Selection::default() });
    }

    /// Counts the frames in the ring that were not taken.
    pub fn pending(&self, ethertype: u16) -> PendingFrames {
        self.ring.pending(ethertype)
    }

    #[cold]
    fn is_selected(&self, rx_frame: &RxFrame) -> bool {
        let mut selection = self.selection.get();
        if is_link_frame(self.bytes(rx_frame), rx_frame.tag.is_some(), selection.ethertype) {
            return true;
        }
        let keeps = selection.keep > 0;
        if keeps {
            selection.keep -= 1;
        } else {
            selection.skip = selection.skip.saturating_sub(1);
        }
        let done = selection.keep == 0 && selection.skip == 0;
        self.selection.set(if done { Selection::default() } else { selection });
        keeps
    }

    /// Takes a frame that is longer than an entry of the ring from the queue of the socket.
    #[cold]
    fn take_long(&mut self, rx_frame: &mut RxFrame) {
        let mut frame = vec![0; VNET_HEADER_BYTES + LONG_FRAME_BYTES];
        // SAFETY: pointer and length are those of a mutable slice.
        let got = unsafe {
            libc::recv(self.fd.as_raw_fd(), frame.as_mut_ptr().cast(), frame.len(), libc::MSG_DONTWAIT)
        };
        if let Ok(got) = usize::try_from(got)
            && got > VNET_HEADER_BYTES
        {
            frame.truncate(got);
            frame.drain(..VNET_HEADER_BYTES);
            (rx_frame.truncated, rx_frame.long) = (false, u8::try_from(self.long.len()).ok());
            self.long.push(frame);
        }
    }

    /// The bytes of a frame.
    #[inline]
    pub fn bytes(&self, rx_frame: &RxFrame) -> &[u8] {
        match rx_frame.long {
            None => self.ring.bytes(rx_frame.index),
            Some(long) => &self.long[usize::from(long)],
        }
    }

    /// Returns the ring entries of all taken frames to the kernel.
    #[inline]
    pub fn release(&mut self) {
        self.ring.release();
        self.long.clear();
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
            libc::sendmmsg(self.sender.as_raw_fd(), messages.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT)
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
        let _: c_int = sockopt::get(&self.sender, libc::SOL_SOCKET, libc::SO_ERROR)?;
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
        let truncated = header.tp_len > header.tp_snaplen;
        Some(RxFrame { unfinished: self.unfinished(index, &header), ..RxFrame::new(index, tag, truncated) })
    }

    /// Reads the `virtio_net_hdr` before a frame.
    #[inline]
    fn unfinished(&self, index: u32, header: &libc::tpacket2_hdr) -> Option<Unfinished> {
        let start = usize::from(header.tp_mac).checked_sub(VNET_HEADER_BYTES)?;
        // SAFETY: the header lies within the entry, which belongs to this process until it is released.
        let bytes: [u8; VNET_HEADER_BYTES] = unsafe { ptr::read_volatile(self.at(index).add(start).cast()) };
        let [flags, kind, _, _, size @ .., start0, start1, offset0, offset1] = bytes;
        if flags & VNET_NEEDS_CHECKSUM == 0 && kind == 0 {
            return None;
        }
        let checksum = (flags & VNET_NEEDS_CHECKSUM != 0)
            .then_some((u16::from_ne_bytes([start0, start1]), u16::from_ne_bytes([offset0, offset1])));
        let bytes = u16::from_ne_bytes(size);
        let segmentation = (kind != 0).then_some(match kind & !VNET_ECN {
            VNET_TCP4 | VNET_TCP6 => Segmentation { bytes, is_udp: false },
            VNET_UDP => Segmentation { bytes, is_udp: true },
            // IP fragments of UDP: the kernel no longer makes these. Zero bytes cannot be cut.
            _ => Segmentation { bytes: 0, is_udp: true },
        });
        Some(Unfinished { checksum, segmentation })
    }

    /// Whether the whole frame is in the queue of the socket.
    #[inline]
    fn is_copied(&self, index: u32) -> bool {
        self.status(index).load(Ordering::Relaxed) & libc::TP_STATUS_COPY != 0
    }

    fn pending(&self, ethertype: u16) -> PendingFrames {
        let mut pending = PendingFrames::default();
        let mut at = self.taken;
        while at.wrapping_sub(self.released) < self.entries {
            let index = at & (self.entries - 1);
            if self.status(index).load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                break;
            }
            let header = self.header(index);
            let is_tagged = header.tp_status & libc::TP_STATUS_VLAN_VALID != 0;
            if is_link_frame(self.content(index), is_tagged, ethertype) {
                pending.link += 1;
            } else {
                pending.other += 1;
            }
            at = at.wrapping_add(1);
        }
        pending
    }

    #[inline]
    fn bytes(&self, index: u32) -> &[u8] {
        let age = self.taken.wrapping_sub(1).wrapping_sub(index) & (self.entries - 1);
        assert!(age < self.taken.wrapping_sub(self.released), "frame read after its release");
        self.content(index)
    }

    /// The bytes of an entry that the kernel has filled.
    #[inline]
    fn content(&self, index: u32) -> &[u8] {
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

/// Place and value of the magic number of a hello.
const HELLO_MAGIC_AT: u32 = 18;
const HELLO_MAGIC: [u8; 4] = *b"wmnd";
/// Memory for frames that are longer than an entry of the ring.
const LONG_BYTES_MAX: c_int = 8 << 20;
/// Longest frame that stands for several: IP's limit with headers.
const LONG_FRAME_BYTES: usize = (1 << 16) + 64;
// `linux/virtio_net.h`.
const VNET_HEADER_BYTES: usize = 10;
const VNET_NEEDS_CHECKSUM: u8 = 1;
const VNET_TCP4: u8 = 1;
const VNET_TCP6: u8 = 4;
const VNET_UDP: u8 = 5;
const VNET_ECN: u8 = 0x80;

fn is_link_frame(frame: &[u8], is_tagged: bool, ethertype: u16) -> bool {
    !is_tagged && frame.get(12..14) == Some(&ethertype.to_be_bytes())
}

fn bind(fd: &OwnedFd, index: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: all fields are integers.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index as c_int;
    // SAFETY: the address outlives the call and has the given length.
    let done = unsafe {
        let address = ptr::from_ref(&address).cast();
        libc::bind(fd.as_raw_fd(), address, size_of::<libc::sockaddr_ll>() as socklen_t)
    };
    checked(done).map(drop)
}

/// Accepts UDP datagrams to a port.
fn udp_port_filter(port: u16) -> [libc::sock_filter; 14] {
    const ETHERTYPE_AT: u32 = 12;
    const IPV4_AT: u32 = 14;
    const PROTOCOL4_AT: u32 = IPV4_AT + 9;
    const PROTOCOL6_AT: u32 = IPV4_AT + 6;
    const UDP6_AT: u32 = IPV4_AT + 40;
    const UDP: u32 = libc::IPPROTO_UDP as u32;
    let half = |at| instruction(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, 0, 0, at);
    let byte = |at| instruction(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, 0, 0, at);
    let equal = |value, jt, jf| instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, jt, jf, value);
    let port = u32::from(port);
    [
        half(ETHERTYPE_AT),
        equal(libc::ETH_P_IP as u32, 0, 5),
        byte(PROTOCOL4_AT),
        equal(UDP, 0, 9),
        // The length of the IPv4 header.
        instruction(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0, 0, IPV4_AT),
        instruction(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, 0, 0, IPV4_AT + 2),
        equal(port, 5, 6),
        equal(libc::ETH_P_IPV6 as u32, 0, 5),
        byte(PROTOCOL6_AT),
        equal(UDP, 0, 3),
        half(UDP6_AT + 2),
        equal(port, 0, 1),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, 0x4_0000),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ]
}

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
