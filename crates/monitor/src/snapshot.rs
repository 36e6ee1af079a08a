//! A port as it was read once, and the files that keep such readings.

use std::fmt;
use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};
use wiremend_units::Time;

use crate::counter::{Counter, Counters};
use crate::foresight::Fec;
use crate::port::{Counted, Reading};

/// A port at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// It has a carrier.
    pub up: bool,
    /// How often the carrier came or went.
    pub carrier_changes: Option<u64>,
    /// Its speed, if it has one.
    pub megabits_per_s: Option<u64>,
    /// All it has counted.
    pub counters: Counters,
}

impl Snapshot {
    /// What a detector needs of it. `None` without counters of good and bad frames.
    pub fn reading(&self, at: Time) -> Option<Reading> {
        let of = |counter| self.counters.get(counter);
        let counted = match (of(Counter::RxGood), of(Counter::RxCrc), of(Counter::RxAll)) {
            (Some(good), Some(bad), _) => Counted::GoodAndBad { good, bad },
            (Some(ok), None, Some(all)) => Counted::OkOfAll { ok, all },
            _ => return None,
        };
        let Self { up, carrier_changes, .. } = *self;
        Some(Reading { at, up, carrier_changes, counted, fec: self.fec() })
    }

    fn fec(&self) -> Fec {
        let of = |counter| self.counters.get(counter);
        Fec {
            corrected: of(Counter::FecSymbols0)
                .map(|_| Counter::FEC_SYMBOLS.map(|counter| of(counter).unwrap_or(0))),
            uncorrectable: of(Counter::FecUncorrectable),
            corrected_bits: of(Counter::FecCorrectedBits),
            bits: of(Counter::RxBits),
            megabits_per_s: self.megabits_per_s,
        }
    }
}

/// One line of a record: which port, when, and what it had counted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Seconds since the record began.
    pub time_s: f64,
    /// The switch or host.
    pub node: String,
    /// The port.
    pub port: String,
    /// It has a carrier.
    pub up: bool,
    /// How often the carrier came or went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier_changes: Option<u64>,
    /// Its speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub megabits_per_s: Option<u64>,
    /// Counts by name.
    #[serde(with = "by_name")]
    pub counters: Counters,
}

impl Record {
    /// Longest line.
    const BYTES_MAX: usize = 64 << 10;
    /// Longest name of a node or port.
    const NAME_MAX: usize = 256;
    /// The last second of a record: 208 days, which [`Time`] holds.
    const TIME_MAX_S: f64 = 1.8e7;

    /// When, rounded to a nanosecond.
    pub fn at(&self) -> Time {
        Time::from_ns((self.time_s * 1e9) as u64)
    }

    /// What was read.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            up: self.up,
            carrier_changes: self.carrier_changes,
            megabits_per_s: self.megabits_per_s,
            counters: self.counters,
        }
    }

    /// Writes it as a line of JSON.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut to, self)?;
        to.write_all(b"\n")
    }

    /// Reads lines of JSON until they end. Empty lines and those that begin with `#` are passed over.
    pub fn read_all(mut from: impl BufRead) -> Result<Vec<Self>, Unreadable> {
        let mut records = Vec::new();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let mut limited = io::Read::take(&mut from, Self::BYTES_MAX as u64 + 1);
            let bytes = limited
                .read_until(b'\n', &mut line)
                .map_err(|error| Unreadable { line: number, why: error.to_string() })?;
            if bytes == 0 {
                break;
            }
            let bad = |why: String| Unreadable { line: number, why };
            if bytes > Self::BYTES_MAX {
                return Err(bad(format!("longer than {} bytes", Self::BYTES_MAX)));
            }
            let text = line.trim_ascii();
            if text.is_empty() || text[0] == b'#' {
                continue;
            }
            let record: Self = serde_json::from_slice(text).map_err(|error| bad(error.to_string()))?;
            record.check().map_err(bad)?;
            records.push(record);
        }
        Ok(records)
    }

    fn check(&self) -> Result<(), String> {
        if !(0.0..=Self::TIME_MAX_S).contains(&self.time_s) {
            return Err(format!(
                "time_s is {}, not between 0 and {}: seconds since the record began",
                self.time_s,
                Self::TIME_MAX_S
            ));
        }
        for (what, name) in [("node", &self.node), ("port", &self.port)] {
            Self::check_name(name).map_err(|why| format!("{what}: {why}"))?;
        }
        Ok(())
    }

    /// Whether a node or a port may be called so.
    pub fn check_name(name: &str) -> Result<(), String> {
        if name.is_empty() || name.len() > Self::NAME_MAX || name.chars().any(char::is_control) {
            return Err(format!("a plain name has 1 to {} bytes and no control characters", Self::NAME_MAX));
        }
        Ok(())
    }
}

/// A record that cannot be read, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    /// The line, from 1.
    pub line: usize,
    /// Why.
    pub why: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for Unreadable {}

mod by_name {
    use std::collections::BTreeMap;

    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::counter::{Counter, Counters};

    pub(super) fn serialize<S: Serializer>(counters: &Counters, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(counters.iter().map(|(counter, value)| (counter.name(), value)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Counters, D::Error> {
        let named = BTreeMap::<Counter, u64>::deserialize(from)?;
        Ok(named.into_iter().collect())
    }
}
