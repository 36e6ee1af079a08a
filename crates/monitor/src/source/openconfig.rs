//! Port counters in JSON with the structure of `OpenConfig`: `interfaces/interface`, as a list or as a map by
//! name, and the transceivers in `components/component`. Names may have their module in front (RFC 7951).
//!
//! The parser keeps only what it knows: memory depends on the number of entries, which is bounded, and not on
//! what else the file contains. Each entry is parsed by itself, so that a malformed one stops no other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::counter_file::Ports;
use super::counter_names::{CounterGroup, counter_for_name};
use crate::counter::Counters;
use crate::snapshot::PortSnapshot;

/// Maximum number of interfaces or components in a file.
const ENTRIES_MAX: usize = 4096;

/// Parses the counters of these interfaces. A malformed one has the reason instead.
pub(super) fn parse(text: &str, names: &BTreeSet<String>) -> Result<Ports, String> {
    let document: Document<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let Some(interfaces) = document.interfaces() else {
        return Err("no `openconfig-interfaces:interfaces` and no `interface` in this file".to_owned());
    };
    // A transceiver with several interfaces counts for all of them together.
    let mut users: BTreeMap<&str, usize> = BTreeMap::new();
    for interface in &interfaces.parsed {
        if let Some(transceiver) = &interface.state.transceiver {
            *users.entry(transceiver).or_default() += 1;
        }
    }
    // Without a component, frames are still counted.
    let components = document.components();
    let mut ports = Ports::new();
    let mut insert = |name: &str, port| {
        let is_second = ports.contains_key(name);
        let port = if is_second { Err("the interface is there twice".to_owned()) } else { port };
        ports.insert(name.to_owned(), port);
    };
    for interface in &interfaces.parsed {
        let Some(name) = interface.name().filter(|name| names.contains(*name)) else { continue };
        let transceiver = interface.state.transceiver.as_deref().filter(|of| users[of] == 1);
        let mut components = components.parsed.iter();
        let component = components.find(|component| transceiver.is_some() && component.name() == transceiver);
        insert(name, Ok(interface.snapshot(component)));
    }
    let unnamed = interfaces.malformed.iter().find(|malformed| malformed.name.is_none());
    for Malformed { name, reason, .. } in &interfaces.malformed {
        if let Some(name) = name.as_deref().filter(|name| names.contains(*name)) {
            insert(name, Err(reason.clone()));
        }
    }
    if let Some(Malformed { number, reason, .. }) = unnamed {
        for name in names.iter().filter(|name| !ports.contains_key(*name)).cloned().collect::<Vec<_>>() {
            ports.insert(
                name,
                Err(format!("not in this file, whose interface {number} is malformed: {reason}")),
            );
        }
    }
    Ok(ports)
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Document<'a> {
    #[serde(borrow, alias = "openconfig-interfaces:interfaces")]
    interfaces: Option<Interfaces<'a>>,
    #[serde(borrow, alias = "openconfig-interfaces:interface")]
    interface: Option<Entries<'a>>,
    #[serde(borrow, alias = "openconfig-platform:components")]
    components: Option<&'a RawValue>,
}

impl Document<'_> {
    fn interfaces(&self) -> Option<Parsed<Interface>> {
        let inner = self.interfaces.as_ref().and_then(|interfaces| interfaces.interface.as_ref());
        inner.or(self.interface.as_ref()).map(Entries::parse)
    }

    fn components(&self) -> Parsed<Component> {
        #[derive(Deserialize)]
        struct Components<'a> {
            #[serde(borrow, default, alias = "openconfig-platform:component")]
            component: Entries<'a>,
        }
        let components = self.components.and_then(|text| serde_json::from_str(text.get()).ok());
        components.map(|Components { component }| component.parse()).unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct Interfaces<'a> {
    #[serde(borrow, alias = "openconfig-interfaces:interface")]
    interface: Option<Entries<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Interface {
    name: Option<String>,
    #[serde(alias = "openconfig-interfaces:state")]
    state: InterfaceState,
    #[serde(alias = "openconfig-if-ethernet:ethernet")]
    ethernet: Ethernet,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "kebab-case")]
struct InterfaceState {
    name: Option<String>,
    oper_status: Option<String>,
    #[serde(alias = "openconfig-platform-transceiver:transceiver")]
    transceiver: Option<String>,
    counters: Leaves,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Ethernet {
    #[serde(alias = "openconfig-if-ethernet:state")]
    state: EthernetState,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "kebab-case")]
struct EthernetState {
    port_speed: Option<String>,
    counters: Leaves,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Component {
    name: Option<String>,
    #[serde(alias = "openconfig-platform-transceiver:transceiver")]
    transceiver: Transceiver,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Transceiver {
    #[serde(alias = "openconfig-platform-transceiver:state")]
    state: Leaves,
}

impl Interface {
    fn snapshot(&self, component: Option<&Component>) -> PortSnapshot {
        let mut counters = self.state.counters.of_group(CounterGroup::OpenConfigInterface);
        let ethernet = self.ethernet.state.counters.of_group(CounterGroup::OpenConfigEthernet);
        let fec = component
            .map(|component| component.transceiver.state.of_group(CounterGroup::OpenConfigTransceiver));
        for (counter, value) in ethernet.iter().chain(fec.unwrap_or_default().iter()) {
            counters.set(counter, value);
        }
        PortSnapshot {
            // Without a state the port counts as up.
            up: self.state.oper_status.as_deref().is_none_or(|status| status == "UP"),
            carrier_changes: self.state.counters.get("carrier-transitions"),
            megabits_per_s: self.ethernet.state.port_speed.as_deref().and_then(megabits_per_s),
            counters,
        }
    }
}

/// Parses a speed such as `openconfig-if-ethernet:SPEED_100GB`.
fn megabits_per_s(speed: &str) -> Option<u64> {
    let (_, speed) = speed.split_once("SPEED_")?;
    let (number, factor) = match (speed.strip_suffix("GB"), speed.strip_suffix("MB")) {
        (Some(number), _) => (number, 1000),
        (_, number) => (number?, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// An entry of a list or map.
trait Named {
    fn name(&self) -> Option<&str>;
    fn set_name(&mut self, name: String);
}

impl Named for Interface {
    fn name(&self) -> Option<&str> {
        self.name.as_deref().or(self.state.name.as_deref())
    }

    fn set_name(&mut self, name: String) {
        self.name = Some(name);
    }
}

impl Named for Component {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn set_name(&mut self, name: String) {
        self.name = Some(name);
    }
}

/// The entries of a list, or of a map by name, not yet parsed.
#[derive(Default)]
struct Entries<'a> {
    entries: Vec<(Option<String>, &'a RawValue)>,
}

/// Entries that could be parsed, and those that could not.
struct Parsed<E> {
    parsed: Vec<E>,
    malformed: Vec<Malformed>,
}

/// An entry that could not be parsed.
struct Malformed {
    /// Number of the entry, from 1.
    number: usize,
    name: Option<String>,
    reason: String,
}

impl<E> Default for Parsed<E> {
    fn default() -> Self {
        Self { parsed: Vec::new(), malformed: Vec::new() }
    }
}

impl Entries<'_> {
    fn parse<E: Named + for<'de> Deserialize<'de>>(&self) -> Parsed<E> {
        let mut all = Parsed::default();
        for ((key, text), number) in self.entries.iter().zip(1..) {
            match serde_json::from_str::<E>(text.get()) {
                Ok(mut entry) => {
                    if let Some(name) = key {
                        entry.set_name(name.clone());
                    }
                    all.parsed.push(entry);
                }
                Err(error) => {
                    let name = key.clone().or_else(|| name_of(text));
                    // Lines and columns would be those of the entry, not of the file.
                    let mut reason = error.to_string();
                    reason.truncate(reason.rfind(" at line ").unwrap_or(reason.len()));
                    all.malformed.push(Malformed { number, name, reason });
                }
            }
        }
        all
    }
}

/// Returns the name of a malformed entry.
fn name_of(entry: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct NameOnly {
        name: String,
    }
    serde_json::from_str(entry.get()).ok().map(|NameOnly { name }| name)
}

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(EntriesVisitor(PhantomData))
    }
}

struct EntriesVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for EntriesVisitor<'a> {
    type Value = Entries<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or a map by name")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Entries<'a>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = from.next_element()? {
            push(&mut entries, (None, entry))?;
        }
        Ok(Entries { entries })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Entries<'a>, A::Error> {
        let mut entries = Vec::new();
        while let Some((name, entry)) = from.next_entry::<String, &RawValue>()? {
            push(&mut entries, (Some(name), entry))?;
        }
        Ok(Entries { entries })
    }
}

fn push<T, E: serde::de::Error>(entries: &mut Vec<T>, entry: T) -> Result<(), E> {
    if entries.len() == ENTRIES_MAX {
        return Err(E::custom(format!("more than {ENTRIES_MAX} interfaces or components")));
    }
    entries.push(entry);
    Ok(())
}

/// The counters among the leaves of a container.
#[derive(Default)]
struct Leaves {
    counts: Vec<(&'static str, u64)>,
}

impl Leaves {
    fn get(&self, name: &str) -> Option<u64> {
        self.counts.iter().find(|(known, _)| *known == name).map(|(_, count)| *count)
    }

    fn of_group(&self, group: CounterGroup) -> Counters {
        let mut counters = Counters::default();
        for (name, count) in &self.counts {
            if let Some(counter) = counter_for_name(group, name) {
                counters.add(counter, *count);
            }
        }
        counters
    }
}

impl<'de> Deserialize<'de> for Leaves {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(LeavesVisitor)
    }
}

struct LeavesVisitor;

impl<'de> Visitor<'de> for LeavesVisitor {
    type Value = Leaves;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a container with counters")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Leaves, A::Error> {
        let mut leaves = Leaves::default();
        while let Some(name) = from.next_key::<String>()? {
            let Some(name) = known_leaf(&name) else {
                from.next_value::<IgnoredAny>()?;
                continue;
            };
            let Count(count) = from.next_value()?;
            if leaves.get(name).is_some() {
                return Err(A::Error::custom(format!("`{name}` is there twice")));
            }
            leaves.counts.extend(count.map(|count| (name, count)));
        }
        Ok(leaves)
    }
}

/// Returns the name without its module, if it is one of `OpenConfig` and not of a vendor.
fn known_leaf(name: &str) -> Option<&'static str> {
    let name = match name.split_once(':') {
        Some((module, name)) if module.starts_with("openconfig-") => name,
        Some(_) => return None,
        None => name,
    };
    let groups = [
        CounterGroup::OpenConfigInterface,
        CounterGroup::OpenConfigEthernet,
        CounterGroup::OpenConfigTransceiver,
    ];
    let mut names = groups.into_iter().flat_map(CounterGroup::names).map(|(name, _)| name);
    names.find(|known| *known == name).or((name == "carrier-transitions").then_some("carrier-transitions"))
}

/// A 64-bit count: JSON of YANG has it as text, that of many devices as a number. Other values are none.
struct Count(Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a count")
    }

    fn visit_u64<E>(self, count: u64) -> Result<Count, E> {
        Ok(Count(Some(count)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Count, E> {
        Ok(Count(text.parse().ok()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Count, A::Error> {
        while from.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Count(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Count, A::Error> {
        while from.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Count(None))
    }
}
