//! Small random fabrics with unequal rates, LAGs with a minimum of links, and constraints, and their
//! bandwidths by enumeration.

use std::fmt::Write as _;

use proptest::prelude::*;
use wiremend_fabric::tiers::{Scope, Tiers};
use wiremend_fleet::CapacityCount;
use wiremend_units::SwitchId;

use super::path_count;

const GBPS: [u32; 4] = [40, 100, 200, 400];

/// A fabric in CSV, with what a plain program needs to know about its LAGs.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    pub(crate) text: String,
    /// Members of each LAG and its minimum.
    pub(crate) lags: Vec<(Vec<usize>, usize)>,
    /// Cable of each link.
    pub(crate) cables: Vec<usize>,
}

/// A trunk: its ends, the rates of its links, whether they are a LAG with a minimum.
type Trunk = ((u16, u16), Vec<u8>, Option<u8>);
/// The same with the tier and index of its ends.
type PlacedTrunk = ([(usize, usize); 2], Vec<u8>, Option<u8>);

pub(crate) fn any_weighted() -> impl Strategy<Value = Weighted> {
    let sizes =
        (1_usize..4, prop_oneof![Just(vec![]), Just(vec![2]), Just(vec![3]), Just(vec![2, 2])], 1_usize..3);
    let trunk = (
        (any::<u16>(), any::<u16>()),
        proptest::collection::vec(any::<u8>(), 1..4),
        proptest::option::of(1_u8..4),
    );
    let cables = proptest::option::of((any::<u16>(), any::<u16>()));
    (sizes, proptest::collection::vec(trunk, 1..7), any::<bool>(), cables)
        .prop_map(|((tors, middle, tops), trunks, one_pod, cable)| {
            let sizes: Vec<usize> = [tors].into_iter().chain(middle).chain([tops]).collect();
            build(&sizes, &trunks, one_pod, cable)
        })
        .prop_filter("few links", |weighted| weighted.cables.len() <= 16)
}

fn build(sizes: &[usize], trunks: &[Trunk], one_pod: bool, cable: Option<(u16, u16)>) -> Weighted {
    let mut text = String::new();
    let mut all = Vec::new();
    let pod_of = |index: usize| if one_pod { 0 } else { index % 2 };
    for (tier, size) in sizes.iter().enumerate() {
        for index in 0..*size {
            let pod = if tier == 0 { format!(",p{}", pod_of(index)) } else { String::new() };
            let _ = writeln!(text, "switch,s{tier}-{index},{tier}{pod}");
            all.push((tier, index));
        }
    }
    // Every switch has a link up, so every ToR has a path.
    let base = all.iter().filter(|(tier, _)| tier + 1 < sizes.len());
    let mut lists: Vec<PlacedTrunk> = base
        .map(|(tier, index)| {
            ([(*tier, *index), (tier + 1, index % sizes[tier + 1])], vec![*index as u8], None)
        })
        .collect();
    for ((a, b), rates, min) in trunks {
        let mut ends = [all[*a as usize % all.len()], all[*b as usize % all.len()]];
        ends.sort_unstable();
        if ends[0].0 != ends[1].0 {
            lists.push((ends, rates.clone(), *min));
        }
    }
    let count: usize = lists.iter().map(|(_, rates, _)| rates.len()).sum();
    // Two links of one switch may share a cable.
    let shared = cable.map(|(a, b)| (a as usize % count, b as usize % count));
    let (mut lags, mut cables, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    let mut ends_of = Vec::new();
    for (number, (ends, rates, min)) in lists.iter().enumerate() {
        let [(a, i), (b, j)] = *ends;
        let first = cables.len();
        for rate in rates {
            let link = cables.len();
            cables.push(link);
            ends_of.push(*ends);
            let gbps = GBPS[*rate as usize % GBPS.len()];
            rows.push(format!("link,s{a}-{i},p{link},s{b}-{j},p{link},{gbps},po{number}"));
        }
        if let Some(min) = min {
            let min = (*min as usize).min(rates.len());
            rows.push(format!("lag,s{a}-{i},s{b}-{j},po{number},{min}"));
            lags.push(((first..first + rates.len()).collect(), min));
        }
    }
    if let Some((a, b)) =
        shared.filter(|(a, b)| a != b && ends_of[*a].iter().any(|end| ends_of[*b].contains(end)))
    {
        cables[a.max(b)] = cables[a.min(b)];
        let is_link =
            |row: &String, link: usize| row.contains(&format!(",p{link},")) && row.starts_with("link");
        for row in &mut rows {
            if is_link(row, a) || is_link(row, b) {
                row.push_str(",cable");
            }
        }
    }
    for row in rows {
        let _ = writeln!(text, "{row}");
    }
    Weighted { text, lags, cables }
}

impl Weighted {
    /// Returns the capacity of a scope.
    pub(crate) fn amount(&self, tiers: &Tiers, count: CapacityCount, is_up: &[bool], scope: Scope) -> u64 {
        match (count, scope) {
            (CapacityCount::Paths, Scope::Tor(tor)) => path_count(tiers, &self.carrying(is_up), tor),
            _ => self.bps(tiers, is_up, scope),
        }
    }

    /// Returns the links that carry traffic: all in service, except those of a LAG below its minimum.
    pub(crate) fn carrying(&self, is_up: &[bool]) -> Vec<bool> {
        let mut carries = is_up.to_vec();
        for (members, min) in &self.lags {
            if members.iter().filter(|link| is_up[**link]).count() < *min {
                for link in members {
                    carries[*link] = false;
                }
            }
        }
        carries
    }

    /// Returns the bandwidth of a scope: the smallest capacity over all cuts.
    pub(crate) fn bps(&self, tiers: &Tiers, is_up: &[bool], scope: Scope) -> u64 {
        let carries = self.carrying(is_up);
        let senders = senders(tiers, scope);
        let top = tiers.tier_count() - 1;
        let middle: Vec<SwitchId> = (0..tiers.switch_count())
            .map(SwitchId)
            .filter(|switch| (1..top).contains(&tiers.tier(*switch)))
            .collect();
        let cut = |side: u32| -> u64 {
            let is_inside = |switch: SwitchId| {
                let place = middle.iter().position(|known| *known == switch);
                senders.contains(&switch) || place.is_some_and(|place| side >> place & 1 == 1)
            };
            let links = tiers.links().filter(|link| carries[link.index()]).map(|link| tiers.link(link));
            links
                .filter(|link| is_inside(link.lower) && !is_inside(link.upper))
                .map(|link| link.rate.bits_per_s())
                .sum()
        };
        (0..1_u32 << middle.len()).map(cut).min().unwrap()
    }
}

/// Returns the ToRs of a scope.
pub(crate) fn senders(tiers: &Tiers, scope: Scope) -> Vec<SwitchId> {
    let domains = tiers.domains();
    let is_sender = |tor: &SwitchId| match scope {
        Scope::Tor(one) => *tor == one,
        Scope::Pod(pod) => tiers.pod(*tor) == Some(pod),
        Scope::Domain(first) => domains[tor.index()] == domains[first.index()],
    };
    tiers.tors().iter().copied().filter(is_sender).collect()
}
