//! What is kept in Redis, and how it is changed: whole, once, and only by whom it belongs to.

use std::fmt;
use std::time::Duration;

use crate::bus::connection::{Connection, Fault, Server};
use crate::bus::resp::Answer;
use crate::bus::word::{Repair, Word};
use crate::name::{Name, PortName};

/// All keys and channels begin with it.
pub(crate) const PREFIX: &str = "wiremend";

/// Longest word in its JSON.
const WORD_BYTES_MAX: usize = 4096;
/// Ports that are asked for in one breath.
const BATCH: usize = 512;
/// Rings that are answered together.
const RINGS_MAX: u32 = 1000;
/// About so many words are kept of who said what.
const AUDIT_LENGTH: &[u8] = b"10000";

/// The store, for one node.
pub struct Store {
    connection: Connection,
    node: Name,
}

/// A right to speak for a node. Leases are numbered: who holds an older one is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lease {
    fence: u64,
}

/// What became of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Put {
    /// It stands, under this version.
    Stands(u64),
    /// Somebody else holds a newer lease for this node.
    Outdated,
}

/// A word that stands, and its version.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored<W> {
    /// It grows with every change.
    pub version: u64,
    /// The word.
    pub word: W,
}

/// What stands about several ports.
#[derive(Clone, PartialEq, Debug)]
pub struct Standing<W> {
    /// In the order in which they were asked for; nothing where nothing was said, or nothing that makes sense.
    pub words: Vec<Option<Stored<W>>>,
    /// How many say what makes no sense.
    pub senseless: u64,
}

/// A server that cannot be used.
#[derive(Debug)]
pub enum Unfit {
    /// It cannot be asked.
    Fault(Fault),
    /// It may throw away what it was told when memory runs short.
    Evicts(String),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Evicts(policy) => write!(
                f,
                "its maxmemory-policy is `{policy}`, so it may forget what it was told; set it to noeviction"
            ),
        }
    }
}

impl std::error::Error for Unfit {}

impl<F: Into<Fault>> From<F> for Unfit {
    fn from(fault: F) -> Self {
        Self::Fault(fault.into())
    }
}

impl Store {
    /// Connects as `node`, and looks whether the server keeps what it is told.
    pub fn open(server: &Server, node: Name) -> Result<Self, Unfit> {
        let connection = open(server)?;
        Ok(Self { connection, node })
    }

    /// Who speaks.
    pub fn node(&self) -> &Name {
        &self.node
    }

    /// Takes or renews the right to speak for this node, for so long. `None` if `holder` is not who has it.
    pub fn lease(&mut self, holder: &str, length: Duration) -> Result<Option<Lease>, Fault> {
        self::lease(&mut self.connection, &lease_key(&self.node), holder, length)
    }

    /// Says a word of one of this node's ports, and rings the bell of `whom`. A word that stands already is not said again.
    pub fn put<W: Word>(&mut self, lease: Lease, port: &Name, word: &W, whom: &Name) -> Result<Put, Fault> {
        let about = PortName { node: self.node.clone(), port: port.clone() };
        let said = Said::new(&about, word, whom, &lease_key(&self.node), lease)?;
        put(&self.connection.call(&said.command())?)
    }

    /// Says that the link at one of this node's ports was repaired. Anybody who may speak for the node may say so, lease or not.
    pub fn say_repaired(&mut self, port: &Name) -> Result<u64, Fault> {
        let about = PortName { node: self.node.clone(), port: port.clone() };
        let (key, bell) = (key::<Repair>(&about), bell(&self.node));
        let answers = self.connection.call_all(&[
            &[b"HSET", key.as_bytes(), b"body", b"{}"],
            &[b"HINCRBY", key.as_bytes(), b"version", b"1"],
            &[b"PUBLISH", bell.as_bytes(), about.to_string().as_bytes()],
        ])?;
        for answer in &answers {
            if let Answer::Refused(why) = answer {
                return Err(Fault::Refused(why.clone()));
            }
        }
        number(&answers[1])
    }

    /// What stands about these ports.
    pub fn get<W: Word>(&mut self, ports: &[PortName]) -> Result<Standing<W>, Fault> {
        standing(&mut self.connection, ports)
    }
}

/// What stands about these ports.
pub(super) fn standing<W: Word>(
    connection: &mut Connection,
    ports: &[PortName],
) -> Result<Standing<W>, Fault> {
    let mut words = Vec::with_capacity(ports.len());
    let mut senseless = 0;
    for ports in ports.chunks(BATCH) {
        let keys: Vec<String> = ports.iter().map(key::<W>).collect();
        let commands: Vec<[&[u8]; 4]> =
            keys.iter().map(|key| [&b"HMGET"[..], key.as_bytes(), b"version", b"body"]).collect();
        let commands: Vec<&[&[u8]]> = commands.iter().map(|words| &words[..]).collect();
        for answer in connection.call_all(&commands)? {
            match read(answer)? {
                Read::Nothing => words.push(None),
                Read::Senseless => {
                    senseless += 1;
                    words.push(None);
                }
                Read::Word(word) => words.push(Some(word)),
            }
        }
    }
    Ok(Standing { words, senseless })
}

/// A word on its way.
pub(super) struct Said {
    key: String,
    audit: String,
    bell: String,
    about: String,
    kind: &'static str,
    body: Vec<u8>,
    fence: String,
    held: String,
}

impl Said {
    /// About a port, to ring the bell of `whom`, by the right of the lease that is kept under `held`.
    pub(super) fn new<W: Word>(
        about: &PortName,
        word: &W,
        whom: &Name,
        held: &str,
        lease: Lease,
    ) -> Result<Self, Fault> {
        assert!(word.is_sound(), "only what makes sense is said");
        let body = serde_json::to_vec(word).map_err(std::io::Error::other)?;
        assert!(body.len() <= WORD_BYTES_MAX, "words are short");
        Ok(Self {
            key: key::<W>(about),
            audit: audit(),
            bell: bell(whom),
            about: about.to_string(),
            kind: W::KIND,
            body,
            fence: lease.fence.to_string(),
            held: held.to_owned(),
        })
    }

    /// The command.
    pub(super) fn command(&self) -> [&[u8]; 12] {
        [
            b"EVAL",
            PUT.as_bytes(),
            b"3",
            self.key.as_bytes(),
            self.held.as_bytes(),
            self.audit.as_bytes(),
            self.fence.as_bytes(),
            &self.body,
            self.bell.as_bytes(),
            self.about.as_bytes(),
            self.kind.as_bytes(),
            AUDIT_LENGTH,
        ]
    }
}

/// What became of a word, by the answer.
pub(super) fn put(answer: &Answer) -> Result<Put, Fault> {
    if let Answer::Refused(why) = answer {
        return Err(Fault::Refused(why.clone()));
    }
    Ok(match number(answer)? {
        0 => Put::Outdated,
        version => Put::Stands(version),
    })
}

/// Takes or renews a lease.
pub(super) fn lease(
    connection: &mut Connection,
    key: &str,
    holder: &str,
    length: Duration,
) -> Result<Option<Lease>, Fault> {
    let length = length.as_millis().to_string();
    let words: [&[u8]; 6] =
        [b"EVAL", LEASE.as_bytes(), b"1", key.as_bytes(), holder.as_bytes(), length.as_bytes()];
    Ok(match number(&connection.call(&words)?)? {
        0 => None,
        fence => Some(Lease { fence }),
    })
}

/// Connects, and looks whether the server keeps what it is told.
pub(super) fn open(server: &Server) -> Result<Connection, Unfit> {
    let mut connection = Connection::open(server)?;
    let info = text(connection.call(&[b"INFO", b"memory"])?)?;
    let policy = info.lines().find_map(|line| line.strip_prefix("maxmemory_policy:")).unwrap_or("unknown");
    if policy != "noeviction" {
        return Err(Unfit::Evicts(policy.to_owned()));
    }
    Ok(connection)
}

/// Hears when something was said that concerns a node.
pub struct Bell {
    connection: Connection,
}

impl Bell {
    /// Listens for `node`.
    pub fn open(server: &Server, node: &Name) -> Result<Self, Fault> {
        let mut connection = Connection::open(server)?;
        connection.call(&[b"SUBSCRIBE", bell(node).as_bytes()])?;
        Ok(Self { connection })
    }

    /// Whether it rang within this time. What the message says does not matter: it may lie.
    pub fn rang(&mut self, within: Duration) -> Result<bool, Fault> {
        let rang = self.connection.next(within)?.is_some();
        // A hundred rings are as good as one. Who never stops to ring must not keep anybody from watching.
        let mut rings = 0;
        while rang && rings < RINGS_MAX && self.connection.next(Duration::from_millis(1))?.is_some() {
            rings += 1;
        }
        Ok(rang)
    }
}

enum Read<W> {
    Nothing,
    Senseless,
    Word(Stored<W>),
}

fn read<W: Word>(answer: Answer) -> Result<Read<W>, Fault> {
    let items = match answer {
        Answer::Several(Some(items)) if items.len() == 2 => items,
        // Whoever may write there may also make something else of it; that must not keep others from being heard.
        Answer::Refused(why) if why.starts_with("WRONGTYPE") => return Ok(Read::Senseless),
        Answer::Refused(why) => return Err(Fault::Refused(why)),
        other => return Err(Fault::Unexpected(other)),
    };
    let [version, body] = &items[..] else { unreachable!("there are two") };
    let (version, body) = match (version, body) {
        (Answer::Bytes(None), Answer::Bytes(None)) => return Ok(Read::Nothing),
        (Answer::Bytes(Some(version)), Answer::Bytes(Some(body))) => (version, body),
        _ => return Ok(Read::Senseless),
    };
    let version = std::str::from_utf8(version).ok().and_then(|text| text.parse().ok());
    let word = (body.len() <= WORD_BYTES_MAX).then(|| serde_json::from_slice::<W>(body).ok()).flatten();
    Ok(match (version, word.filter(W::is_sound)) {
        (Some(version), Some(word)) => Read::Word(Stored { version, word }),
        _ => Read::Senseless,
    })
}

pub(super) fn key<W: Word>(port: &PortName) -> String {
    format!("{PREFIX}:{}:{port}", W::KIND)
}

fn lease_key(node: &Name) -> String {
    format!("{PREFIX}:lease:{node}")
}

/// The stream of who said what.
pub(super) fn audit() -> String {
    format!("{PREFIX}:audit")
}

fn bell(node: &Name) -> String {
    format!("{PREFIX}:bell:{node}")
}

pub(super) fn number(answer: &Answer) -> Result<u64, Fault> {
    match answer {
        Answer::Number(number) if *number >= 0 => Ok(*number as u64),
        other => Err(Fault::Unexpected(other.clone())),
    }
}

fn text(answer: Answer) -> Result<String, Fault> {
    match answer {
        Answer::Bytes(Some(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        other => Err(Fault::Unexpected(other)),
    }
}

/// Takes a lease that is free, run out or the caller's own. The server's clock decides, so that those of daemons need not agree.
/// The number stays when the lease ends: the next one is larger. One that would run for longer than anybody asks for is none: the server's
/// clock went back.
const LEASE: &str = "\
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'holder', 'until', 'fence')
local left = (tonumber(held[2] or '0') or 0) - now
local runs = left > 0 and left <= 2 * tonumber(ARGV[2])
if runs and held[1] ~= ARGV[1] then return 0 end
local fence = tonumber(held[3] or '0') or 0
if fence < 0 or fence > 1e15 or fence ~= math.floor(fence) then fence = 0 end
if fence == 0 or not runs or held[1] ~= ARGV[1] then fence = fence + 1 end
redis.call('HSET', KEYS[1], 'fence', string.format('%d', fence), 'holder', ARGV[1], 'until', now + tonumber(ARGV[2]))
return fence";

/// Says a word, unless a newer lease was given out or the word stands already. A version that somebody spoiled begins anew.
const PUT: &str = "\
local newest = redis.call('HGET', KEYS[2], 'fence')
if newest and (tonumber(newest) or 0) > tonumber(ARGV[1]) then return 0 end
local stands = redis.call('HMGET', KEYS[1], 'version', 'body')
local version = tonumber(stands[1] or '0') or 0
if version < 0 or version > 1e15 or version ~= math.floor(version) then version = 0 end
if stands[2] == ARGV[2] and version > 0 then return version end
version = version + 1
redis.call('HSET', KEYS[1], 'version', string.format('%d', version), 'body', ARGV[2])
redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[6], '*', 'about', ARGV[4], 'kind', ARGV[5], 'version', version, 'body', ARGV[2])
redis.call('PUBLISH', ARGV[3], ARGV[4])
return version";
