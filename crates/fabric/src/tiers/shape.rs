//! Regular fabrics.

use wiremend_units::{Rate, SwitchId};

use super::builder::TiersBuilder;
use super::error::{TiersError, TiersFault};
use super::network::Tiers;
use crate::builder::{LINKS_MAX, NODES_MAX};

/// A regular fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FabricShape {
    /// Facebook's fabric (2014): pods of ToRs `tor0-0` and fabric switches `fab0-0`, each ToR connected to
    /// all fabric switches of its pod. For each fabric switch of a pod there is a plane of spines
    /// `spine0-0`, connected to that switch of every pod.
    ///
    /// Links of ToRs have the numbers `pod·tors·fabrics + tor·fabrics + fabric`. After them, links to
    /// spines have the numbers `plane·spines·pods + spine·pods + pod`.
    Facebook {
        /// Number of pods, at least 1.
        pods: u32,
        /// Number of ToRs per pod.
        tors: u32,
        /// Number of fabric switches per pod, and of planes.
        fabrics: u32,
        /// Number of spines per plane.
        spines: u32,
    },
    /// The k-ary fat-tree: the same structure with k pods of k/2 and k/2 switches and planes of k/2, named
    /// `edge0-0`, `agg0-0` and `core0`.
    FatTree {
        /// Number of ports of each switch, an even number from 2.
        k: u32,
    },
    /// Every leaf connected to every spine. Link numbers are `leaf·spines + spine`. Each leaf is a pod.
    LeafSpine {
        /// Number of switches `leaf0`, `leaf1`, …, at least 1.
        leaves: u32,
        /// Number of switches `spine0`, `spine1`, …, at least 1.
        spines: u32,
    },
}

/// Names of the switches of a shape.
struct SwitchNames {
    tor: &'static str,
    fabric: &'static str,
    spine: fn(u32, u32, u32) -> String,
}

impl FabricShape {
    /// As published: 261 pods of 48 ToRs and 4 fabric switches, 4 planes of 48 spines, 100 224 links.
    pub const FACEBOOK: Self = Self::Facebook { pods: 261, tors: 48, fabrics: 4, spines: 48 };

    /// Builds the fabric with all links at one rate.
    pub fn build(&self, rate: Rate) -> Result<Tiers, TiersError> {
        self.check().map_err(TiersError::whole)?;
        let mut builder = TiersBuilder::default();
        match *self {
            Self::Facebook { pods, tors, fabrics, spines } => {
                let spine = |plane, index, _| format!("spine{plane}-{index}");
                let names = SwitchNames { tor: "tor", fabric: "fab", spine };
                add_pods(&mut builder, [pods, tors, fabrics, spines], &names, rate);
            }
            Self::FatTree { k } => {
                let core = |plane, index, spines| format!("core{}", plane * spines + index);
                let names = SwitchNames { tor: "edge", fabric: "agg", spine: core };
                add_pods(&mut builder, [k, k / 2, k / 2, k / 2], &names, rate);
            }
            Self::LeafSpine { leaves, spines } => {
                let add = |builder: &mut TiersBuilder, name: String, level, pod| {
                    builder.add_checked_switch(&name, level, pod)
                };
                let leaves: Vec<_> =
                    (0..leaves).map(|i| add(&mut builder, format!("leaf{i}"), 0, None)).collect();
                let spines: Vec<_> =
                    (0..spines).map(|i| add(&mut builder, format!("spine{i}"), 1, None)).collect();
                for leaf in leaves {
                    for spine in &spines {
                        builder.add_checked_link(leaf, *spine, rate);
                    }
                }
            }
        }
        builder.build().map_err(TiersError::whole)
    }

    fn check(&self) -> Result<(), TiersFault> {
        let (counts, switches, links) = match *self {
            Self::Facebook { pods, tors, fabrics, spines } => {
                let [p, t, f, s] = [pods, tors, fabrics, spines].map(u128::from);
                let named = vec![("pods", pods), ("tors", tors), ("fabrics", fabrics), ("spines", spines)];
                (named, p * (t + f) + f * s, p * t * f + f * s * p)
            }
            Self::FatTree { k } => {
                if k < 2 || k % 2 == 1 {
                    let allowed = "an even number from 2";
                    return Err(TiersFault::OutOfRange { what: "k", value: k.into(), allowed });
                }
                let (k, half) = (u128::from(k), u128::from(k / 2));
                (Vec::new(), k * k + half * half, 2 * k * half * half)
            }
            Self::LeafSpine { leaves, spines } => {
                let [l, s] = [leaves, spines].map(u128::from);
                (vec![("leaves", leaves), ("spines", spines)], l + s, l * s)
            }
        };
        if let Some((what, value)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(TiersFault::OutOfRange { what, value: value.into(), allowed: "at least 1" });
        }
        for (what, count, max) in [("switches", switches, NODES_MAX), ("links", links, LINKS_MAX)] {
            if count > u128::from(max) {
                return Err(TiersFault::TooMany { what, max });
            }
        }
        Ok(())
    }
}

fn add_pods(
    builder: &mut TiersBuilder,
    [pods, tors, fabrics, spines]: [u32; 4],
    names: &SwitchNames,
    rate: Rate,
) {
    let mut in_pods = |name: &str, level: u32, count: u32, new_pods: bool| -> Vec<SwitchId> {
        let mut all = Vec::new();
        for pod in 0..pods {
            let number = if new_pods { builder.add_checked_pod(&format!("pod{pod}")) } else { pod };
            for index in 0..count {
                all.push(builder.add_checked_switch(&format!("{name}{pod}-{index}"), level, Some(number)));
            }
        }
        all
    };
    let tor_ids = in_pods(names.tor, 0, tors, true);
    let fabric_ids = in_pods(names.fabric, 1, fabrics, false);
    let at = |plane: u32, index: u32| (names.spine)(plane, index, spines);
    let planes = (0..fabrics).flat_map(|plane| (0..spines).map(move |index| (plane, index)));
    let spine_ids: Vec<_> =
        planes.map(|(plane, index)| builder.add_checked_switch(&at(plane, index), 2, None)).collect();
    for (tors, fabrics) in tor_ids.chunks(tors as usize).zip(fabric_ids.chunks(fabrics as usize)) {
        for tor in tors {
            for fabric in fabrics {
                builder.add_checked_link(*tor, *fabric, rate);
            }
        }
    }
    for (plane, spines) in spine_ids.chunks(spines as usize).enumerate() {
        for spine in spines {
            let of_plane = fabric_ids.iter().skip(plane).step_by(fabrics as usize);
            for fabric in of_plane {
                builder.add_checked_link(*fabric, *spine, rate);
            }
        }
    }
}
