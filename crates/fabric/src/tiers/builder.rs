//! Construction and validation of a fabric in tiers.

use std::collections::{BTreeMap, BTreeSet};

use wiremend_units::{LinkId, Rate, SwitchId};

use super::error::TiersFault;
use super::link_service::MinLinks;
use super::network::{Constraints, TierLink, Tiers};
use crate::builder::{LINKS_MAX, NAME_BYTES_MAX, NODES_MAX};
use crate::names::Names;

/// Maximum number of tiers.
pub const TIERS_MAX: usize = 16;
/// Maximum number of paths of a switch to the top tier.
pub const PATHS_MAX: u64 = 1 << 40;
/// Maximum sum of the rates of all links, in bit/s.
pub(super) const RATES_MAX: u64 = 1 << 63;
/// Maximum rate of a link in Gb/s.
pub(super) const GBPS_MAX: u64 = 100_000;

/// Builder of a fabric. Switches and links are numbered in the order in which they are added.
#[derive(Debug, Default)]
pub struct TiersBuilder {
    names: Names,
    by_name: BTreeMap<String, u32>,
    levels: Vec<u32>,
    pods: Vec<u32>,
    pod_names: Names,
    pod_by_name: BTreeMap<String, u32>,
    links: Vec<TierLink>,
    ports: Names,
    used: BTreeMap<(u32, String), u32>,
    has_ports: bool,
    cables: Vec<u32>,
    cable_by_name: BTreeMap<String, u32>,
    next_cable: u32,
    /// Links of each LAG by their lower and upper switch and the name of the LAG.
    lags: BTreeMap<(u32, u32, String), Vec<LinkId>>,
    min_links: Vec<([u32; 2], String, u32)>,
    constraints: Vec<(ConstraintScope, String, f64)>,
    unused_ports: BTreeSet<(u32, String)>,
}

/// What a constraint of a file applies to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConstraintScope {
    /// A ToR.
    Tor,
    /// A pod and its ToRs.
    Pod,
}

/// A part of a description, by its order among parts of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Item {
    Switch(usize),
    MinLinks(usize),
    Constraint(usize),
}

/// A fabric, and the parts of its description that it does not have.
pub(super) struct BuiltTiers {
    pub(super) tiers: Tiers,
    pub(super) faults: Vec<(Item, TiersFault)>,
}

/// A link given by names; its ends may be in either order.
#[derive(Clone, Copy, Debug)]
pub struct NamedTierLink<'a> {
    /// Switch and port of each end.
    pub ends: [(&'a str, &'a str); 2],
    /// Rate of each direction.
    pub rate: Rate,
    /// LAG; the links between two switches with one name form one LAG.
    pub lag: Option<&'a str>,
    /// Cable; links of one cable are repaired together.
    pub cable: Option<&'a str>,
}

impl TiersBuilder {
    /// Adds a switch. Levels order the tiers; ToRs have the lowest level.
    pub fn switch(&mut self, name: &str, level: u32, pod: Option<&str>) -> Result<SwitchId, TiersFault> {
        check_name("switch", name)?;
        if self.levels.len() as u64 >= NODES_MAX {
            return Err(TiersFault::TooMany { what: "switches", max: NODES_MAX });
        }
        let number = self.levels.len() as u32;
        if self.by_name.insert(name.to_owned(), number).is_some() {
            return Err(TiersFault::SwitchTwice(name.to_owned()));
        }
        let pod = match pod {
            Some(pod) => {
                check_name("pod", pod)?;
                self.pod_number(pod)
            }
            None => u32::MAX,
        };
        self.names.push(name);
        self.levels.push(level);
        self.pods.push(pod);
        Ok(SwitchId(number))
    }

    /// Adds a switch whose name is valid and unique.
    pub(super) fn add_checked_switch(&mut self, name: &str, level: u32, pod: Option<u32>) -> SwitchId {
        self.names.push(name);
        self.levels.push(level);
        self.pods.push(pod.unwrap_or(u32::MAX));
        SwitchId(self.levels.len() as u32 - 1)
    }

    /// Adds a pod with a new name.
    pub(super) fn add_checked_pod(&mut self, name: &str) -> u32 {
        self.pod_names.push(name);
        self.pod_names.len() as u32 - 1
    }

    /// Adds a link between existing switches, without port names.
    pub(super) fn add_checked_link(&mut self, lower: SwitchId, upper: SwitchId, rate: Rate) {
        self.links.push(TierLink { lower, upper, rate });
        self.cables.push(self.next_cable);
        self.next_cable += 1;
    }

    /// Adds a link between two existing switches.
    pub fn link(&mut self, named: &NamedTierLink<'_>) -> Result<LinkId, TiersFault> {
        let number = self.links.len() as u32;
        if u64::from(number) >= LINKS_MAX {
            return Err(TiersFault::TooMany { what: "links", max: LINKS_MAX });
        }
        let [a, b] = named.ends;
        let (a_switch, b_switch) = (self.known(a.0)?, self.known(b.0)?);
        for port in [a.1, b.1] {
            check_name("port", port)?;
        }
        let (a_level, b_level) = (self.levels[a_switch as usize], self.levels[b_switch as usize]);
        if a_level == b_level {
            for (switch, port) in [(a_switch, a.1), (b_switch, b.1)] {
                self.unused_ports.insert((switch, port.to_owned()));
            }
            return Err(TiersFault::SameTier { a: a.0.to_owned(), b: b.0.to_owned() });
        }
        let ends = [(a_switch, a), (b_switch, b)];
        for (switch, (name, port)) in ends {
            if let Some(first) = self.used.get(&(switch, port.to_owned())).copied() {
                return Err(TiersFault::PortTwice { switch: name.to_owned(), port: port.to_owned(), first });
            }
        }
        let cable = self.cable(named.cable)?;
        if let Some(lag) = named.lag {
            check_name("LAG", lag)?;
            let ends = if a_level < b_level { (a_switch, b_switch) } else { (b_switch, a_switch) };
            self.lags.entry((ends.0, ends.1, lag.to_owned())).or_default().push(LinkId(number));
        }
        for (switch, (_, port)) in ends {
            self.used.insert((switch, port.to_owned()), number);
        }
        let ((lower, low), (upper, high)) = if a_level < b_level {
            ((a_switch, a.1), (b_switch, b.1))
        } else {
            ((b_switch, b.1), (a_switch, a.1))
        };
        self.has_ports = true;
        self.ports.push(low);
        self.ports.push(high);
        self.links.push(TierLink { lower: SwitchId(lower), upper: SwitchId(upper), rate: named.rate });
        self.cables.push(cable);
        Ok(LinkId(number))
    }

    /// Sets the number of links in service below which a LAG between two switches is down as a whole.
    pub fn min_links(&mut self, ends: [&str; 2], lag: &str, min: u32) -> Result<(), TiersFault> {
        let ends = [self.known(ends[0])?, self.known(ends[1])?];
        self.min_links.push((ends, lag.to_owned(), min));
        Ok(())
    }

    /// Sets the share of its capacity that a ToR or a pod must keep, above 0 and at most 1.
    pub fn constraint(&mut self, scope: ConstraintScope, name: &str, share: f64) {
        self.constraints.push((scope, name.to_owned(), share));
    }

    /// Builds and validates the fabric.
    pub fn build(self) -> Result<Tiers, TiersFault> {
        let BuiltTiers { tiers, faults } = self.build_with_faults()?;
        faults.into_iter().next().map_or(Ok(tiers), |(_, fault)| Err(fault))
    }

    /// Builds the fabric without the parts that are invalid.
    pub(super) fn build_with_faults(mut self) -> Result<BuiltTiers, TiersFault> {
        if self.levels.is_empty() || self.links.is_empty() {
            return Err(TiersFault::Empty);
        }
        let tiers = tier_numbers(&self.levels)?;
        self.add_default_pods();
        let twice = self.names.sort().map(str::to_owned);
        if let Some(name) = twice {
            return Err(TiersFault::SwitchTwice(name));
        }
        let (incident, neighbours, starts) = links_by_switch(&self.links, tiers.len());
        let tors = (0..tiers.len() as u32).filter(|switch| tiers[*switch as usize] == 0).map(SwitchId);
        let mut faults = Vec::new();
        let min_links = self.take_min_links(&mut faults);
        let mut tiers = Tiers {
            tors: tors.collect(),
            names: self.names,
            ranks: tiers,
            pods: self.pods,
            pod_names: self.pod_names,
            links: self.links,
            ports: self.has_ports.then_some(self.ports),
            cables: self.cables,
            incident,
            neighbours,
            starts,
            min_links,
            constraints: Constraints::default(),
            unused_ports: self.unused_ports,
        };
        check_rates(&tiers)?;
        remove_unconnected_tors(&mut tiers, &mut faults)?;
        set_constraints(&mut tiers, &self.constraints, &mut faults);
        Ok(BuiltTiers { tiers, faults })
    }

    /// Returns the LAGs with a minimum of more than one link.
    fn take_min_links(&mut self, faults: &mut Vec<(Item, TiersFault)>) -> MinLinks {
        let mut min_links = MinLinks::default();
        for (number, ([a, b], lag, min)) in std::mem::take(&mut self.min_links).into_iter().enumerate() {
            let found = [(a, b), (b, a)]
                .into_iter()
                .find_map(|(lower, upper)| self.lags.remove(&(lower, upper, lag.clone())));
            let Some(members) = found else {
                faults.push((Item::MinLinks(number), TiersFault::UnknownLag(lag)));
                continue;
            };
            let count = members.len() as u32;
            if min > count {
                faults.push((Item::MinLinks(number), TiersFault::MinLinks { lag, min, links: count }));
            }
            if min > 1 {
                min_links.lag_of.resize(self.links.len(), u32::MAX);
                for member in &members {
                    min_links.lag_of[member.index()] = min_links.lags.len() as u32;
                }
                // A LAG with all its links in service is up.
                min_links.lags.push((members, min.min(count)));
            }
        }
        min_links
    }

    fn known(&self, name: &str) -> Result<u32, TiersFault> {
        self.by_name.get(name).copied().ok_or_else(|| TiersFault::UnknownSwitch(name.to_owned()))
    }

    fn pod_number(&mut self, name: &str) -> u32 {
        if let Some(known) = self.pod_by_name.get(name) {
            return *known;
        }
        let number = self.add_checked_pod(name);
        self.pod_by_name.insert(name.to_owned(), number);
        number
    }

    fn cable(&mut self, name: Option<&str>) -> Result<u32, TiersFault> {
        let next = self.next_cable;
        let number = match name {
            None => next,
            Some(name) => {
                check_name("cable", name)?;
                *self.cable_by_name.entry(name.to_owned()).or_insert(next)
            }
        };
        self.next_cable += u32::from(number == next);
        Ok(number)
    }

    /// Makes each switch without a pod below the top tier a pod of its own.
    fn add_default_pods(&mut self) {
        let top = self.levels.iter().copied().max().unwrap_or(0);
        for switch in 0..self.levels.len() {
            if self.pods[switch] == u32::MAX && self.levels[switch] < top {
                let name = self.names.get(switch).to_owned();
                self.pods[switch] = self.add_checked_pod(&name);
            }
        }
        for pod in &mut self.pods {
            if *pod == u32::MAX {
                *pod = self.pod_names.len() as u32;
            }
        }
    }
}

/// Returns the tier of each level, numbered without gaps.
fn tier_numbers(levels: &[u32]) -> Result<Vec<u8>, TiersFault> {
    let mut distinct = levels.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() > TIERS_MAX {
        return Err(TiersFault::TooMany { what: "tiers", max: TIERS_MAX as u64 });
    }
    let rank = |level: &u32| distinct.binary_search(level).expect("every level is in the list") as u8;
    Ok(levels.iter().map(rank).collect())
}

/// Returns the links of each switch, those below before those above, their other ends, and their start
/// positions.
fn links_by_switch(links: &[TierLink], switches: usize) -> (Vec<LinkId>, Vec<SwitchId>, Vec<(u32, u32)>) {
    let mut counts = vec![(0_u32, 0_u32); switches];
    for link in links {
        counts[link.upper.index()].0 += 1;
        counts[link.lower.index()].1 += 1;
    }
    let mut starts = Vec::with_capacity(switches + 1);
    let mut at = 0;
    for (below, above) in &counts {
        starts.push((at, at + below));
        at += below + above;
    }
    starts.push((at, at));
    let mut next = starts.clone();
    let mut incident = vec![LinkId(0); 2 * links.len()];
    let mut neighbours = vec![SwitchId(0); 2 * links.len()];
    for (link, ends) in links.iter().enumerate() {
        let below = &mut next[ends.upper.index()].0;
        incident[*below as usize] = LinkId(link as u32);
        neighbours[*below as usize] = ends.lower;
        *below += 1;
        let above = &mut next[ends.lower.index()].1;
        incident[*above as usize] = LinkId(link as u32);
        neighbours[*above as usize] = ends.upper;
        *above += 1;
    }
    (incident, neighbours, starts)
}

/// Checks that sums of rates fit into 64 bits.
fn check_rates(tiers: &Tiers) -> Result<(), TiersFault> {
    let sum: u128 = tiers.links.iter().map(|link| u128::from(link.rate.bits_per_s())).sum();
    if sum > u128::from(RATES_MAX) { Err(TiersFault::TooMuchRate) } else { Ok(()) }
}

/// Removes switches of the lowest tier without a path to the top tier from the ToRs.
fn remove_unconnected_tors(
    tiers: &mut Tiers,
    faults: &mut Vec<(Item, TiersFault)>,
) -> Result<(), TiersFault> {
    let counts = super::path_counts::all_up(tiers).ok_or(TiersFault::TooManyPaths)?;
    let (tors, unconnected): (Vec<_>, Vec<_>) = tiers.tors.iter().partition(|tor| counts[tor.index()] > 0);
    for tor in unconnected {
        let name = tiers.name(tor).to_owned();
        let fault = if tiers.links_above(tor).is_empty() {
            TiersFault::NoUplinks(name)
        } else {
            TiersFault::NoPathUp(name)
        };
        faults.push((Item::Switch(tor.index()), fault));
    }
    tiers.tors = tors;
    match &faults[..] {
        [(_, fault), ..] if tiers.tors.is_empty() => Err(fault.clone()),
        _ => Ok(()),
    }
}

fn set_constraints(
    tiers: &mut Tiers,
    given: &[(ConstraintScope, String, f64)],
    faults: &mut Vec<(Item, TiersFault)>,
) {
    let mut constraints = Constraints::default();
    for (number, (scope, name, share)) in given.iter().enumerate() {
        let shown = crate::csv_line::excerpt(name);
        let fault = match scope {
            ConstraintScope::Tor => match tiers.tor_by_name(name) {
                Some(tor) => {
                    let stricter = constraints.tors.get(&tor).map_or(*share, |known| known.max(*share));
                    constraints.tors.insert(tor, stricter).map(|_| TiersFault::ConstraintTwice(shown))
                }
                None => Some(TiersFault::UnknownTor(shown)),
            },
            ConstraintScope::Pod => match tiers.pod_by_name(name) {
                Some(pod) => {
                    let stricter = constraints.pods.get(&pod).map_or(*share, |known| known.max(*share));
                    constraints.pods.insert(pod, stricter).map(|_| TiersFault::ConstraintTwice(shown))
                }
                None => Some(TiersFault::UnknownPod(shown)),
            },
        };
        faults.extend(fault.map(|fault| (Item::Constraint(number), fault)));
    }
    tiers.constraints = constraints;
}

fn check_name(what: &'static str, name: &str) -> Result<(), TiersFault> {
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && c != ',' && c != '"';
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_plain) {
        return Err(TiersFault::BadName { what, name: crate::csv_line::excerpt(name) });
    }
    Ok(())
}
