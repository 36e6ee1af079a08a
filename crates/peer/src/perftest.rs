//! The messages with which perftest and `ibv_rc_pingpong` set up connections, over TCP.
//!
//! perftest's client writes a message, its server reads it and writes its own of the same length. Each end takes a
//! message with one `read`, so each is written at once.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use wiremend_units::{Psn, QpNum};
use wiremend_wire::{gid_of, ip_of};

/// TCP port of both.
pub const PORT: u16 = 18_515;
/// The version that it claims: later ones negotiate more.
pub const VERSION: [u8; 16] = *b"6.06\0\0\0\0\0\0\0\0\0\0\0\0";
/// The last message.
pub const DONE: [u8; 5] = *b"done\0";
/// Number of result messages after a bandwidth test, eight bytes each.
pub const REPORTS: usize = 5;
/// Bytes of the buffer that a bandwidth test walks through at least.
pub const CYCLE_BUFFER: u32 = 4096;
/// Bytes of a cache line.
pub const CACHE_LINE: u32 = 64;

/// What one end must know about the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keys {
    /// READs and atomic operations that the peer may have in flight.
    pub out_reads: u16,
    /// Queue pair.
    pub pair: QpNum,
    /// First PSN.
    pub psn: Psn,
    /// Key of the memory.
    pub rkey: u32,
    /// Address of the memory.
    pub address: u64,
    /// IP address.
    pub ip: IpAddr,
}

/// Length of [`Keys`].
pub const KEYS_BYTES: usize = 108;
/// Length of [`Keys`] with `-R`.
pub const MANAGED_KEYS_BYTES: usize = 56;
/// Length of the message of `ibv_rc_pingpong`.
pub const PINGPONG_BYTES: usize = 52;

impl Keys {
    /// Formats the message of perftest.
    pub fn to_bytes(&self) -> [u8; KEYS_BYTES] {
        let Self { out_reads, pair, psn, rkey, address, ip } = *self;
        let (lid, shared_queue) = (0, 0);
        let gid = gid_of(ip).map(|byte| format!("{byte:02x}:")).concat();
        let text = format!(
            "{lid:04x}:{out_reads:04x}:{:06x}:{:06x}:{rkey:08x}:{address:016x}:{gid}{shared_queue:08x}:\0",
            pair.get(),
            psn.get(),
        );
        text.into_bytes().try_into().expect("all fields have their width")
    }

    /// Parses the message of perftest.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes.strip_suffix(b"\0")?).ok()?;
        let fields: Vec<&str> = text.strip_suffix(':')?.split(':').collect();
        if bytes.len() != KEYS_BYTES || fields.len() != 6 + 16 + 1 {
            return None;
        }
        let number = |at: usize| u64::from_str_radix(fields[at], 16).ok();
        let mut gid = [0; 16];
        for (at, byte) in (6..).zip(&mut gid) {
            *byte = u8::try_from(number(at)?).ok()?;
        }
        Some(Self {
            out_reads: u16::try_from(number(1)?).ok()?,
            pair: QpNum::new(u32::try_from(number(2)?).ok()?),
            psn: Psn::new(u32::try_from(number(3)?).ok()?),
            rkey: u32::try_from(number(4)?).ok()?,
            address: number(5)?,
            ip: ip_of(gid),
        })
    }

    /// The message of perftest with `-R`: `struct pingpong_dest`, most fields big-endian.
    pub fn to_managed(&self) -> [u8; MANAGED_KEYS_BYTES] {
        let Self { out_reads, pair, psn, rkey, address, ip } = *self;
        let mut bytes = [0; MANAGED_KEYS_BYTES];
        for (at, word) in [(4, u32::from(out_reads)), (8, pair.get()), (12, psn.get()), (16, rkey)] {
            bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        bytes[24..32].copy_from_slice(&address.to_be_bytes());
        bytes[32..48].copy_from_slice(&gid_of(ip));
        bytes
    }

    /// Parses the message of perftest with `-R`.
    pub fn parse_managed(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; MANAGED_KEYS_BYTES] = bytes.try_into().ok()?;
        let word = |at: usize| Some(u32::from_be_bytes(*bytes[at..].first_chunk()?));
        Some(Self {
            out_reads: word(4)?.min(u32::from(u16::MAX)) as u16,
            pair: QpNum::new(word(8)?),
            psn: Psn::new(word(12)?),
            rkey: word(16)?,
            address: u64::from_be_bytes(*bytes[24..].first_chunk()?),
            ip: ip_of(*bytes[32..].first_chunk()?),
        })
    }

    /// Formats the message of `ibv_rc_pingpong`.
    pub fn to_pingpong(&self) -> [u8; PINGPONG_BYTES] {
        let gid = gid_of(self.ip).map(|byte| format!("{byte:02x}")).concat();
        let lid = 0;
        let text = format!("{lid:04x}:{:06x}:{:06x}:{gid}\0", self.pair.get(), self.psn.get());
        text.into_bytes().try_into().expect("all fields have their width")
    }

    /// Parses the message of `ibv_rc_pingpong`, which names no memory.
    pub fn parse_pingpong(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes.strip_suffix(b"\0")?).ok()?;
        let fields: Vec<&str> = text.split(':').collect();
        let [_, pair, psn, gid] = fields[..] else { return None };
        if bytes.len() != PINGPONG_BYTES || gid.len() != 32 {
            return None;
        }
        let number = |text: &str| u32::from_str_radix(text, 16).ok();
        // A GID is written as four words.
        let ip = ip_of(u128::from_str_radix(gid, 16).ok()?.to_be_bytes());
        let (pair, psn) = (QpNum::new(number(pair)?), Psn::new(number(psn)?));
        Some(Self { out_reads: 1, pair, psn, rkey: 0, address: 0, ip })
    }
}

/// Parameters of a connection as a line of text, for set-up by hand:
/// `qpn=0x11 psn=0xabcdef key=0x204 address=0x7f0012345000 ip=198.18.0.1`.
impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pair, psn, rkey, address, ip, .. } = self;
        write!(f, "qpn={:#x} psn={:#x} key={rkey:#x} address={address:#x} ip={ip}", pair.get(), psn.get())
    }
}

impl FromStr for Keys {
    type Err = String;

    /// Reads such a line. Key and address may be missing.
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |field: &str| {
            format!(
                "`{field}` is not a parameter; write qpn=0x11 psn=0x5 key=0x204 address=0x7f00 ip=198.18.0.1"
            )
        };
        let (mut pair, mut psn, mut ip, mut rkey, mut address) = (None, None, None, 0, 0);
        for field in text.split_whitespace() {
            let (name, value) = field.split_once('=').ok_or_else(|| bad(field))?;
            let number = |bits: u32| {
                let digits = value.strip_prefix("0x");
                let number =
                    digits.map_or_else(|| value.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok());
                number.filter(|number| bits == 64 || *number < 1 << bits).ok_or_else(|| bad(field))
            };
            match name {
                "qpn" => pair = Some(QpNum::new(number(24)? as u32)),
                "psn" => psn = Some(Psn::new(number(24)? as u32)),
                "key" => rkey = number(32)? as u32,
                "address" => address = number(64)?,
                "ip" => ip = Some(value.parse().map_err(|_| bad(field))?),
                _ => return Err(bad(field)),
            }
        }
        match (pair, psn, ip) {
            (Some(pair), Some(psn), Some(ip)) => Ok(Self { out_reads: 1, pair, psn, rkey, address, ip }),
            _ => Err("the parameters lack qpn, psn or ip".to_owned()),
        }
    }
}

/// Code of an MTU: a digit and NUL.
pub fn mtu_message(mtu: u16) -> [u8; 2] {
    [b'1' + (mtu.ilog2() - 8) as u8, 0]
}

/// MTU of a code.
pub fn parse_mtu(bytes: &[u8]) -> Option<u16> {
    match bytes {
        [digit @ b'1'..=b'5', 0] => Some(256 << (digit - b'1')),
        _ => None,
    }
}

/// A program of perftest, `ibv_rc_pingpong`, or a program of librdmacm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are those of the programs")]
pub enum Tool {
    WriteBw,
    WriteLat,
    SendBw,
    SendLat,
    ReadBw,
    ReadLat,
    AtomicBw,
    Pingpong,
    Rping,
    Ucmatose,
}

impl Tool {
    /// All programs.
    pub const ALL: [Self; 10] = [
        Self::WriteBw,
        Self::WriteLat,
        Self::SendBw,
        Self::SendLat,
        Self::ReadBw,
        Self::ReadLat,
        Self::AtomicBw,
        Self::Pingpong,
        Self::Rping,
        Self::Ucmatose,
    ];

    /// Name of the program.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WriteBw => "ib_write_bw",
            Self::WriteLat => "ib_write_lat",
            Self::SendBw => "ib_send_bw",
            Self::SendLat => "ib_send_lat",
            Self::ReadBw => "ib_read_bw",
            Self::ReadLat => "ib_read_lat",
            Self::AtomicBw => "ib_atomic_bw",
            Self::Pingpong => "ibv_rc_pingpong",
            Self::Rping => "rping",
            Self::Ucmatose => "ucmatose",
        }
    }

    /// Port of its server: of TCP, and of the connection manager.
    pub const fn port(self) -> u16 {
        match self {
            Self::Rping => 7174,
            Self::Ucmatose => 7471,
            _ => PORT,
        }
    }

    /// Whether only the connection manager sets it up.
    pub const fn needs_manager(self) -> bool {
        matches!(self, Self::Rping | Self::Ucmatose)
    }

    /// Number of times that keys are exchanged before data.
    pub const fn key_rounds(self) -> usize {
        match self {
            Self::WriteBw | Self::ReadBw | Self::AtomicBw => 3,
            Self::WriteLat | Self::SendBw | Self::SendLat | Self::ReadLat => 4,
            Self::Pingpong => 1,
            Self::Rping | Self::Ucmatose => 0,
        }
    }

    /// Whether results are exchanged after data.
    pub const fn has_reports(self) -> bool {
        matches!(self, Self::WriteBw | Self::ReadBw | Self::AtomicBw)
    }

    /// Whether both ends say that they are done.
    pub const fn says_done(self) -> bool {
        !matches!(self, Self::WriteLat | Self::Pingpong | Self::Rping | Self::Ucmatose)
    }

    /// Message length by default.
    pub const fn default_size(self) -> u32 {
        match self {
            Self::WriteBw | Self::SendBw | Self::ReadBw => 65_536,
            Self::WriteLat | Self::SendLat | Self::ReadLat => 2,
            Self::AtomicBw => 8,
            Self::Pingpong => 4096,
            Self::Rping => 64,
            Self::Ucmatose => 100,
        }
    }

    /// Number of messages by default.
    pub const fn default_iterations(self) -> u64 {
        match self {
            Self::WriteBw => 5000,
            Self::Ucmatose => 10,
            _ => 1000,
        }
    }

    /// Whether the peer's queue pair denies WRITEs.
    pub const fn denies_writes(self) -> bool {
        matches!(self, Self::ReadBw | Self::ReadLat | Self::AtomicBw | Self::Pingpong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Keys {
        Keys {
            out_reads: 16,
            pair: QpNum::new(0x11),
            psn: Psn::new(0xAB_CDEF),
            rkey: 0x204,
            address: 0x7F00_1234_5000,
            ip: IpAddr::from([198, 18, 0, 1]),
        }
    }

    #[test]
    fn keys_have_the_bytes_of_perftest() {
        let text = "0000:0010:000011:abcdef:00000204:00007f0012345000:\
                    00:00:00:00:00:00:00:00:00:00:ff:ff:c6:12:00:01:00000000:\0";
        assert_eq!(keys().to_bytes(), *text.as_bytes());
        assert_eq!(Keys::parse(text.as_bytes()), Some(keys()));
        let v6 = Keys { ip: "fd00::1".parse().unwrap(), ..keys() };
        assert_eq!(Keys::parse(&v6.to_bytes()), Some(v6));
    }

    #[test]
    fn keys_over_a_queue_pair_are_words() {
        let bytes = keys().to_managed();
        assert_eq!(bytes[8..20], [0, 0, 0, 0x11, 0, 0xAB, 0xCD, 0xEF, 0, 0, 2, 4]);
        assert_eq!(bytes[24..32], 0x7F00_1234_5000_u64.to_be_bytes());
        assert_eq!(Keys::parse_managed(&bytes), Some(keys()));
        assert_eq!(Keys::parse_managed(&bytes[..55]), None);
    }

    #[test]
    fn pingpong_has_four_fields() {
        let text = "0000:000011:abcdef:00000000000000000000ffffc6120001\0";
        assert_eq!(keys().to_pingpong(), *text.as_bytes());
        let bare = Keys { out_reads: 1, rkey: 0, address: 0, ..keys() };
        assert_eq!(Keys::parse_pingpong(text.as_bytes()), Some(bare));
    }

    #[test]
    fn parameters_by_hand_are_read_as_they_are_printed() {
        let line = "qpn=0x11 psn=0xabcdef key=0x204 address=0x7f0012345000 ip=198.18.0.1";
        assert_eq!(keys().to_string(), line);
        assert_eq!(line.parse(), Ok(Keys { out_reads: 1, ..keys() }));
        assert_eq!("ip=fd00::1 psn=5 qpn=17".parse::<Keys>().unwrap().rkey, 0);
        for wrong in [
            "qpn=0x1000000 psn=5 ip=1.2.3.4",
            "qpn=1 psn=x ip=1.2.3.4",
            "qpn=1 psn=5 ip=here",
            "qpn 1",
            "lid=1",
        ] {
            assert!(wrong.parse::<Keys>().unwrap_err().contains("is not a parameter"), "{wrong}");
        }
        assert!("qpn=1 psn=5".parse::<Keys>().unwrap_err().contains("lack"));
    }

    #[test]
    fn other_bytes_are_refused() {
        let whole = keys().to_bytes();
        for end in 0..whole.len() {
            assert_eq!(Keys::parse(&whole[..end]), None);
        }
        for at in 0..whole.len() {
            let mut wrong = whole;
            wrong[at] = b'x';
            assert!(Keys::parse(&wrong).is_none_or(|parsed| parsed != keys()) || !(4..98).contains(&at));
        }
        let whole = keys().to_pingpong();
        for end in 0..whole.len() {
            assert_eq!(Keys::parse_pingpong(&whole[..end]), None);
        }
        assert_eq!((parse_mtu(b"3\0"), parse_mtu(b"6\0"), parse_mtu(b"33")), (Some(1024), None, None));
        assert_eq!([256, 1024, 4096].map(mtu_message), [*b"1\0", *b"3\0", *b"5\0"]);
    }
}
