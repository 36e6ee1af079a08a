//! The usual fabrics.

use wiremend_units::{Rate, SwitchId};

use super::error::{TiersError, TiersFault};
use super::network::Tiers;
use super::parts::Parts;
use crate::builder::{LINKS_MAX, NODES_MAX};

/// A fabric by its shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Facebook's fabric (2014): pods of ToRs `tor0-0` and fabric switches `fab0-0`, each ToR linked to all fabric switches
    /// of its pod; a plane of spines `spine0-0` for each fabric switch of a pod, linked to that one of every pod.
    ///
    /// Links count from the ToRs: `pod·tors·fabrics + tor·fabrics + fabric`; then those to the spines, of which
    /// there are `plane·spines·pods + spine·pods + pod`.
    Facebook {
        /// Pods, at least 1.
        pods: u32,
        /// ToRs of each pod.
        tors: u32,
        /// Fabric switches of each pod, and planes.
        fabrics: u32,
        /// Spines of each plane.
        spines: u32,
    },
    /// The k-ary fat-tree: the same with k pods of k/2 and k/2 switches and planes of k/2, under the names `edge0-0`,
    /// `agg0-0` and `core0`.
    FatTree {
        /// Ports of each switch, an even number from 2.
        k: u32,
    },
    /// Every leaf linked to every spine. Links count from the leaves: `leaf·spines + spine`. Each leaf is a pod.
    LeafSpine {
        /// Switches `leaf0`, `leaf1`, …, at least 1.
        leaves: u32,
        /// Switches `spine0`, `spine1`, …, at least 1.
        spines: u32,
    },
}

/// What the switches of a shape are called.
struct Called {
    tor: &'static str,
    fabric: &'static str,
    spine: fn(u32, u32, u32) -> String,
}

impl Shape {
    /// As published: 261 pods of 48 ToRs and 4 fabric switches, 4 planes of 48 spines, 100 224 links.
    pub const FACEBOOK: Self = Self::Facebook { pods: 261, tors: 48, fabrics: 4, spines: 48 };

    /// The fabric, all links of one rate.
    pub fn build(&self, rate: Rate) -> Result<Tiers, TiersError> {
        self.check().map_err(TiersError::whole)?;
        let mut parts = Parts::default();
        match *self {
            Self::Facebook { pods, tors, fabrics, spines } => {
                let spine = |plane, index, _| format!("spine{plane}-{index}");
                let called = Called { tor: "tor", fabric: "fab", spine };
                add_pods(&mut parts, [pods, tors, fabrics, spines], &called, rate);
            }
            Self::FatTree { k } => {
                let core = |plane, index, spines| format!("core{}", plane * spines + index);
                let called = Called { tor: "edge", fabric: "agg", spine: core };
                add_pods(&mut parts, [k, k / 2, k / 2, k / 2], &called, rate);
            }
            Self::LeafSpine { leaves, spines } => {
                let add = |parts: &mut Parts, name: String, level, pod| parts.plain_switch(&name, level, pod);
                let leaves: Vec<_> =
                    (0..leaves).map(|i| add(&mut parts, format!("leaf{i}"), 0, None)).collect();
                let spines: Vec<_> =
                    (0..spines).map(|i| add(&mut parts, format!("spine{i}"), 1, None)).collect();
                for leaf in leaves {
                    for spine in &spines {
                        parts.plain_link(leaf, *spine, rate);
                    }
                }
            }
        }
        parts.build().map_err(TiersError::whole)
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

fn add_pods(parts: &mut Parts, [pods, tors, fabrics, spines]: [u32; 4], called: &Called, rate: Rate) {
    let mut in_pods = |name: &str, level: u32, count: u32, new_pods: bool| -> Vec<SwitchId> {
        let mut all = Vec::new();
        for pod in 0..pods {
            let number = if new_pods { parts.plain_pod(&format!("pod{pod}")) } else { pod };
            for index in 0..count {
                all.push(parts.plain_switch(&format!("{name}{pod}-{index}"), level, Some(number)));
            }
        }
        all
    };
    let tor_ids = in_pods(called.tor, 0, tors, true);
    let fabric_ids = in_pods(called.fabric, 1, fabrics, false);
    let at = |plane: u32, index: u32| (called.spine)(plane, index, spines);
    let planes = (0..fabrics).flat_map(|plane| (0..spines).map(move |index| (plane, index)));
    let spine_ids: Vec<_> =
        planes.map(|(plane, index)| parts.plain_switch(&at(plane, index), 2, None)).collect();
    for (tors, fabrics) in tor_ids.chunks(tors as usize).zip(fabric_ids.chunks(fabrics as usize)) {
        for tor in tors {
            for fabric in fabrics {
                parts.plain_link(*tor, *fabric, rate);
            }
        }
    }
    for (plane, spines) in spine_ids.chunks(spines as usize).enumerate() {
        for spine in spines {
            let of_plane = fabric_ids.iter().skip(plane).step_by(fabrics as usize);
            for fabric in of_plane {
                parts.plain_link(*fabric, *spine, rate);
            }
        }
    }
}
