//! Small random fabrics, and their path counts by enumeration.

pub(crate) mod weighted;

use proptest::prelude::*;
use wiremend_fabric::tiers::{FabricShape, Tiers, parse_csv};
use wiremend_units::{Rate, SwitchId};

/// A small fabric that can be printed.
#[derive(Clone, Debug)]
pub(crate) enum Small {
    /// A regular shape.
    Shape(FabricShape),
    /// An irregular fabric with parallel links, shortcuts and up to four tiers.
    Odd(String),
}

impl Small {
    /// Builds the fabric.
    pub(crate) fn build(&self) -> Tiers {
        match self {
            Self::Shape(shape) => shape.build(Rate::gbps(100)).unwrap(),
            Self::Odd(text) => parse_csv(text).unwrap(),
        }
    }
}

/// Any small fabric.
pub(crate) fn any_small() -> impl Strategy<Value = Small> {
    let facebook = (1_u32..3, 1_u32..4, 1_u32..4, 1_u32..4).prop_map(|(pods, tors, fabrics, spines)| {
        Small::Shape(FabricShape::Facebook { pods, tors, fabrics, spines })
    });
    let leaf_spine = (1_u32..4, 1_u32..5)
        .prop_map(|(leaves, spines)| Small::Shape(FabricShape::LeafSpine { leaves, spines }));
    prop_oneof![4 => facebook, 1 => leaf_spine, 3 => any_odd()]
}

fn any_odd() -> impl Strategy<Value = Small> {
    let sizes = proptest::collection::vec(1_usize..4, 2..5);
    (sizes, proptest::collection::vec(any::<(u16, u16)>(), 0..16)).prop_map(|(sizes, picks)| {
        let mut lines: Vec<String> = Vec::new();
        let mut all = Vec::new();
        for (tier, size) in sizes.iter().enumerate() {
            for index in 0..*size {
                lines.push(format!("switch,s{tier}-{index},{tier}"));
                all.push((tier, index));
            }
        }
        let mut ends: Vec<[(usize, usize); 2]> = Vec::new();
        for (tier, index) in all.iter().copied().filter(|(tier, _)| tier + 1 < sizes.len()) {
            ends.push([(tier, index), (tier + 1, 0)]);
        }
        let picked = picks.iter().map(|(a, b)| [all[*a as usize % all.len()], all[*b as usize % all.len()]]);
        ends.extend(picked.filter(|[a, b]| a.0 != b.0));
        for (port, [(a, i), (b, j)]) in ends.into_iter().enumerate() {
            lines.push(format!("link,s{a}-{i},p{port},s{b}-{j},p{port}"));
        }
        Small::Odd(lines.join("\n"))
    })
}

/// Counts the paths of a switch over links that are up, by enumeration.
pub(crate) fn path_count(tiers: &Tiers, is_up: &[bool], from: SwitchId) -> u64 {
    if tiers.tier(from) + 1 == tiers.tier_count() {
        return 1;
    }
    let above = tiers.links_above(from).iter().filter(|link| is_up[link.index()]);
    above.map(|link| path_count(tiers, is_up, tiers.link(*link).upper)).sum()
}
