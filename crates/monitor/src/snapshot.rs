//! Snapshots of the counters of a port, and files of recorded snapshots.

use std::fmt;
use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};
use wiremend_units::Time;

use crate::counter::{Counter, Counters};
use crate::forecast::FecCounts;
use crate::port_monitor::{FrameCounts, PortReading};

/// All counters of a port at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortSnapshot {
    /// Whether the port has a carrier.
    pub up: bool,
    /// Number of carrier changes so far.
    pub carrier_changes: Option<u64>,
    /// Speed of the port, if known.
    pub megabits_per_s: Option<u64>,
    /// Counter values.
    pub counters: Counters,
}

impl PortSnapshot {
    /// Returns the values for a detector; `None` if the port does not count corrupted frames.
    pub fn reading(&self, at: Time) -> Option<PortReading> {
        let get = |counter| self.counters.get(counter);
        let counted = match (get(Counter::RxGood), get(Counter::RxCrc), get(Counter::RxAll)) {
            (Some(good), Some(bad), _) => FrameCounts::GoodAndBad { good, bad },
            (Some(ok), None, Some(all)) => FrameCounts::OkAndAll { ok, all },
            (Some(good), None, None) => {
                let lengths = get(Counter::RxLength).unwrap_or(0);
                FrameCounts::GoodAndErrors { good, errors: get(Counter::RxErrors)?, lengths }
            }
            _ => return None,
        };
        let Self { up, carrier_changes, .. } = *self;
        Some(PortReading { at, up, carrier_changes, counted, fec: self.fec() })
    }

    fn fec(&self) -> FecCounts {
        let get = |counter| self.counters.get(counter);
        FecCounts {
            corrected: get(Counter::FecSymbols0)
                .map(|_| Counter::FEC_SYMBOLS.map(|counter| get(counter).unwrap_or(0))),
            uncorrectable: get(Counter::FecUncorrectable),
            corrected_bits: get(Counter::FecCorrectedBits),
            bits: get(Counter::RxBits),
            megabits_per_s: self.megabits_per_s,
        }
    }
}

/// One line of a recording: the snapshot of one port at one time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedSnapshot {
    /// Seconds since the start of the recording.
    pub time_s: f64,
    /// Switch or host.
    pub node: String,
    /// Port of the node.
    pub port: String,
    /// Whether the port has a carrier.
    pub up: bool,
    /// Number of carrier changes so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier_changes: Option<u64>,
    /// Speed of the port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub megabits_per_s: Option<u64>,
    /// Counter values by name.
    #[serde(with = "by_name")]
    pub counters: Counters,
}

impl RecordedSnapshot {
    /// Maximum length of a line.
    const BYTES_MAX: usize = 64 << 10;
    /// Maximum length of a node or port name.
    const NAME_MAX: usize = 256;
    /// Latest time of a recording: 208 days, within the range of [`Time`].
    const TIME_MAX_S: f64 = 1.8e7;

    /// Returns the time of the snapshot, rounded to a nanosecond.
    pub fn at(&self) -> Time {
        Time::from_ns((self.time_s * 1e9) as u64)
    }

    /// Returns the snapshot without time and names.
    pub fn snapshot(&self) -> PortSnapshot {
        PortSnapshot {
            up: self.up,
            carrier_changes: self.carrier_changes,
            megabits_per_s: self.megabits_per_s,
            counters: self.counters,
        }
    }

    /// Writes the snapshot as one line of JSON.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut to, self)?;
        to.write_all(b"\n")
    }

    /// Reads all lines of JSON. Empty lines and lines that start with `#` are ignored.
    pub fn read_all(mut from: impl BufRead) -> Result<Vec<Self>, BadRecording> {
        let mut records = Vec::new();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let mut limited = io::Read::take(&mut from, Self::BYTES_MAX as u64 + 1);
            let bytes = limited
                .read_until(b'\n', &mut line)
                .map_err(|error| BadRecording { line: number, reason: error.to_string() })?;
            if bytes == 0 {
                break;
            }
            let bad = |reason: String| BadRecording { line: number, reason };
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
                "time_s is {}, not between 0 and {}: it counts seconds since the start of the recording",
                self.time_s,
                Self::TIME_MAX_S
            ));
        }
        for (what, name) in [("node", &self.node), ("port", &self.port)] {
            Self::check_name(name).map_err(|reason| format!("{what}: {reason}"))?;
        }
        Ok(())
    }

    /// Checks the name of a node or port.
    pub fn check_name(name: &str) -> Result<(), String> {
        if name.is_empty() || name.len() > Self::NAME_MAX || name.chars().any(char::is_control) {
            return Err(format!("a name has 1 to {} bytes and no control characters", Self::NAME_MAX));
        }
        Ok(())
    }
}

/// Why a recording cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRecording {
    /// Line number, from 1.
    pub line: usize,
    /// Reason.
    pub reason: String,
}

impl fmt::Display for BadRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for BadRecording {}

/// Counters by their names.
pub(crate) mod by_name {
    use std::collections::BTreeMap;

    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::counter::{Counter, Counters};

    pub(crate) fn serialize<S: Serializer>(counters: &Counters, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(counters.iter().map(|(counter, value)| (counter.name(), value)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Counters, D::Error> {
        let named = BTreeMap::<Counter, u64>::deserialize(from)?;
        Ok(named.into_iter().collect())
    }
}
