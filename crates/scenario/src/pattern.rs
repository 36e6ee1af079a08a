//! Traffic patterns: pairs of sources and destinations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::HostId;

use crate::name::{Host, Hosts};
use crate::topology::Topology;
use crate::value::{Place, Placed};

/// Pairs of sources and destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Each flow has a random source of `src` and another host of `dst` as destination. Default of both: all
    /// hosts.
    #[default]
    Uniform,
    /// The first host of `src` sends to the first of `dst`, the second to the second, and so on. Default: the
    /// first host sends to the last.
    PointToPoint,
    /// With n hosts in `src` (default: all), the i-th sends to the one n/2 places further on, modulo n.
    Permutation,
    /// Each host of `src` sends to each other host of `dst`. Default of both: all hosts.
    FullMesh,
    /// Each host of `src` (default: all others) sends to the single `dst` (default: the first host).
    Incast,
}

/// A pattern with its hosts, as written in the file.
#[derive(Clone, Copy, Debug)]
pub struct Endpoints<'a> {
    /// The pattern.
    pub pattern: Pattern,
    /// Sources, if given.
    pub src: Option<&'a Placed<Hosts>>,
    /// Destinations, if given.
    pub dst: Option<&'a Placed<Hosts>>,
}

/// Pairs of hosts of a pattern on a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// These pairs of source and destination.
    Listed(Vec<(HostId, HostId)>),
    /// Each source with each destination other than itself: all of them, or for [`Pattern::Uniform`] a random
    /// one per flow.
    Product {
        /// Sources, each once.
        src: Vec<HostId>,
        /// Destinations, each once.
        dst: Vec<HostId>,
    },
}

impl Pairs {
    /// Returns the number of pairs.
    pub fn len(&self) -> u64 {
        match self {
            Self::Listed(pairs) => pairs.len() as u64,
            Self::Product { src, dst } => {
                let receives: std::collections::BTreeSet<_> = dst.iter().collect();
                let themselves = src.iter().filter(|host| receives.contains(host)).count();
                src.len() as u64 * dst.len() as u64 - themselves as u64
            }
        }
    }

    /// Returns whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all pairs, by source first.
    pub fn iter(&self) -> Box<dyn Iterator<Item = (HostId, HostId)> + '_> {
        match self {
            Self::Listed(pairs) => Box::new(pairs.iter().copied()),
            Self::Product { src, dst } => Box::new(
                src.iter().flat_map(|&a| dst.iter().map(move |&b| (a, b))).filter(|(src, dst)| src != dst),
            ),
        }
    }
}

impl<'a> IntoIterator for &'a Pairs {
    type Item = (HostId, HostId);
    type IntoIter = Box<dyn Iterator<Item = (HostId, HostId)> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A reason why parts of a scenario do not fit together, and its place if it is not the whole table.
pub(crate) type CheckError = (Place, String);

impl Endpoints<'_> {
    /// Returns the pairs on `topology`, or the place and reason of an error.
    pub fn pairs(&self, topology: &Topology) -> Result<Pairs, (Place, String)> {
        match self.pattern {
            Pattern::Uniform | Pattern::FullMesh => {
                let src = distinct(given(self.src, topology)?.unwrap_or_else(|| all_hosts(topology)));
                let dst = distinct(given(self.dst, topology)?.unwrap_or_else(|| all_hosts(topology)));
                if let ([src], [dst]) = (&src[..], &dst[..]) {
                    differ(topology, *src, *dst, self.place())?;
                }
                Ok(Pairs::Product { src, dst })
            }
            Pattern::PointToPoint => self.point_to_point(topology),
            Pattern::Permutation => self.permutation(topology),
            Pattern::Incast => self.incast(topology),
        }
    }

    fn point_to_point(&self, topology: &Topology) -> Result<Pairs, CheckError> {
        let src = given(self.src, topology)?.unwrap_or_else(|| vec![HostId(0)]);
        let dst = given(self.dst, topology)?.map_or_else(|| one(topology, &Host::Last), Ok)?;
        if src.len() != dst.len() {
            let why = format!(
                "{} sources and {} destinations; `point-to-point` needs equal numbers",
                src.len(),
                dst.len()
            );
            return Err((self.place(), why));
        }
        let pairs: Vec<_> = src.into_iter().zip(dst).collect();
        pairs.iter().try_for_each(|&(src, dst)| differ(topology, src, dst, self.place()))?;
        Ok(Pairs::Listed(pairs))
    }

    fn permutation(&self, topology: &Topology) -> Result<Pairs, CheckError> {
        if let Some(dst) = self.dst {
            return Err((dst.place, "`permutation` takes no `dst`; set `src` only".to_owned()));
        }
        let src = distinct(given(self.src, topology)?.unwrap_or_else(|| all_hosts(topology)));
        if src.len() < 2 {
            return Err((
                self.place(),
                "one host cannot be permuted; set at least two hosts in `src`".to_owned(),
            ));
        }
        let half = src.len() / 2;
        let dst = (0..src.len()).map(|at| src[(at + half) % src.len()]);
        Ok(Pairs::Listed(src.iter().copied().zip(dst).collect()))
    }

    fn incast(&self, topology: &Topology) -> Result<Pairs, CheckError> {
        let dst = distinct(given(self.dst, topology)?.unwrap_or_else(|| vec![HostId(0)]));
        let [dst] = dst[..] else {
            let why = format!("{} destinations; `incast` has one `dst`", dst.len());
            return Err((self.place(), why));
        };
        let src = match given(self.src, topology)? {
            Some(src) => distinct(src),
            None => all_hosts(topology).into_iter().filter(|host| *host != dst).collect(),
        };
        src.iter().try_for_each(|&src| differ(topology, src, dst, self.place()))?;
        Ok(Pairs::Product { src, dst: vec![dst] })
    }

    /// Returns the place of an error that concerns both ends.
    fn place(&self) -> Place {
        self.dst.or(self.src).map_or(Place(None), |hosts| hosts.place)
    }
}

fn given(hosts: Option<&Placed<Hosts>>, topology: &Topology) -> Result<Option<Vec<HostId>>, CheckError> {
    hosts.map(|hosts| topology.hosts(hosts).map_err(|why| (hosts.place, why))).transpose()
}

fn all_hosts(topology: &Topology) -> Vec<HostId> {
    (0..topology.host_count()).map(HostId).collect()
}

fn one(topology: &Topology, host: &Host) -> Result<Vec<HostId>, CheckError> {
    topology.host(host).map(|host| vec![host]).map_err(|why| (Place(None), why))
}

/// Removes repeated hosts.
fn distinct(hosts: Vec<HostId>) -> Vec<HostId> {
    let mut seen = std::collections::BTreeSet::new();
    hosts.into_iter().filter(|host| seen.insert(*host)).collect()
}

/// Checks that a host does not send to itself.
pub(crate) fn differ(topology: &Topology, src: HostId, dst: HostId, place: Place) -> Result<(), CheckError> {
    if src == dst {
        let name = topology.host_name(src);
        return Err((place, format!("`{name}` would send to itself; `src` and `dst` must differ")));
    }
    Ok(())
}
