//! Collective operations: what groups of hosts do together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::{Bytes, HostId};

use crate::name::{HostRange, Hosts};
use crate::pattern::Misfit;
use crate::quantity::Within;
use crate::topology::Topology;
use crate::value::{self, Place, Placed, Refusal, Scalar, Shown, Value, as_value};

/// Parameters of [`App::Allreduce`](crate::App::Allreduce).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllReduce {
    /// What each member has: so many bytes are summed over all members.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Bytes>")]
    pub bytes: Bytes,
    /// Who sends what when.
    #[serde(default)]
    pub algorithm: Algorithm,
    /// How often; each host begins the next time when it has all data of the last.
    #[serde(default = "once")]
    pub iterations: Within<u32, 1, 1_000_000>,
    /// Who works together: the number of groups, or the members of each.
    #[serde(default)]
    pub groups: Placed<Groups>,
    /// How a number of groups is filled.
    #[serde(default)]
    pub placement: Placement,
    /// Hosts that are divided into groups; if left out, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Placed<Hosts>>,
}

/// Parameters of [`App::Alltoall`](crate::App::Alltoall).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllToAll {
    /// What each member has: an equal part of it for each member, itself included.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Bytes>")]
    pub bytes: Bytes,
    /// How often; each host begins the next time when it has all data of the last.
    #[serde(default = "once")]
    pub iterations: Within<u32, 1, 1_000_000>,
    /// Who works together: the number of groups, or the members of each.
    #[serde(default)]
    pub groups: Placed<Groups>,
    /// How a number of groups is filled.
    #[serde(default)]
    pub placement: Placement,
    /// Hosts that are divided into groups; if left out, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Placed<Hosts>>,
}

fn once() -> Within<u32, 1, 1_000_000> {
    Within::fixed(1)
}

/// How the members of a group sum what they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Each member sends to the next, in 2(n − 1) steps of 1/n of the bytes: first sums go round, then results.
    #[default]
    Ring,
    /// Pairs exchange half of what they are left with, then a quarter and so on, and results the same way back: 2 log₂ n steps
    /// (Thakur, Rabenseifner and Gropp, 2005). For groups of 2, 4, 8, … members.
    HalvingDoubling,
}

/// Which hosts make a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Hosts that follow each other.
    #[default]
    Consecutive,
    /// With g groups, every g-th host.
    Strided,
}

/// Groups of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Groups {
    /// So many, all of one size.
    Count(u32),
    /// Each by its members.
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

/// `h0..h3, h8`: the members of a group.
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

/// The groups of a collective, as the file has them.
#[derive(Clone, Copy, Debug)]
pub struct Members<'a> {
    groups: &'a Placed<Groups>,
    placement: Placement,
    hosts: Option<&'a Placed<Hosts>>,
}

impl AllReduce {
    /// Who works together.
    pub fn members(&self) -> Members<'_> {
        Members { groups: &self.groups, placement: self.placement, hosts: self.hosts.as_ref() }
    }

    pub(crate) fn check(&self, topology: &Topology) -> Result<(), Misfit> {
        let groups = self.members().of(topology)?;
        if self.algorithm == Algorithm::HalvingDoubling
            && let Some(odd) = groups.iter().find(|group| !group.len().is_power_of_two())
        {
            let why = format!(
                "halving and doubling needs 2, 4, 8, … members, and a group has {}; use algorithm = \"ring\"",
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
    /// Who works together.
    pub fn members(&self) -> Members<'_> {
        Members { groups: &self.groups, placement: self.placement, hosts: self.hosts.as_ref() }
    }

    pub(crate) fn check(&self, topology: &Topology) -> Result<(), Misfit> {
        let groups = self.members().of(topology)?;
        check_part(self.bytes, groups.iter().map(Vec::len).min().unwrap_or(2) as u64)
    }
}

/// What is sent at once is a message (IBA 9.7.1).
fn check_part(bytes: Bytes, parts: u64) -> Result<(), Misfit> {
    const LONGEST: u64 = 1 << 31;
    let part = bytes.get().div_ceil(parts);
    if part > LONGEST {
        let why = format!("{bytes} are sent in messages of {}; at most 2GiB each", Bytes::new(part));
        return Err((Place(None), why));
    }
    Ok(())
}

impl Members<'_> {
    /// The members of each group on `topology`, or where the file is wrong and how.
    pub fn of(&self, topology: &Topology) -> Result<Vec<Vec<HostId>>, (Place, String)> {
        let groups = match &self.groups.value {
            Groups::Count(count) => self.divided(topology, *count as usize)?,
            Groups::Listed(groups) => {
                if let Some(hosts) = self.hosts {
                    let why = "the members of all groups are listed; leave out `hosts`";
                    return Err((hosts.place, why.to_owned()));
                }
                let of = |hosts: &Hosts| topology.hosts(hosts).map_err(|why| (self.groups.place, why));
                groups.iter().map(of).collect::<Result<Vec<_>, _>>()?
            }
        };
        let at_groups = |why: String| Err((self.groups.place, why));
        if groups.iter().any(|group| group.len() < 2) {
            return at_groups(
                "a group of one has nobody to talk to; give each at least two members".to_owned(),
            );
        }
        let mut seen = std::collections::BTreeSet::new();
        match groups.iter().flatten().find(|host| !seen.insert(**host)) {
            Some(twice) => {
                at_groups(format!("`{}` is named twice; a host is in one group", topology.host_name(*twice)))
            }
            None => Ok(groups),
        }
    }

    fn divided(&self, topology: &Topology, count: usize) -> Result<Vec<Vec<HostId>>, Misfit> {
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

/// That so many hosts are not so many groups, and what would be.
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
    format!("{count} groups of equal size cannot be made of {hosts} hosts; {groups}{fewer}")
}
