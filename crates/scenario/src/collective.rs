//! Collective operations of groups of hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::{Bytes, HostId};

use crate::name::{HostRange, Hosts};
use crate::pattern::CheckError;
use crate::quantity::Within;
use crate::topology::Topology;
use crate::value::{self, Place, Placed, Refusal, Scalar, SchemaOf, Value, as_value};

/// Parameters of [`App::Allreduce`](crate::App::Allreduce).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllReduce {
    /// Bytes of each member's input; the result, the sum over all members, has the same size.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Bytes>")]
    pub bytes: Bytes,
    /// Communication algorithm.
    #[serde(default)]
    pub algorithm: Algorithm,
    /// Number of repetitions; a host starts the next one when it has all data of the last.
    #[serde(default = "once")]
    pub iterations: Within<u32, 1, 1_000_000>,
    /// Number of groups, or the members of each group.
    #[serde(default)]
    pub groups: Placed<Groups>,
    /// Assignment of hosts to groups, if `groups` is a number.
    #[serde(default)]
    pub placement: Placement,
    /// Hosts that are divided into groups. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Placed<Hosts>>,
}

/// Parameters of [`App::Alltoall`](crate::App::Alltoall).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllToAll {
    /// Bytes of each member's input; each member, itself included, gets an equal part.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Bytes>")]
    pub bytes: Bytes,
    /// Number of repetitions; a host starts the next one when it has all data of the last.
    #[serde(default = "once")]
    pub iterations: Within<u32, 1, 1_000_000>,
    /// Number of groups, or the members of each group.
    #[serde(default)]
    pub groups: Placed<Groups>,
    /// Assignment of hosts to groups, if `groups` is a number.
    #[serde(default)]
    pub placement: Placement,
    /// Hosts that are divided into groups. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Placed<Hosts>>,
}

fn once() -> Within<u32, 1, 1_000_000> {
    Within::fixed(1)
}

/// Communication algorithm of an all-reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Each member sends to the next in 2(n − 1) steps of 1/n of the bytes: a reduce-scatter, then an
    /// all-gather.
    #[default]
    Ring,
    /// Recursive halving and doubling: pairs exchange half of the data, then a quarter and so on, and the
    /// results in reverse order, in 2 log₂ n steps (Thakur, Rabenseifner and Gropp, 2005). For groups of 2,
    /// 4, 8, … members.
    HalvingDoubling,
}

/// Assignment of hosts to groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Consecutive hosts form a group.
    #[default]
    Consecutive,
    /// With g groups, every g-th host belongs to the same group.
    Strided,
}

/// Groups of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Groups {
    /// This number of groups of equal size.
    Count(u32),
    /// The members of each group.
    Listed(Vec<Hosts>),
}

impl Default for Groups {
    fn default() -> Self {
        Self::Count(1)
    }
}

impl Value for Groups {
    fn expected() -> String {
        "a number of groups, or a list with the members of each such as [\"h0..h3\", \"h4, h6, h8..h9\"]"
            .to_owned()
    }

    fn types() -> &'static [&'static str] {
        &["integer", "array"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        match scalar {
            Scalar::Integer(count @ 1..=65_536) => Ok(Self::Count(*count as u32)),
            Scalar::Integer(count) => {
                Err(format!("{count} groups; expected 1 to 65536, or the members of each").into())
            }
            Scalar::List(groups) if groups.is_empty() => {
                Err(format!("the list is empty; expected {}", Self::expected()).into())
            }
            Scalar::List(groups) => groups.iter().map(members).collect::<Result<_, _>>().map(Self::Listed),
            _ => Err(Refusal::Type),
        }
    }

    fn write(&self) -> Scalar {
        match self {
            Self::Count(count) => Scalar::Integer((*count).into()),
            Self::Listed(groups) => Scalar::List(groups.iter().map(text).collect()),
        }
    }
}

as_value!(Groups);

/// Parses the members of a group: `h0..h3, h8`.
fn members(scalar: &Scalar) -> Result<Hosts, Refusal> {
    let one = |text: &str| HostRange::read(&Scalar::Text(text.trim().to_owned()));
    scalar.text()?.split(',').map(one).collect::<Result<_, _>>().map(Hosts::Ranges)
}

fn text(hosts: &Hosts) -> Scalar {
    let Hosts::Ranges(ranges) = hosts else { return Scalar::Text("all".to_owned()) };
    let one = |range: &HostRange| match range.write() {
        Scalar::Text(text) => text,
        Scalar::Integer(number) => number.to_string(),
        _ => unreachable!("a range is a text or a number"),
    };
    Scalar::Text(ranges.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// The groups of a collective, as written in the file.
#[derive(Clone, Copy, Debug)]
pub struct Members<'a> {
    groups: &'a Placed<Groups>,
    placement: Placement,
    hosts: Option<&'a Placed<Hosts>>,
}

impl AllReduce {
    /// Returns the groups of this collective.
    pub fn members(&self) -> Members<'_> {
        Members { groups: &self.groups, placement: self.placement, hosts: self.hosts.as_ref() }
    }

    pub(crate) fn check(&self, topology: &Topology) -> Result<(), CheckError> {
        let groups = self.members().resolve(topology)?;
        if self.algorithm == Algorithm::HalvingDoubling
            && let Some(odd) = groups.iter().find(|group| !group.len().is_power_of_two())
        {
            let why = format!(
                "halving-doubling needs 2, 4, 8, … members, and a group has {}; use algorithm = \"ring\"",
                odd.len()
            );
            return Err((self.groups.place, why));
        }
        let parts = match self.algorithm {
            Algorithm::Ring => groups.iter().map(Vec::len).min().unwrap_or(2) as u64,
            Algorithm::HalvingDoubling => 2,
        };
        check_part(self.bytes, parts)
    }
}

impl AllToAll {
    /// Returns the groups of this collective.
    pub fn members(&self) -> Members<'_> {
        Members { groups: &self.groups, placement: self.placement, hosts: self.hosts.as_ref() }
    }

    pub(crate) fn check(&self, topology: &Topology) -> Result<(), CheckError> {
        let groups = self.members().resolve(topology)?;
        check_part(self.bytes, groups.iter().map(Vec::len).min().unwrap_or(2) as u64)
    }
}

/// Checks that each part fits in one message (IBA 9.7.1).
fn check_part(bytes: Bytes, parts: u64) -> Result<(), CheckError> {
    const LONGEST: u64 = 1 << 31;
    let part = bytes.get().div_ceil(parts);
    if part > LONGEST {
        let why = format!("{bytes} needs messages of {}; at most 2GiB each", Bytes::new(part));
        return Err((Place(None), why));
    }
    Ok(())
}

impl Members<'_> {
    /// Returns the members of each group on `topology`, or the place and reason of an error.
    pub fn resolve(&self, topology: &Topology) -> Result<Vec<Vec<HostId>>, (Place, String)> {
        let groups = match &self.groups.value {
            Groups::Count(count) => self.divided(topology, *count as usize)?,
            Groups::Listed(groups) => {
                if let Some(hosts) = self.hosts {
                    let why = "`groups` lists all members; remove `hosts`";
                    return Err((hosts.place, why.to_owned()));
                }
                let resolved = |hosts: &Hosts| topology.hosts(hosts).map_err(|why| (self.groups.place, why));
                groups.iter().map(resolved).collect::<Result<Vec<_>, _>>()?
            }
        };
        let at_groups = |why: String| Err((self.groups.place, why));
        if groups.iter().any(|group| group.len() < 2) {
            return at_groups("a group has only one member; give each group at least two".to_owned());
        }
        let mut seen = std::collections::BTreeSet::new();
        match groups.iter().flatten().find(|host| !seen.insert(**host)) {
            Some(twice) => at_groups(format!(
                "`{}` is listed twice; a host belongs to one group",
                topology.host_name(*twice)
            )),
            None => Ok(groups),
        }
    }

    fn divided(&self, topology: &Topology, count: usize) -> Result<Vec<Vec<HostId>>, CheckError> {
        let hosts = match self.hosts {
            Some(hosts) => topology.hosts(hosts).map_err(|why| (hosts.place, why))?,
            None => (0..topology.host_count()).map(HostId).collect(),
        };
        if !hosts.len().is_multiple_of(count) || hosts.len() < 2 * count {
            return Err((self.groups.place, indivisible(hosts.len(), count)));
        }
        let size = hosts.len() / count;
        let member = |group: usize, number: usize| match self.placement {
            Placement::Consecutive => hosts[group * size + number],
            Placement::Strided => hosts[number * count + group],
        };
        Ok((0..count).map(|group| (0..size).map(|number| member(group, number)).collect()).collect())
    }
}

/// Explains that `hosts` hosts do not form `count` equal groups, and suggests numbers that work.
fn indivisible(hosts: usize, count: usize) -> String {
    let fits = |groups: &usize| hosts.is_multiple_of(*groups) && hosts >= 2 * groups;
    let below = (1..count).rev().find(fits);
    let above = (count + 1..=hosts / 2).find(fits);
    let groups = match (below, above) {
        (Some(below), Some(above)) => format!("give {below} or {above} groups"),
        (Some(one), None) | (None, Some(one)) => format!("give {one}"),
        (None, None) => "give each group at least two hosts".to_owned(),
    };
    let whole = hosts / count * count;
    let fewer =
        if whole >= 2 * count { format!(", or name {whole} of them in `hosts`") } else { String::new() };
    format!("{count} groups of equal size are impossible with {hosts} hosts; {groups}{fewer}")
}
