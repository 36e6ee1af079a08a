//! Statistics of network drivers.

use super::NetError;
use crate::sys::ioctl::Ethtool;

/// Reads the driver's counters by name, as `ethtool -S` does. Empty if the driver has none.
pub fn statistics(name: &str) -> Result<Vec<(String, u64)>, NetError> {
    let counters = Ethtool::open(name).and_then(|ethtool| ethtool.statistics());
    match counters {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(Vec::new()),
        counters => counters.map_err(|error| {
            NetError::for_interface(name, format!("read the statistics of `{name}`"), error.into())
        }),
    }
}
