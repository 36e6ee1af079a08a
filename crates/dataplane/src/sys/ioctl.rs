//! `ioctl` requests: TAP devices and `ethtool`.

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Maximum length of an interface name, without the terminating NUL.
pub const NAME_MAX: usize = libc::IFNAMSIZ - 1;

/// Creates the TAP interface `name` or attaches to it. Each read or write is one frame, without a header.
///
/// A persistent interface stays when the file is closed. The file is non-blocking. Needs `CAP_NET_ADMIN`.
pub fn tap(name: &str, persistent: bool) -> io::Result<File> {
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as i16;
    // SAFETY: `TUNSETIFF` reads and writes one `ifreq`.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) })?;
    // SAFETY: `TUNSETPERSIST` takes its argument as a number.
    check(unsafe {
        libc::ioctl(file.as_raw_fd(), libc::TUNSETPERSIST as _, libc::c_ulong::from(persistent))
    })?;
    Ok(file)
}

/// Use of pause frames (IEEE 802.3 annex 31B) by a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Whether it is auto-negotiated.
    pub negotiated: bool,
    /// Whether received pause frames stop this port.
    pub receive: bool,
    /// Whether this port sends pause frames.
    pub send: bool,
}

/// An offload feature of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// The kernel's name, such as `rx-gro`.
    pub name: String,
    /// Whether it can be changed.
    pub changeable: bool,
    /// Whether it was requested.
    pub wanted: bool,
    /// Whether it is on.
    pub active: bool,
}

/// `ethtool` access to one interface, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
    name: String,
}

impl Ethtool {
    /// Opens a socket for `name`. The first request fails if the interface does not exist.
    pub fn open(name: &str) -> io::Result<Self> {
        // SAFETY: plain call without pointers.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        check(fd)?;
        // SAFETY: `fd` was just opened and is not shared.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { socket, name: name.to_owned() })
    }

    /// Speed in Mb/s, if the driver reports it.
    pub fn speed_mbps(&self) -> io::Result<Option<u32>> {
        // The first call returns the negated length of the masks in words; the second the settings.
        let mut words = vec![0_u32; SETTINGS_WORDS + 3 * MASK_WORDS_MAX];
        words[0] = ETHTOOL_GLINKSETTINGS;
        self.call(&mut words)?;
        let mask_words = (words[3].to_ne_bytes()[3] as i8).unsigned_abs();
        words.fill(0);
        words[0] = ETHTOOL_GLINKSETTINGS;
        words[3] = u32::from_ne_bytes([0, 0, 0, mask_words]);
        self.call(&mut words)?;
        Ok(Some(words[1]).filter(|speed| *speed != 0 && *speed != u32::MAX))
    }

    /// Number of receive queues.
    pub fn receive_queues(&self) -> io::Result<u32> {
        // Maximum and current number of channels: receive, transmit, other, combined.
        let mut words = vec![ETHTOOL_GCHANNELS, 0, 0, 0, 0, 0, 0, 0, 0];
        self.call(&mut words)?;
        Ok(words[5] + words[8])
    }

    /// Reads the use of pause frames.
    pub fn pause(&self) -> io::Result<Pause> {
        let mut words = vec![ETHTOOL_GPAUSEPARAM, 0, 0, 0];
        self.call(&mut words)?;
        Ok(Pause { negotiated: words[1] != 0, receive: words[2] != 0, send: words[3] != 0 })
    }

    /// Lists all features.
    pub fn features(&self) -> io::Result<Vec<Feature>> {
        let names = self.feature_names()?;
        let blocks = names.len().div_ceil(32);
        let mut words = vec![0; 2 + 4 * blocks];
        (words[0], words[1]) = (ETHTOOL_GFEATURES, blocks as u32);
        self.call(&mut words)?;
        let bit = |index: usize, field: usize| words[2 + index / 32 * 4 + field] >> (index % 32) & 1 == 1;
        let feature = |(index, name): (usize, String)| Feature {
            name,
            changeable: bit(index, 0) && !bit(index, 3),
            wanted: bit(index, 1),
            active: bit(index, 2),
        };
        Ok(names.into_iter().enumerate().map(feature).filter(|feature| !feature.name.is_empty()).collect())
    }

    /// Requests features to be on or off, in one step. Ignores unknown names.
    pub fn set_features(&self, wanted: &[(&str, bool)]) -> io::Result<()> {
        let names = self.feature_names()?;
        let blocks = names.len().div_ceil(32);
        let mut words = vec![0; 2 + 2 * blocks];
        (words[0], words[1]) = (ETHTOOL_SFEATURES, blocks as u32);
        for (index, name) in names.iter().enumerate() {
            if let Some((_, on)) = wanted.iter().find(|(wanted, _)| wanted == name) {
                words[2 + index / 32 * 2] |= 1 << (index % 32);
                words[2 + index / 32 * 2 + 1] |= u32::from(*on) << (index % 32);
            }
        }
        self.call(&mut words)
    }

    /// Reads the driver's counters by name.
    pub fn statistics(&self) -> io::Result<Vec<(String, u64)>> {
        let names = self.names(ETH_SS_STATS)?;
        // `struct ethtool_stats`: command, count, then 64 bits each. The count may have changed by now.
        let mut words = vec![0; 2 + 2 * (names.len() + SPARE_ENTRIES)];
        (words[0], words[1]) = (ETHTOOL_GSTATS, names.len() as u32);
        self.call(&mut words)?;
        let value = |pair: &[u32]| {
            let mut bytes = [0; 8];
            bytes[..4].copy_from_slice(&pair[0].to_ne_bytes());
            bytes[4..].copy_from_slice(&pair[1].to_ne_bytes());
            u64::from_ne_bytes(bytes)
        };
        if words[1] as usize != names.len() {
            return Err(io::Error::other("the driver changed its statistics while they were read"));
        }
        Ok(names.into_iter().zip(words[2..].chunks_exact(2).map(value)).collect())
    }

    fn feature_names(&self) -> io::Result<Vec<String>> {
        self.names(ETH_SS_FEATURES)
    }

    fn names(&self, set: u32) -> io::Result<Vec<String>> {
        // `struct ethtool_sset_info`: command, reserved, 64-bit mask of the sets, their lengths.
        let mut words = vec![ETHTOOL_GSSET_INFO, 0, 0, 0, 0];
        words[2..4].copy_from_slice(&halves(1 << set));
        self.call(&mut words)?;
        let known = words[2..4] != [0, 0];
        let count = if known { words[4] as usize } else { 0 };
        if count > NAMES_MAX {
            return Err(io::Error::other("the driver has more than 65536 statistics or features"));
        }
        // `struct ethtool_gstrings`: command, set, count, then names of 32 bytes each.
        let mut words = vec![0; 3 + (count + SPARE_ENTRIES) * NAME_WORDS];
        words[..3].copy_from_slice(&[ETHTOOL_GSTRINGS, set, count as u32]);
        self.call(&mut words)?;
        Ok(words[3..].chunks_exact(NAME_WORDS).take(count).map(text).collect())
    }
    /// Sends `words` to the kernel, which replies in place. Callers size `words` for the command.
    fn call(&self, words: &mut [u32]) -> io::Result<()> {
        let mut request = request(&self.name)?;
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        // SAFETY: `SIOCETHTOOL` reads one `ifreq` and, through its pointer, the structure of the command in
        // the first word. Each caller sizes the slice for that structure and the counts in it.
        check(unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) })
    }
}

/// Creates a request about `name`. Invalid names fail like absent interfaces.
fn request(name: &str) -> io::Result<libc::ifreq> {
    if name.is_empty() || name.len() > NAME_MAX || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    // SAFETY: a zeroed request is valid and has an empty name.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    Ok(request)
}

fn check(outcome: i32) -> io::Result<()> {
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn halves(mask: u64) -> [u32; 2] {
    let bytes = mask.to_ne_bytes();
    [0, 4].map(|at| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
}

fn text(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    CStr::from_bytes_until_nul(&bytes).unwrap_or_default().to_string_lossy().into_owned()
}

// `linux/ethtool.h`.
const ETHTOOL_GPAUSEPARAM: u32 = 0x12;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETHTOOL_GSTRINGS: u32 = 0x1B;
const ETHTOOL_GSTATS: u32 = 0x1D;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3A;
const ETHTOOL_SFEATURES: u32 = 0x3B;
const ETHTOOL_GLINKSETTINGS: u32 = 0x4C;
const ETH_SS_STATS: u32 = 1;
const ETH_SS_FEATURES: u32 = 4;
/// Words per name (`ETH_GSTRING_LEN`).
const NAME_WORDS: usize = 8;
/// Words of `struct ethtool_link_settings` before its three masks.
const SETTINGS_WORDS: usize = 12;
/// Maximum number of words per mask (`link_mode_masks_nwords` is a signed byte).
const MASK_WORDS_MAX: usize = 128;
/// Drivers with counters per queue have some thousands.
const NAMES_MAX: usize = 65_536;
/// Spare room in the buffer for statistics: a driver may add entries after they were counted.
const SPARE_ENTRIES: usize = 8_192;
