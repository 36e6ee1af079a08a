//! What a device or the kernel does to frames on behalf of the host, and which a relay must not see done.
//!
//! Frames merged on arrival are longer than the link can carry, frames left to be cut later are not yet frames, and checksums left
//! to be filled in later are wrong when they are read. On a virtual cable the sending end decides: what must be whole
//! when it is read has to be switched off at the end that sends it.

use super::Refused;
use crate::sys::ioctl::{Ethtool, Feature};

/// A group of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// Frames are merged on arrival (GRO, LRO).
    Merging,
    /// Frames are cut after they were sent (TSO, GSO).
    Cutting,
    /// Checksums are filled in after frames were sent, or not looked at by the host.
    Checksums,
    /// VLAN tags are taken out of frames that arrive. A packet socket is told of them, XDP is not.
    Tags,
}

impl Offload {
    /// What a packet socket must not see done.
    pub const ALL: [Self; 3] = [Self::Merging, Self::Cutting, Self::Checksums];
    /// What must not be done where frames pass the kernel's stack by.
    pub const PAST_THE_STACK: [Self; 4] = [Self::Merging, Self::Cutting, Self::Checksums, Self::Tags];

    /// The group of the kernel's feature `name`.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "rx-gro" | "rx-gro-hw" | "rx-gro-list" | "rx-udp-gro-forwarding" | "rx-lro" => {
                Some(Self::Merging)
            }
            "rx-checksum" => Some(Self::Checksums),
            "rx-vlan-hw-parse" | "rx-vlan-stag-hw-parse" => Some(Self::Tags),
            "tx-gso-partial" | "tx-gso-list" => Some(Self::Cutting),
            _ if name.starts_with("tx-checksum-") => Some(Self::Checksums),
            _ if name.starts_with("tx-") && name.ends_with("-segmentation") => Some(Self::Cutting),
            _ => None,
        }
    }
}

/// The features of these groups that are on, or will be as soon as they can.
pub fn harmful(name: &str, groups: &[Offload]) -> Result<Vec<Feature>, Refused> {
    let on = |feature: &Feature| {
        let grouped = Offload::of(&feature.name).is_some_and(|group| groups.contains(&group));
        grouped && (feature.active || feature.wanted && feature.changeable)
    };
    Ok(features(name)?.into_iter().filter(on).collect())
}

/// Switches features on or off and checks what came of it. Features that the kernel does not know are left out.
///
/// Switching on asks only: whether a feature becomes active may depend on others.
pub fn switch(name: &str, wanted: &[(&str, bool)]) -> Result<(), Refused> {
    if wanted.is_empty() {
        return Ok(());
    }
    let what = || format!("switch offloads of `{name}`");
    Ethtool::open(name)
        .and_then(|ethtool| ethtool.set_features(wanted))
        .map_err(|error| Refused::of(name, what(), error.into()))?;
    let kept = features(name)?
        .into_iter()
        .filter(|feature| feature.active && wanted.contains(&(&feature.name, false)))
        .map(|feature| feature.name)
        .collect::<Vec<_>>();
    if kept.is_empty() {
        return Ok(());
    }
    Err(Refused::Taken { what: what(), by: format!("the driver keeps {} on", kept.join(", ")) })
}

fn features(name: &str) -> Result<Vec<Feature>, Refused> {
    Ethtool::open(name)
        .and_then(|ethtool| ethtool.features())
        .map_err(|error| Refused::of(name, format!("read the offloads of `{name}`"), error.into()))
}
