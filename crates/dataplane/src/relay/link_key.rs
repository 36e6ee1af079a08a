//! The key that both ends of a link share.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::hmac;
use wiremend_wire::link::{NUMBER_BITS, TAG_BYTES};

/// A key that both ends of a link share: it seals control frames, and hides where numbers start.
#[derive(Clone)]
pub struct LinkKey(Arc<Keys>);

struct Keys {
    seals: hmac::Key,
    numbers: hmac::Key,
}

/// The shortest secret: 256 random bits.
const SECRET_BYTES_MIN: usize = 32;
const SECRET_BYTES_MAX: u64 = 4096;
/// Readable by the group or by others.
const MODE_TOO_OPEN: u32 = 0o077;

impl LinkKey {
    /// Loads the secret from a file that only its owner may read. White space at its end does not count.
    pub fn load(path: &Path) -> Result<Self, KeyFileError> {
        let fail = |why| KeyFileError { path: path.into(), why };
        let file = File::open(path).map_err(|error| fail(Why::Io(error)))?;
        let about = file.metadata().map_err(|error| fail(Why::Io(error)))?;
        if !about.is_file() {
            return Err(fail(Why::NoFile));
        }
        if about.mode() & MODE_TOO_OPEN != 0 {
            return Err(fail(Why::TooOpen(about.mode() & 0o777)));
        }
        let mut secret = Vec::new();
        file.take(SECRET_BYTES_MAX + 1).read_to_end(&mut secret).map_err(|error| fail(Why::Io(error)))?;
        let secret = secret.trim_ascii_end();
        match secret.len() {
            len if len < SECRET_BYTES_MIN => Err(fail(Why::TooShort(len))),
            len if len as u64 > SECRET_BYTES_MAX => Err(fail(Why::TooLong)),
            _ => Ok(Self::new(secret)),
        }
    }

    /// The key of a secret.
    pub fn new(secret: &[u8]) -> Self {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let derived = |purpose: &str| {
            hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&secret, purpose.as_bytes()).as_ref())
        };
        Self(Arc::new(Keys {
            seals: derived("wiremend link 1: seals"),
            numbers: derived("wiremend link 1: numbers"),
        }))
    }

    /// The tag of a control frame.
    pub(super) fn tag(&self, covered: &[u8]) -> [u8; TAG_BYTES] {
        *hmac::sign(&self.0.seals, covered).as_ref().first_chunk().expect("the hash is longer")
    }

    /// Where the numbers of an epoch start on the wire.
    pub(super) fn first_number(&self, epoch: u32) -> u32 {
        let hash = hmac::sign(&self.0.numbers, &epoch.to_be_bytes());
        let bytes = *hash.as_ref().first_chunk().expect("the hash is longer");
        u32::from_be_bytes(bytes) & ((1 << NUMBER_BITS) - 1)
    }
}

/// Keys of the same secret are equal.
impl PartialEq for LinkKey {
    fn eq(&self, other: &Self) -> bool {
        self.tag(&[]) == other.tag(&[])
    }
}

/// Does not show the key.
impl fmt::Debug for LinkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkKey")
    }
}

/// Why a key file cannot be used.
#[derive(Debug)]
pub struct KeyFileError {
    path: PathBuf,
    why: Why,
}

#[derive(Debug)]
enum Why {
    Io(io::Error),
    NoFile,
    TooOpen(u32),
    TooShort(usize),
    TooLong,
}

impl fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "key file {path}: ")?;
        match &self.why {
            Why::Io(error) if error.kind() == io::ErrorKind::NotFound => write!(
                f,
                "no such file; create one and copy it to the other end: \
                 (umask 077; head -c 32 /dev/urandom | base64 > {path})"
            ),
            Why::Io(error) => error.fmt(f),
            Why::NoFile => f.write_str("not a file"),
            Why::TooOpen(mode) => {
                write!(f, "others than its owner may read it (mode {mode:03o}): chmod 600 {path}")
            }
            Why::TooShort(len) => write!(
                f,
                "{len} bytes are too short, at least {SECRET_BYTES_MIN} random ones: \
                 (umask 077; head -c 32 /dev/urandom | base64 > {path})"
            ),
            Why::TooLong => write!(f, "longer than {SECRET_BYTES_MAX} bytes"),
        }
    }
}

impl std::error::Error for KeyFileError {}
