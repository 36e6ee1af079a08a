//! What drivers count.

use super::Refused;
use crate::sys::ioctl::Ethtool;

/// All that the driver of an interface counts, by the driver's own names, as `ethtool -S` lists it. Of a driver that counts
/// nothing, nothing.
pub fn statistics(name: &str) -> Result<Vec<(String, u64)>, Refused> {
    let counted = Ethtool::open(name).and_then(|ethtool| ethtool.statistics());
    match counted {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(Vec::new()),
        counted => counted
            .map_err(|error| Refused::of(name, format!("read the statistics of `{name}`"), error.into())),
    }
}
