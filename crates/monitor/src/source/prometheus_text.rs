//! Port counters in Prometheus text, with the metric names of `node_exporter`: its collectors `netdev`,
//! `netclass` and `ethtool`.

use std::collections::{BTreeMap, BTreeSet};

use super::counter_file::Ports;
use super::counter_names::{CounterGroup, counter_for_name};
use crate::counter::{Counter, Counters};
use crate::snapshot::PortSnapshot;

/// Parses the metrics of these devices.
pub(super) fn parse(text: &str, devices: &BTreeSet<String>) -> Result<Ports, String> {
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("the last line does not end: write the file elsewhere and rename it".to_owned());
    }
    let driver_names = driver_names();
    let mut found: BTreeMap<&str, Result<Device<'_>, String>> = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if !line.starts_with(NETWORK) && !line.starts_with(ETHTOOL) {
            continue;
        }
        let sample =
            Sample::parse(line).ok_or_else(|| format!("line {}: not a Prometheus sample", at + 1))?;
        let Some(device) = sample.device.as_deref().and_then(|device| devices.get(device)) else { continue };
        let known = found.entry(device).or_insert_with(|| Ok(Device::default()));
        if let Ok(device) = known
            && !device.take(&sample, &driver_names)
        {
            *known = Err(format!("line {}: `{}` is there twice", at + 1, sample.name));
        }
    }
    Ok(found
        .into_iter()
        .map(|(name, device)| (name.to_owned(), device.map(|device| device.snapshot())))
        .collect())
}

const NETWORK: &str = "node_network_";
const ETHTOOL: &str = "node_ethtool_";

/// Counters of drivers by the names that the collector `ethtool` gives them.
fn driver_names() -> BTreeMap<String, Counter> {
    CounterGroup::Driver.names().map(|(name, counter)| (ethtool_name(name), counter)).collect()
}

/// Returns the name of a driver's counter after `node_ethtool_`: lower case, each run of other characters one
/// underscore, the words `rx` and `tx` written out.
fn ethtool_name(name: &str) -> String {
    let plain = name.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let words = plain.split('_').filter(|word| !word.is_empty()).map(|word| match word {
        "rx" => "received",
        "tx" => "transmitted",
        word => word,
    });
    words.collect::<Vec<_>>().join("_")
}

/// What is known of a device.
#[derive(Default)]
struct Device<'a> {
    seen: BTreeSet<&'a str>,
    interface: Counters,
    driver: Counters,
    up: Option<bool>,
    carrier_changes: Option<u64>,
    megabits_per_s: Option<u64>,
}

impl<'a> Device<'a> {
    /// Takes a sample. Returns `false` if the metric is known already: then the file mixes several machines.
    fn take(&mut self, sample: &Sample<'a>, driver_names: &BTreeMap<String, Counter>) -> bool {
        let driver = sample.name.strip_prefix(ETHTOOL).and_then(|name| driver_names.get(name));
        let interface = counter_for_name(CounterGroup::NodeExporter, sample.name);
        let is_state = STATES.contains(&sample.name);
        if driver.is_none() && interface.is_none() && !is_state {
            return true;
        }
        if !self.seen.insert(sample.name) {
            return false;
        }
        // A negative value means unknown, for example the speed of a port without carrier.
        let Some(value) = sample.count() else { return true };
        if let Some(counter) = driver {
            self.driver.add(*counter, value);
        } else if let Some(counter) = interface {
            self.interface.add(counter, value);
        } else {
            match sample.name {
                "node_network_carrier" => self.up = Some(value == 1),
                "node_network_carrier_changes_total" => self.carrier_changes = Some(value),
                _ => self.megabits_per_s = Some(value / (1_000_000 / 8)).filter(|&speed| speed > 0),
            }
        }
        true
    }

    fn snapshot(&self) -> PortSnapshot {
        let mut counters = self.interface;
        for (counter, value) in self.driver.iter() {
            counters.set(counter, value);
        }
        // Without a state the port counts as up.
        let up = self.up.unwrap_or(true);
        let Self { carrier_changes, megabits_per_s, .. } = *self;
        PortSnapshot { up, carrier_changes, megabits_per_s, counters }
    }
}

const STATES: [&str; 3] =
    ["node_network_carrier", "node_network_carrier_changes_total", "node_network_speed_bytes"];

/// A line: `NAME{LABEL="VALUE",…} NUMBER`, possibly with a time behind.
struct Sample<'a> {
    name: &'a str,
    device: Option<String>,
    number: &'a str,
}

impl<'a> Sample<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let end = line.find(|c: char| !is_name(c))?;
        let (name, rest) = line.split_at(end);
        let (device, rest) = match rest.trim_start().strip_prefix('{') {
            Some(labels) => parse_labels(labels)?,
            None => (None, rest),
        };
        let number = rest.split_ascii_whitespace().next()?;
        number.parse::<f64>().ok()?;
        Some(Self { name, device, number })
    }

    /// The value as a count. Prometheus writes large numbers as `1.5e+09`.
    fn count(&self) -> Option<u64> {
        self.number.parse().ok().or_else(|| {
            let number: f64 = self.number.parse().ok()?;
            (0.0..u64::MAX as f64).contains(&number).then_some(number as u64)
        })
    }
}

/// Parses labels after their opening brace. Returns the value of the label `device` and the rest of the line.
fn parse_labels(mut rest: &str) -> Option<(Option<String>, &str)> {
    let mut device = None;
    loop {
        rest = rest.trim_start();
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((device, rest));
        }
        let (name, value) = rest.split_once('=')?;
        let name = name.trim_end();
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let (value, after) = parse_quoted(value.trim_start())?;
        if name == "device" {
            device = Some(value);
        }
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(next) => next,
            None if after.starts_with('}') => after,
            None => return None,
        };
    }
}

/// Parses a quoted text. Returns it and what follows.
fn parse_quoted(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix('"')?;
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                escaped => value.push(escaped),
            },
            plain => value.push(plain),
        }
    }
    None
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn driver_names_are_those_of_node_exporter() {
        for (name, expected) in [
            ("rx_crc_errors_phy", "received_crc_errors_phy"),
            ("rx_crc_errors.nic", "received_crc_errors_nic"),
            ("link_xoff_rx.nic", "link_xoff_received_nic"),
            ("FramesReceivedOK", "framesreceivedok"),
            ("tx_packets_phy", "transmitted_packets_phy"),
        ] {
            assert_eq!(ethtool_name(name), expected);
        }
    }

    #[test]
    fn samples_have_labels_numbers_and_times() {
        let sample = |line| {
            let sample = Sample::parse(line)?;
            Some((sample.name, sample.device.clone(), sample.count()))
        };
        let eth0 = Some("eth0".to_owned());
        for (line, expected) in [
            ("a{device=\"eth0\"} 7", Some(("a", eth0.clone(), Some(7)))),
            (
                "a { x = \"}\\\"\" , device = \"eth0\" , } 1.5e+09 1700000000",
                Some(("a", eth0, Some(1_500_000_000))),
            ),
            ("a 18446744073709551615", Some(("a", None, Some(u64::MAX)))),
            ("a{device=\"\\\\n\\n\"} -125000", Some(("a", Some("\\n\n".to_owned()), None))),
            ("a NaN", Some(("a", None, None))),
            ("a +Inf", Some(("a", None, None))),
            ("a", None),
            ("a{device=\"eth0\"}", None),
            ("a{device=\"eth0\" 7", None),
            ("a{device=\"eth0} 7", None),
            ("a{device=eth0} 7", None),
            ("a{=\"eth0\"} 7", None),
            ("a{device=\"eth0\" x=\"y\"} 7", None),
            ("a{device=\"eth0\"} seven", None),
        ] {
            assert_eq!(sample(line), expected, "{line}");
        }
    }
}
