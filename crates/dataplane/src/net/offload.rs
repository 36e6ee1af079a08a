//! Offloads that a relay must disable.
//!
//! Frames that GRO merges, or that wait for segmentation, are longer than the link can carry. Deferred
//! checksums are wrong when a relay reads them. On a veth pair the offloads of the sending end count.

use super::NetError;
use crate::sys::ioctl::{Ethtool, Feature};

/// A group of offload features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// Merging of received frames (GRO, LRO).
    Aggregation,
    /// Segmentation of sent frames (TSO, GSO).
    Segmentation,
    /// Checksums computed or verified by the device.
    Checksums,
    /// Stripping of VLAN tags from received frames. Packet sockets report the tag, XDP does not.
    VlanStripping,
}

impl Offload {
    /// Groups to disable for packet sockets.
    pub const FOR_PACKET_SOCKET: [Self; 3] = [Self::Aggregation, Self::Segmentation, Self::Checksums];
    /// Groups to disable for XDP sockets.
    pub const FOR_XDP: [Self; 4] =
        [Self::Aggregation, Self::Segmentation, Self::Checksums, Self::VlanStripping];

    /// Returns the group of a kernel feature.
    pub fn for_feature(name: &str) -> Option<Self> {
        match name {
            "rx-gro" | "rx-gro-hw" | "rx-gro-list" | "rx-udp-gro-forwarding" | "rx-lro" => {
                Some(Self::Aggregation)
            }
            "rx-checksum" => Some(Self::Checksums),
            "rx-vlan-hw-parse" | "rx-vlan-stag-hw-parse" => Some(Self::VlanStripping),
            "tx-gso-partial" | "tx-gso-list" => Some(Self::Segmentation),
            _ if name.starts_with("tx-checksum-") => Some(Self::Checksums),
            _ if name.starts_with("tx-") && name.ends_with("-segmentation") => Some(Self::Segmentation),
            _ => None,
        }
    }
}

/// Lists the features of these groups that are on, or requested and changeable.
pub fn enabled(name: &str, groups: &[Offload]) -> Result<Vec<Feature>, NetError> {
    let on = |feature: &Feature| {
        let grouped = Offload::for_feature(&feature.name).is_some_and(|group| groups.contains(&group));
        grouped && (feature.active || feature.wanted && feature.changeable)
    };
    Ok(features(name)?.into_iter().filter(on).collect())
}

/// Switches features on or off. Ignores unknown features. Fails if a feature stays on.
///
/// A feature that was switched on may stay off if it depends on others.
pub fn set(name: &str, wanted: &[(&str, bool)]) -> Result<(), NetError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let what = || format!("set offloads of `{name}`");
    Ethtool::open(name)
        .and_then(|ethtool| ethtool.set_features(wanted))
        .map_err(|error| NetError::for_interface(name, what(), error.into()))?;
    let kept = features(name)?
        .into_iter()
        .filter(|feature| feature.active && wanted.contains(&(&feature.name, false)))
        .map(|feature| feature.name)
        .collect::<Vec<_>>();
    if kept.is_empty() {
        return Ok(());
    }
    Err(NetError::Taken { what: what(), by: format!("the driver keeps {} on", kept.join(", ")) })
}

fn features(name: &str) -> Result<Vec<Feature>, NetError> {
    Ethtool::open(name).and_then(|ethtool| ethtool.features()).map_err(|error| {
        NetError::for_interface(name, format!("read the offloads of `{name}`"), error.into())
    })
}
