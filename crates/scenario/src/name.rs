//! Names of scenarios and nodes, and references to hosts, links and switches.

use wiremend_units::Bytes;

use crate::value::{Refusal, Scalar, Value, as_value};

/// One line of text, not empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line(String);

impl Line {
    /// Returns a line with this text; `None` if it is empty or has control characters.
    pub fn new(text: &str) -> Option<Self> {
        Self::read(&Scalar::Text(text.to_owned())).ok()
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for Line {
    fn expected() -> String {
        "one line of text".to_owned()
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        let text = scalar.text()?.trim();
        if text.is_empty() || text.contains(char::is_control) {
            return Err("is empty or contains control characters; expected one line of text".into());
        }
        Ok(Self(text.to_owned()))
    }

    fn write(&self) -> Scalar {
        Scalar::Text(self.0.clone())
    }
}

as_value!(Line);

/// Name of a node in a graph: a letter, then letters, digits and `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for Name {
    fn expected() -> String {
        "a name: a letter, then letters, digits or `_`".to_owned()
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        let text = scalar.text()?;
        let plain = text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        // These words stand for sets of hosts wherever a host is named.
        if !plain || ["all", "last"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
            return Err(format!("`{text}` is not a name; expected {}", Self::expected()).into());
        }
        Ok(Self(text.to_owned()))
    }

    fn write(&self) -> Scalar {
        Scalar::Text(self.0.clone())
    }
}

as_value!(Name);

/// Reference to one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// By number, from 0.
    Number(u32),
    /// By name.
    Name(String),
    /// The host with the highest number.
    Last,
}

impl Value for Host {
    fn expected() -> String {
        "a host: its number, its name such as \"h3\", or \"last\"".to_owned()
    }

    fn types() -> &'static [&'static str] {
        &["integer", "string"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        match scalar {
            Scalar::Integer(number) => u32::try_from(*number).map(Self::Number).map_err(|_| Refusal::Type),
            Scalar::Text(text) => Self::parse(text).ok_or(Refusal::Type),
            _ => Err(Refusal::Type),
        }
    }

    fn write(&self) -> Scalar {
        match self {
            Self::Number(number) => Scalar::Integer((*number).into()),
            Self::Name(name) => Scalar::Text(name.clone()),
            Self::Last => Scalar::Text("last".to_owned()),
        }
    }
}

impl Host {
    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "" => None,
            text if text.eq_ignore_ascii_case("all") => None,
            text if text.eq_ignore_ascii_case("last") => Some(Self::Last),
            text if text.bytes().all(|c| c.is_ascii_digit()) => text.parse().ok().map(Self::Number),
            text if text.contains("..") => None,
            text => Some(Self::Name(text.to_owned())),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Name(name) => name.clone(),
            Self::Last => "last".to_owned(),
        }
    }
}

as_value!(Host);

/// Reference to several hosts, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// All hosts of the network.
    All,
    /// The hosts of these ranges, in order.
    Ranges(Vec<HostRange>),
}

/// Consecutive hosts from `first` to `last`, both included; equal for a single host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRange {
    /// First host.
    pub first: Host,
    /// Last host.
    pub last: Host,
}

impl Value for Hosts {
    fn expected() -> String {
        "hosts: \"all\", a host such as \"h3\", a range such as \"h4..h7\" (both ends included), or a list of these"
            .to_owned()
    }

    fn types() -> &'static [&'static str] {
        &["integer", "string", "array"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        match scalar {
            Scalar::Text(text) if text.eq_ignore_ascii_case("all") => Ok(Self::All),
            Scalar::List(items) if items.is_empty() => {
                Err(format!("the list is empty; expected {}", Self::expected()).into())
            }
            Scalar::List(items) => {
                items.iter().map(HostRange::read).collect::<Result<_, _>>().map(Self::Ranges)
            }
            scalar => HostRange::read(scalar).map(|range| Self::Ranges(vec![range])),
        }
    }

    fn write(&self) -> Scalar {
        match self {
            Self::All => Scalar::Text("all".to_owned()),
            Self::Ranges(ranges) => Scalar::List(ranges.iter().map(HostRange::write).collect()),
        }
    }
}

as_value!(Hosts);

impl HostRange {
    pub(crate) fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        if let Scalar::Text(text) = scalar
            && let Some((first, last)) = text.split_once("..")
        {
            let ends = Host::parse(first).zip(Host::parse(last));
            let (first, last) = ends.ok_or(Refusal::Type)?;
            return Ok(Self { first, last });
        }
        Host::read(scalar).map(|host| Self { first: host.clone(), last: host })
    }

    pub(crate) fn write(&self) -> Scalar {
        if self.first == self.last {
            self.first.write()
        } else {
            Scalar::Text(format!("{}..{}", self.first.text(), self.last.text()))
        }
    }
}

/// Reference to links of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkSet {
    /// All links.
    All,
    /// Links between a host and a switch.
    Hosts,
    /// Links between two switches.
    Switches,
    /// Links by name: both ends, joined by `-`.
    Named(Vec<String>),
}

impl Value for LinkSet {
    fn expected() -> String {
        "links: \"all\", \"hosts\", \"switches\", a link such as \"h0-tor\", or a list of links".to_owned()
    }

    fn types() -> &'static [&'static str] {
        &["string", "array"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        match scalar {
            Scalar::Text(text) if text.eq_ignore_ascii_case("all") => Ok(Self::All),
            Scalar::Text(text) if text.eq_ignore_ascii_case("hosts") => Ok(Self::Hosts),
            Scalar::Text(text) if text.eq_ignore_ascii_case("switches") => Ok(Self::Switches),
            names => read_names::<Self>(names).map(Self::Named),
        }
    }

    fn write(&self) -> Scalar {
        let word = match self {
            Self::All => "all",
            Self::Hosts => "hosts",
            Self::Switches => "switches",
            Self::Named(names) => return write_names(names),
        };
        Scalar::Text(word.to_owned())
    }
}

as_value!(LinkSet);

/// Reference to switches of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchSet {
    /// Switches with hosts.
    Edge,
    /// All other switches.
    Core,
    /// Switches by name.
    Named(Vec<String>),
}

impl Value for SwitchSet {
    fn expected() -> String {
        "switches: \"edge\", \"core\", a switch such as \"spine0\", or a list of switches".to_owned()
    }

    fn types() -> &'static [&'static str] {
        &["string", "array"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        match scalar {
            Scalar::Text(text) if text.eq_ignore_ascii_case("edge") => Ok(Self::Edge),
            Scalar::Text(text) if text.eq_ignore_ascii_case("core") => Ok(Self::Core),
            names => read_names::<Self>(names).map(Self::Named),
        }
    }

    fn write(&self) -> Scalar {
        match self {
            Self::Edge => Scalar::Text("edge".to_owned()),
            Self::Core => Scalar::Text("core".to_owned()),
            Self::Named(names) => write_names(names),
        }
    }
}

as_value!(SwitchSet);

/// Reads one name or a list of names.
fn read_names<V: Value>(scalar: &Scalar) -> Result<Vec<String>, Refusal> {
    let named = |item: &Scalar| match item.text()? {
        "" => Err(Refusal::Type),
        name => Ok(name.to_owned()),
    };
    match scalar {
        Scalar::List(items) if items.is_empty() => {
            Err(format!("the list is empty; expected {}", V::expected()).into())
        }
        Scalar::List(items) => items.iter().map(named).collect(),
        scalar => named(scalar).map(|name| vec![name]),
    }
}

fn write_names(names: &[String]) -> Scalar {
    Scalar::List(names.iter().cloned().map(Scalar::Text).collect())
}

/// Distribution of flow sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// A built-in table of measured sizes, by name.
    Table(String),
    /// One size for all flows.
    Fixed(Bytes),
    /// A file with columns `size_bytes,cumulative_percent`, by path.
    File(String),
}

impl Value for Sizes {
    fn expected() -> String {
        "sizes: the name of a table such as \"websearch\", one size such as \"64KiB\", or a path ending in .csv"
            .to_owned()
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        let text = scalar.text()?.trim();
        if text.is_empty() {
            Err(Refusal::Type)
        } else if text.to_ascii_lowercase().ends_with(".csv") {
            Ok(Self::File(text.to_owned()))
        } else if text.starts_with(|c: char| c.is_ascii_digit()) {
            Bytes::read(&Scalar::Text(text.to_owned())).map(Self::Fixed)
        } else {
            Ok(Self::Table(text.to_owned()))
        }
    }

    fn write(&self) -> Scalar {
        match self {
            Self::Table(text) | Self::File(text) => Scalar::Text(text.clone()),
            Self::Fixed(bytes) => bytes.write(),
        }
    }
}

as_value!(Sizes);
