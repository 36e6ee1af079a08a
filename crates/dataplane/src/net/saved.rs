//! How a port was before a relay took it, so that it can be put back.

use std::net::{IpAddr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use super::offload::{self, Offload};
use super::{Address, Interface, Refused, add_address, set_address_generation, set_promiscuous, silence};

/// What is changed of a port when it is taken over.
///
/// Make it, write it to where it outlives the process, and only then take the port over: whoever finds it later can put
/// everything back. Putting back twice does no harm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// The port.
    pub interface: String,
    /// The features to switch off, all of them on before.
    pub offloads: Vec<String>,
    /// It took frames for all addresses already.
    pub promiscuous: bool,
    /// How the kernel makes its IPv6 addresses (`IFLA_INET6_ADDR_GEN_MODE`); absent without IPv6.
    pub address_generation: Option<u8>,
    /// The IPv6 addresses that the kernel had made, and their prefixes.
    pub link_local: Vec<(Ipv6Addr, u8)>,
}

impl Saved {
    /// Notes how the port is. `groups` are the offloads that are to be switched off. Changes nothing.
    pub fn of(name: &str, groups: &[Offload]) -> Result<Self, Refused> {
        let interface = Interface::by_name(name)?;
        let link_local = interface.addresses.iter().filter_map(|address| match address.ip {
            IpAddr::V6(ip) if address.is_link_local() => Some((ip, address.prefix)),
            _ => None,
        });
        let offloads = offload::harmful(name, groups)?;
        Ok(Self {
            interface: name.to_owned(),
            offloads: offloads.into_iter().map(|feature| feature.name).collect(),
            promiscuous: interface.promiscuous,
            address_generation: interface.address_generation,
            link_local: link_local.collect(),
        })
    }

    /// Takes the port over: offloads off, frames for all addresses taken, the host silent.
    ///
    /// A port of a bridge in the kernel must take frames for all addresses even while no program reads it, so this is
    /// set on the port and not by a socket that goes away.
    pub fn take_over(&self) -> Result<(), Refused> {
        offload::switch(&self.interface, &self.features(false))?;
        set_promiscuous(&self.interface, true)?;
        silence(&self.interface)
    }

    /// Puts everything back.
    pub fn restore(&self) -> Result<(), Refused> {
        offload::switch(&self.interface, &self.features(true))?;
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
