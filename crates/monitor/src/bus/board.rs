//! What the planner of a fabric reads and says: all ports, and advice about each link.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::bus::connection::{Connection, Fault, Server};
use crate::bus::resp::Answer;
use crate::bus::store::{self, Lease, Put, Said, Standing, Unfit};
use crate::bus::word::{Advice, Halt, Sighting, Word};
use crate::name::{Name, PortName};

/// Where the right to lead is kept.
pub(super) const LEAD: &str = "wiremend:lead";
/// Whom a halt is about.
const ALL: &str = "fabric";
/// Words that are sent in one breath.
const BATCH: usize = 256;
/// Words of others that are taken in one breath.
const NEWS_MAX: &[u8] = b"4096";

/// The store, for a planner.
pub struct Board {
    connection: Connection,
    /// Waits for what others say.
    listening: Connection,
    /// The newest of it that was taken.
    newest: String,
}

impl Board {
    /// Connects, and looks whether the server keeps what it is told. What is said from here on is [news](Self::news).
    pub fn open(server: &Server) -> Result<Self, Unfit> {
        let mut connection = store::open(server)?;
        let listening = Connection::open(server)?;
        let newest = newest(&mut connection)?;
        Ok(Self { connection, listening, newest })
    }

    /// Takes or renews the right to lead, for so long. `None` if another has it.
    pub fn lead(&mut self, holder: &str, length: Duration) -> Result<Option<Lease>, Fault> {
        store::lease(&mut self.connection, LEAD, holder, length)
    }

    /// Waits this long for ports that something new was seen at. It may be wrong about them: what is true has to be [read](Self::get).
    pub fn news(&mut self, within: Duration) -> Result<BTreeSet<PortName>, Fault> {
        let within = within.as_millis().max(1).to_string();
        let stream = store::audit();
        let answer = self.listening.call(&[
            b"XREAD",
            b"COUNT",
            NEWS_MAX,
            b"BLOCK",
            within.as_bytes(),
            b"STREAMS",
            stream.as_bytes(),
            self.newest.as_bytes(),
        ])?;
        let mut ports = BTreeSet::new();
        for (id, fields) in entries(answer)? {
            self.newest = id;
            let of = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
            if of("kind") == Some(Sighting::KIND)
                && let Some(Ok(port)) = of("about").map(str::parse)
            {
                ports.insert(port);
            }
        }
        Ok(ports)
    }

    /// What stands about these ports.
    pub fn get<W: Word>(&mut self, ports: &[PortName]) -> Result<Standing<W>, Fault> {
        store::standing(&mut self.connection, ports)
    }

    /// Says what should be done about ports, and rings the bells of their nodes. Where it stands already it is not said again.
    pub fn advise(&mut self, lease: Lease, advice: &[(PortName, Advice)]) -> Result<Put, Fault> {
        let mut last = Put::Stands(0);
        for advice in advice.chunks(BATCH) {
            let said: Vec<Said> = advice
                .iter()
                .map(|(port, advice)| Said::new(port, advice, &port.node, LEAD, lease))
                .collect::<Result<_, _>>()?;
            last = self.say(&said)?;
            if last == Put::Outdated {
                break;
            }
        }
        Ok(last)
    }

    /// Whether a planner has stopped acting.
    pub fn halt(&mut self) -> Result<Option<Halt>, Fault> {
        let Standing { words, .. } = self.get::<Halt>(&[fabric()])?;
        Ok(words.into_iter().next().flatten().map(|stored| stored.word))
    }

    /// Says that it has.
    pub fn say_halt(&mut self, lease: Lease, halt: &Halt) -> Result<Put, Fault> {
        let about = fabric();
        let said = Said::new(&about, halt, &about.node, LEAD, lease)?;
        self.say(&[said])
    }

    /// Lets planners act again. Anybody who may speak as a planner may say so, leader or not.
    pub fn release(&mut self, why: &str) -> Result<(), Fault> {
        let halt = Halt { on: false, why: why.to_owned() };
        let body = serde_json::to_vec(&halt).map_err(std::io::Error::other)?;
        let key = store::key::<Halt>(&fabric());
        let answers = self.connection.call_all(&[
            &[b"HSET", key.as_bytes(), b"body", &body],
            &[b"HINCRBY", key.as_bytes(), b"version", b"1"],
        ])?;
        for answer in answers {
            if let Answer::Refused(why) = answer {
                return Err(Fault::Refused(why));
            }
        }
        Ok(())
    }

    fn say(&mut self, said: &[Said]) -> Result<Put, Fault> {
        let words: Vec<[&[u8]; 12]> = said.iter().map(Said::command).collect();
        let commands: Vec<&[&[u8]]> = words.iter().map(|words| &words[..]).collect();
        let mut last = Put::Stands(0);
        for answer in self.connection.call_all(&commands)? {
            last = store::put(&answer)?;
            if last == Put::Outdated {
                break;
            }
        }
        Ok(last)
    }
}

fn fabric() -> PortName {
    let name = |text: &str| text.parse::<Name>().expect("a plain name");
    PortName { node: name(ALL), port: name(ALL) }
}

/// The newest word that was ever said.
fn newest(connection: &mut Connection) -> Result<String, Fault> {
    let stream = store::audit();
    let answer = connection.call(&[b"XREVRANGE", stream.as_bytes(), b"+", b"-", b"COUNT", b"1"])?;
    Ok(listed(answer)?.pop().map_or_else(|| "0-0".to_owned(), |(id, _)| id))
}

/// A word of the stream: its number, and its fields.
type Entry = (String, Vec<(String, String)>);

/// What was read of one stream.
fn entries(answer: Answer) -> Result<Vec<Entry>, Fault> {
    match answer {
        // Nothing came in time.
        Answer::Several(None) | Answer::Bytes(None) => Ok(Vec::new()),
        Answer::Several(Some(mut streams)) => match streams.pop() {
            Some(Answer::Several(Some(mut named))) if named.len() == 2 => {
                listed(named.pop().unwrap_or(Answer::Several(None)))
            }
            other => Err(Fault::Unexpected(other.unwrap_or(Answer::Several(None)))),
        },
        other => Err(Fault::Unexpected(other)),
    }
}

fn listed(answer: Answer) -> Result<Vec<Entry>, Fault> {
    let Answer::Several(Some(items)) = answer else { return Err(Fault::Unexpected(answer)) };
    items.into_iter().map(entry).collect()
}

fn entry(answer: Answer) -> Result<Entry, Fault> {
    let unexpected = Fault::Unexpected(Answer::Several(None));
    let Answer::Several(Some(mut parts)) = answer else { return Err(Fault::Unexpected(answer)) };
    let (Some(Answer::Several(fields)), Some(Answer::Bytes(Some(id)))) = (parts.pop(), parts.pop()) else {
        return Err(unexpected);
    };
    let mut texts = fields.unwrap_or_default().into_iter().map(|field| match field {
        // What others wrote there may be anything.
        Answer::Bytes(Some(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => String::new(),
    });
    let mut pairs = Vec::new();
    while let (Some(key), Some(value)) = (texts.next(), texts.next()) {
        pairs.push((key, value));
    }
    Ok((String::from_utf8_lossy(&id).into_owned(), pairs))
}
