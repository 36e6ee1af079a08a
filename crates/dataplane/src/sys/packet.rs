//! Packet sockets: each frame that arrives is seen at once in a ring of memory shared with the kernel (`TPACKET_V2`), and frames
//! leave in batches, past the queueing discipline.

use std::io::{self, IoSlice};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, socklen_t};

use super::mapping::Mapping;
use super::option::{self, checked, owned};

/// A packet socket on one interface, with a ring for what arrives.
pub struct PacketSocket {
    fd: OwnedFd,
    ring: Ring,
}

/// What a socket sees of the frames that arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tap {
    /// All of them.
    All,
    /// Those of one `EtherType` that have no VLAN tag.
    Only(u16),
    /// None: what is left of others is seen nevertheless.
    Nothing,
}

/// A frame in the ring.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its place in the ring.
    pub place: u32,
    /// The tag that the interface has taken out of it: to be put back behind the addresses.
    pub tag: Option<[u8; 4]>,
    /// Whether it was longer than a place in the ring.
    pub cut: bool,
}

/// Drops that the kernel has counted, since they were last asked for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct KernelCounts {
    /// Frames that were seen.
    pub seen: u64,
    /// Frames for which the ring had no place.
    pub dropped: u64,
}

/// The pieces of one frame, one behind the other.
pub type Pieces<'a> = [IoSlice<'a>; PIECES];

/// A frame is sent in at most so many pieces.
pub const PIECES: usize = 3;
/// As many frames are sent by one call.
pub const SEND_MAX: usize = 16;

impl PacketSocket {
    /// Opens a socket on the interface with this index, with a ring of at least `places` frames of up to `frame_bytes`. It sees
    /// nothing before [`PacketSocket::bind`].
    pub fn open(index: u32, places: u32, frame_bytes: u32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers.
        let fd = owned(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        set(&fd, libc::PACKET_IGNORE_OUTGOING, &1i32)?;
        set(&fd, libc::PACKET_QDISC_BYPASS, &1i32)?;
        set(&fd, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as c_int))?;
        let ring = Ring::new(&fd, places, frame_bytes)?;
        // SAFETY: all fields are integers.
        let mut membership: libc::packet_mreq = unsafe { zeroed() };
        membership.mr_ifindex = index as c_int;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        set(&fd, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        Ok(Self { fd, ring })
    }

    /// From here on frames that arrive on the interface are seen.
    pub fn bind(&self, index: u32) -> io::Result<()> {
        // SAFETY: all fields are integers.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as c_int;
        // SAFETY: the address lives through the call and has the length that is given.
        let done = unsafe {
            let address = ptr::from_ref(&address).cast();
            libc::bind(self.fd.as_raw_fd(), address, size_of::<libc::sockaddr_ll>() as socklen_t)
        };
        checked(done).map(drop)
    }

    /// What is seen from here on.
    pub fn tap(&self, tap: Tap) -> io::Result<()> {
        const WHOLE: u32 = 0x4_0000;
        const TAG_PRESENT: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TAG_PRESENT) as u32;
        let load_tag = instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, TAG_PRESENT);
        let untagged = instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 3, 0);
        let load = instruction(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, 0, 0, 12);
        let accept = instruction(libc::BPF_RET | libc::BPF_K, 0, 0, WHOLE);
        let refuse = instruction(libc::BPF_RET | libc::BPF_K, 0, 0, 0);
        match tap {
            Tap::All => self.filter(&[accept]),
            Tap::Nothing => self.filter(&[refuse]),
            Tap::Only(ethertype) => {
                let compare =
                    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, u32::from(ethertype));
                self.filter(&[load_tag, untagged, load, compare, accept, refuse])
            }
        }
    }

    /// The next frame that has arrived. Its bytes stay until [`PacketSocket::release`].
    #[inline]
    pub fn take(&mut self) -> Option<Arrival> {
        self.ring.take()
    }

    /// The bytes of a frame that was taken.
    #[inline]
    pub fn bytes(&self, arrival: &Arrival) -> &[u8] {
        self.ring.bytes(arrival.place)
    }

    /// Gives the places of all frames that were taken back to the kernel.
    #[inline]
    pub fn release(&mut self) {
        self.ring.release();
    }

    /// Sends frames, each made of pieces, and says how many the kernel took. None: the interface has no room now.
    pub fn send(&self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        let count = frames.len().min(SEND_MAX);
        // SAFETY: a message header of zeros is valid: it points to nothing.
        let mut messages: [libc::mmsghdr; SEND_MAX] = unsafe { zeroed() };
        for (message, pieces) in messages.iter_mut().zip(&frames[..count]) {
            // An `IoSlice` has the layout of an `iovec`. The kernel reads the pieces and does not write to them.
            message.msg_hdr.msg_iov = pieces.as_ptr().cast_mut().cast();
            message.msg_hdr.msg_iovlen = PIECES as _;
        }
        // SAFETY: the first `count` headers point to pieces that live through the call.
        let sent = unsafe {
            libc::sendmmsg(self.fd.as_raw_fd(), messages.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT)
        };
        match checked(sent) {
            Ok(sent) => Ok(sent as usize),
            Err(error) if is_full(&error) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// What the kernel has counted since the last time.
    pub fn kernel_counts(&self) -> io::Result<KernelCounts> {
        let stats: libc::tpacket_stats = option::get(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
        Ok(KernelCounts { seen: u64::from(stats.tp_packets), dropped: u64::from(stats.tp_drops) })
    }

    /// Takes an error from the socket, so that it is not reported again: the interface went down.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        let value: c_int = option::get(&self.fd, libc::SOL_SOCKET, libc::SO_ERROR)?;
        Ok((value != 0).then(|| io::Error::from_raw_os_error(value)))
    }

    fn filter(&self, program: &[libc::sock_filter]) -> io::Result<()> {
        let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
        option::set(&self.fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The ring of what arrives. The kernel fills the places in turn and marks each; a place that was not given back stops it.
struct Ring {
    memory: Mapping,
    place_bytes: usize,
    /// A power of two.
    places: u32,
    /// Counts of frames: taken, and given back.
    taken: u32,
    released: u32,
}

impl Ring {
    fn new(fd: &OwnedFd, places: u32, frame_bytes: u32) -> io::Result<Self> {
        const BLOCK_BYTES: u32 = 1 << 16;
        let place_bytes = (frame_bytes + ROOM_BYTES).next_power_of_two();
        let places = places.next_power_of_two().max(BLOCK_BYTES / place_bytes.min(BLOCK_BYTES));
        let block_bytes = BLOCK_BYTES.max(place_bytes);
        let request = libc::tpacket_req {
            tp_block_size: block_bytes,
            tp_block_nr: (u64::from(places) * u64::from(place_bytes) / u64::from(block_bytes)) as u32,
            tp_frame_size: place_bytes,
            tp_frame_nr: places,
        };
        set(fd, libc::PACKET_RX_RING, &request)?;
        Ok(Self {
            memory: Mapping::shared(fd.as_fd(), places as usize * place_bytes as usize, 0)?,
            place_bytes: place_bytes as usize,
            places,
            taken: 0,
            released: 0,
        })
    }

    #[inline]
    fn take(&mut self) -> Option<Arrival> {
        if self.taken.wrapping_sub(self.released) == self.places {
            return None;
        }
        let place = self.taken & (self.places - 1);
        if self.status(place).load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        self.taken = self.taken.wrapping_add(1);
        let header = self.header(place);
        let has_tag = header.tp_status & libc::TP_STATUS_VLAN_VALID != 0;
        let tag = has_tag.then(|| {
            let named = header.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            let protocol = if named { header.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
            let ([a, b], [c, d]) = (protocol.to_be_bytes(), header.tp_vlan_tci.to_be_bytes());
            [a, b, c, d]
        });
        Some(Arrival { place, tag, cut: header.tp_len > header.tp_snaplen })
    }

    #[inline]
    fn bytes(&self, place: u32) -> &[u8] {
        let age = self.taken.wrapping_sub(1).wrapping_sub(place) & (self.places - 1);
        assert!(age < self.taken.wrapping_sub(self.released), "a frame is read before it is given back");
        let header = self.header(place);
        let start = usize::from(header.tp_mac);
        let len = (header.tp_snaplen as usize).min(self.place_bytes.saturating_sub(start));
        // SAFETY: the range lies within the place, which the kernel leaves alone until it is given back, for which `self` must be
        // borrowed mutably.
        unsafe { std::slice::from_raw_parts(self.at(place).add(start), len) }
    }

    #[inline]
    fn release(&mut self) {
        while self.released != self.taken {
            let place = self.released & (self.places - 1);
            self.status(place).store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.released = self.released.wrapping_add(1);
        }
    }

    #[inline]
    fn at(&self, place: u32) -> *mut u8 {
        self.memory.at(place as usize * self.place_bytes, self.place_bytes)
    }

    #[inline]
    fn status(&self, place: u32) -> &AtomicU32 {
        // SAFETY: a place begins with its status, is aligned to 16 bytes and lives as long as the mapping.
        unsafe { AtomicU32::from_ptr(self.at(place).cast()) }
    }

    /// A copy: the kernel may write to a place that it owns.
    #[inline]
    fn header(&self, place: u32) -> libc::tpacket2_hdr {
        // SAFETY: a place begins with its header, all integers, and is aligned to 16 bytes.
        unsafe { ptr::read_volatile(self.at(place).cast()) }
    }
}

/// What stands before a frame in its place of the ring: the header of the place, an address, and room to align.
const ROOM_BYTES: u32 = 128;

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// No room now: in the interface's ring, in its queue, or in the socket's share of memory.
fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM))
}

fn set<T>(fd: &OwnedFd, name: c_int, value: &T) -> io::Result<()> {
    option::set(fd, libc::SOL_PACKET, name, value)
}
