//! Who sends to whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::HostId;

use crate::name::{Host, Hosts};
use crate::topology::Topology;
use crate::value::{Place, Placed};

/// Who sends to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Each flow is between two different hosts at random, one of `src` and one of `dst`; both are all hosts unless
    /// given.
    #[default]
    Uniform,
    /// The first of `src` to the first of `dst`, the second to the second, and so on; from the first host to the
    /// last one unless given.
    PointToPoint,
    /// With n hosts in `src` (all unless given), the i-th to the one n/2 places further on, around the end.
    Permutation,
    /// Each of `src` to each other one of `dst`; both are all hosts unless given.
    FullMesh,
    /// Each of `src` (all others unless given) to the single `dst` (the first host unless given).
    Incast,
}

/// A pattern with the hosts it applies to, as the file has them.
#[derive(Clone, Copy, Debug)]
pub struct Endpoints<'a> {
    /// The pattern.
    pub pattern: Pattern,
    /// Sources, if given.
    pub src: Option<&'a Placed<Hosts>>,
    /// Destinations, if given.
    pub dst: Option<&'a Placed<Hosts>>,
}

/// The pairs of hosts that a pattern means on a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Exactly these pairs of source and destination.
    Listed(Vec<(HostId, HostId)>),
    /// Each source with each destination other than itself: all of them, or for [`Pattern::Uniform`] a random one
    /// for each flow.
    Product {
        /// Sources, each once.
        src: Vec<HostId>,
        /// Destinations, each once.
        dst: Vec<HostId>,
    },
}

impl Pairs {
    /// How many pairs there are.
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

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All pairs, sources first, in order.
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

/// What is wrong with the endpoints, and where, if not with the table as a whole.
pub(crate) type Misfit = (Place, String);

impl Endpoints<'_> {
    /// The pairs that are meant on `topology`, or where the file is wrong and how.
    pub fn pairs(&self, topology: &Topology) -> Result<Pairs, (Place, String)> {
        match self.pattern {
            Pattern::Uniform | Pattern::FullMesh => {
                let src = distinct(given(self.src, topology)?.unwrap_or_else(|| everyone(topology)));
                let dst = distinct(given(self.dst, topology)?.unwrap_or_else(|| everyone(topology)));
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

    fn point_to_point(&self, topology: &Topology) -> Result<Pairs, Misfit> {
        let src = given(self.src, topology)?.unwrap_or_else(|| vec![HostId(0)]);
        let dst = given(self.dst, topology)?.map_or_else(|| one(topology, &Host::Last), Ok)?;
        if src.len() != dst.len() {
            let why = format!(
                "{} sources and {} destinations; `point-to-point` needs as many of each",
                src.len(),
                dst.len()
            );
            return Err((self.place(), why));
        }
        let pairs: Vec<_> = src.into_iter().zip(dst).collect();
        pairs.iter().try_for_each(|&(src, dst)| differ(topology, src, dst, self.place()))?;
        Ok(Pairs::Listed(pairs))
    }

    fn permutation(&self, topology: &Topology) -> Result<Pairs, Misfit> {
        if let Some(dst) = self.dst {
            return Err((dst.place, "`permutation` takes no `dst`; give `src` only".to_owned()));
        }
        let src = distinct(given(self.src, topology)?.unwrap_or_else(|| everyone(topology)));
        if src.len() < 2 {
            return Err((
                self.place(),
                "one host cannot be permuted; give at least two hosts in `src`".to_owned(),
            ));
        }
        let half = src.len() / 2;
        let dst = (0..src.len()).map(|at| src[(at + half) % src.len()]);
        Ok(Pairs::Listed(src.iter().copied().zip(dst).collect()))
    }

    fn incast(&self, topology: &Topology) -> Result<Pairs, Misfit> {
        let dst = distinct(given(self.dst, topology)?.unwrap_or_else(|| vec![HostId(0)]));
        let [dst] = dst[..] else {
            let why = format!("{} destinations; `incast` has one `dst`", dst.len());
            return Err((self.place(), why));
        };
        let src = match given(self.src, topology)? {
            Some(src) => distinct(src),
            None => everyone(topology).into_iter().filter(|host| *host != dst).collect(),
        };
        src.iter().try_for_each(|&src| differ(topology, src, dst, self.place()))?;
        Ok(Pairs::Product { src, dst: vec![dst] })
    }

    /// Where to point when both ends are wrong together.
    fn place(&self) -> Place {
        self.dst.or(self.src).map_or(Place(None), |hosts| hosts.place)
    }
}

fn given(hosts: Option<&Placed<Hosts>>, topology: &Topology) -> Result<Option<Vec<HostId>>, Misfit> {
    hosts.map(|hosts| topology.hosts(hosts).map_err(|why| (hosts.place, why))).transpose()
}

fn everyone(topology: &Topology) -> Vec<HostId> {
    (0..topology.host_count()).map(HostId).collect()
}

fn one(topology: &Topology, host: &Host) -> Result<Vec<HostId>, Misfit> {
    topology.host(host).map(|host| vec![host]).map_err(|why| (Place(None), why))
}

/// Each host once, at its first mention.
fn distinct(hosts: Vec<HostId>) -> Vec<HostId> {
    let mut seen = std::collections::BTreeSet::new();
    hosts.into_iter().filter(|host| seen.insert(*host)).collect()
}

/// A host does not send to itself.
pub(crate) fn differ(topology: &Topology, src: HostId, dst: HostId, place: Place) -> Result<(), Misfit> {
    if src == dst {
        let name = topology.host_name(src);
        return Err((place, format!("`{name}` would send to itself; `src` and `dst` are different hosts")));
    }
    Ok(())
}
