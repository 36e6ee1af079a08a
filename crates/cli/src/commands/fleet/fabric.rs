//! The fabric of a command.

use std::fmt;
use std::path::Path;

use wiremend_fabric::tiers::{FabricShape, Tiers, read_csv, read_json};
use wiremend_units::{Rate, canonical_name};

use super::{is_json, read};
use crate::args::fleet::Fabric;
use crate::failure::Failure;

/// Shapes that need no file.
const SHAPES: [&str; 3] = ["facebook", "fat-tree", "leaf-spine"];

/// A fabric and its name.
pub(super) struct Named {
    pub(super) tiers: Tiers,
    pub(super) name: String,
    /// Items of its file that it does not have.
    pub(super) skipped: Vec<SkippedItem>,
}

/// An item of a file that is skipped or changed, and why.
pub(crate) struct SkippedItem {
    pub(crate) file: String,
    /// Line and column, from 1.
    pub(crate) place: Option<(u64, usize)>,
    pub(crate) what: String,
}

impl fmt::Display for SkippedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "{}:{line}:{column}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

impl Named {
    /// Loads a fabric; an invalid item of its file is an error.
    pub(super) fn load_strict(args: &Fabric) -> Result<Self, Failure> {
        let mut fabric = Self::load(args)?;
        if fabric.skipped.is_empty() {
            return Ok(fabric);
        }
        Err(Failure::Input(fabric.skipped.swap_remove(0).to_string()))
    }

    /// Loads a fabric without the invalid items of its file.
    pub(super) fn load(args: &Fabric) -> Result<Self, Failure> {
        let Fabric { named: fabric, pods, tors, fabrics, spines, k, leaves, link_rate } = args;
        let sizes = [
            ("pods", pods),
            ("tors", tors),
            ("fabrics", fabrics),
            ("spines", spines),
            ("k", k),
            ("leaves", leaves),
        ];
        let (shape, used): (_, &[&str]) = match canonical_name(fabric, &SHAPES).unwrap_or(fabric) {
            "facebook" => (
                FabricShape::Facebook {
                    pods: pods.unwrap_or(261),
                    tors: tors.unwrap_or(48),
                    fabrics: fabrics.unwrap_or(4),
                    spines: spines.unwrap_or(48),
                },
                &["pods", "tors", "fabrics", "spines"],
            ),
            "fat-tree" => (FabricShape::FatTree { k: k.unwrap_or(16) }, &["k"]),
            "leaf-spine" => (
                FabricShape::LeafSpine { leaves: leaves.unwrap_or(64), spines: spines.unwrap_or(16) },
                &["leaves", "spines"],
            ),
            file => {
                if let Some((size, _)) = sizes.iter().find(|(_, value)| value.is_some()) {
                    return Err(Failure::Input(format!("--{size}: not for a fabric from a file")));
                }
                return Self::from_file(file);
            }
        };
        if let Some((size, _)) = sizes.iter().find(|(size, value)| value.is_some() && !used.contains(size)) {
            let what = format!("--{size}: not for a {fabric} fabric; it has --{}", used.join(", --"));
            return Err(Failure::Input(what));
        }
        let rate = link_rate.unwrap_or(Rate::gbps(100));
        let tiers =
            shape.build(rate).map_err(|error| Failure::Input(format!("--fabric {fabric}: {error}")))?;
        Ok(Self { tiers, name: fabric.clone(), skipped: Vec::new() })
    }

    pub(super) fn from_file(file: &str) -> Result<Self, Failure> {
        let path = Path::new(file);
        if !path.exists() && path.extension().is_none() {
            let what = wiremend_units::unknown_name("fabric", file, &SHAPES);
            return Err(Failure::Input(format!("--fabric: {what}, or a .csv or .json file")));
        }
        let (name, text) = read(path)?;
        let parsed = if is_json(path) { read_json(&text) } else { read_csv(&text) };
        let read = parsed.map_err(|error| {
            let between = if error.place.is_some() { ":" } else { ": " };
            Failure::Input(format!("{name}{between}{error}"))
        })?;
        let skipped = read.skipped.into_iter().map(|error| SkippedItem {
            file: name.clone(),
            place: error.place,
            what: error.fault.to_string(),
        });
        Ok(Self { tiers: read.tiers, skipped: skipped.collect(), name })
    }

    /// Describes the fabric in a few words.
    pub(super) fn description(&self) -> String {
        let tiers = &self.tiers;
        format!(
            "{} with {} links, {} ToRs, {} pods",
            self.name,
            wiremend_report::human::count(tiers.link_count().into()),
            wiremend_report::human::count(tiers.tors().len() as u64),
            wiremend_report::human::count(tiers.pod_count().into())
        )
    }
}
