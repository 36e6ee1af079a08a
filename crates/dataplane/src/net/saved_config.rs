//! Settings of a port before a relay took it over.

use std::net::{IpAddr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use super::offload::{self, Offload};
use super::{
    Address, Interface, NetError, add_address, disable_link_local, set_address_generation, set_promiscuous,
};

/// The settings of a port that a relay changes.
///
/// Read them, store them where they survive the process, and only then take the port over. Any later process
/// can restore them. Restoring twice is harmless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedConfig {
    /// Name of the port.
    pub interface: String,
    /// Offload features that were on and must be off.
    pub offloads: Vec<String>,
    /// Whether promiscuous mode was on.
    pub promiscuous: bool,
    /// Mode of IPv6 address generation (`IFLA_INET6_ADDR_GEN_MODE`); absent without IPv6.
    pub address_generation: Option<u8>,
    /// IPv6 link-local addresses and their prefix lengths.
    pub link_local: Vec<(Ipv6Addr, u8)>,
}

impl SavedConfig {
    /// Reads the settings of a port. `groups` are the offloads to disable. Changes nothing.
    pub fn read(name: &str, groups: &[Offload]) -> Result<Self, NetError> {
        let interface = Interface::by_name(name)?;
        let link_local = interface.addresses.iter().filter_map(|address| match address.ip {
            IpAddr::V6(ip) if address.is_link_local() => Some((ip, address.prefix)),
            _ => None,
        });
        let offloads = offload::enabled(name, groups)?;
        Ok(Self {
            interface: name.to_owned(),
            offloads: offloads.into_iter().map(|feature| feature.name).collect(),
            promiscuous: interface.promiscuous,
            address_generation: interface.address_generation,
            link_local: link_local.collect(),
        })
    }

    /// Takes the port over: disables offloads and link-local addresses, and enables promiscuous mode.
    ///
    /// The kernel forwards between the ports even while no program runs, so promiscuous mode is set on the
    /// port and not by a socket.
    pub fn take_over(&self) -> Result<(), NetError> {
        offload::set(&self.interface, &self.features(false))?;
        set_promiscuous(&self.interface, true)?;
        disable_link_local(&self.interface)
    }

    /// Restores all settings.
    pub fn restore(&self) -> Result<(), NetError> {
        offload::set(&self.interface, &self.features(true))?;
        set_promiscuous(&self.interface, self.promiscuous)?;
        if let Some(mode) = self.address_generation {
            set_address_generation(&self.interface, mode)?;
        }
        let has = Interface::by_name(&self.interface)?.addresses;
        let gone = |address: &Address| has.iter().all(|other| other.ip != address.ip);
        let addresses =
            self.link_local.iter().map(|(ip, prefix)| Address { ip: (*ip).into(), prefix: *prefix });
        addresses.filter(gone).try_for_each(|address| add_address(&self.interface, address))
    }

    fn features(&self, on: bool) -> Vec<(&str, bool)> {
        self.offloads.iter().map(|name| (name.as_str(), on)).collect()
    }
}
