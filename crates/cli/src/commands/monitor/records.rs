//! Files of recorded port counters.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};

use wiremend_monitor::{PortSnapshot, RecordedSnapshot};
use wiremend_units::Time;

use crate::failure::Failure;

/// A port: its node and its name there.
pub(super) type Port = (String, String);

/// The readings of each port, in the order of their files.
pub(super) type Readings = BTreeMap<Port, Vec<(Time, PortSnapshot)>>;

/// Reads files, `-` for stdin.
pub(super) fn read(files: &[String]) -> Result<Readings, Failure> {
    let mut readings = Readings::new();
    for name in files {
        let refused = |why: &dyn std::fmt::Display| Failure::Input(format!("{name}: {why}"));
        let records = if name == "-" {
            RecordedSnapshot::read_all(io::stdin().lock())
        } else {
            RecordedSnapshot::read_all(BufReader::new(File::open(name).map_err(|error| refused(&error))?))
        };
        for record in records.map_err(|error| refused(&error))? {
            let reading = (record.at(), record.snapshot());
            let port = (record.node, record.port);
            let name = shown(&port);
            let of_port = readings.entry(port).or_default();
            if let Some((last, _)) = of_port.last().filter(|(last, _)| *last >= reading.0) {
                let why = format!(
                    "`{name}` has a reading at {last} and then one at {}; two recordings cannot be joined, so process them one by one",
                    reading.0
                );
                return Err(refused(&why));
            }
            of_port.push(reading);
        }
    }
    Ok(readings)
}

/// Checks that a port has at least two readings.
pub(super) fn check_growth(port: &Port, readings: &[(Time, PortSnapshot)]) -> Result<(), Failure> {
    if readings.len() >= 2 {
        return Ok(());
    }
    let name = shown(port);
    Err(Failure::Input(format!("`{name}` has one reading; at least two are needed")))
}

pub(super) fn shown((node, port): &Port) -> String {
    format!("{node}:{port}")
}
