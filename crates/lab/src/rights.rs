//! The right to have networks of one's own: root has it, others get it in a user namespace where the system lets them.

use std::sync::atomic::{AtomicBool, Ordering};

use wiremend_dataplane::net::Refused;
use wiremend_dataplane::sys::namespace;

use crate::error::Error;

/// This process was started by root: `sudo` would not help.
static BY_ROOT: AtomicBool = AtomicBool::new(false);

/// From here on this process may make networks. It must have one thread only.
pub fn acquire() -> Result<(), Error> {
    if namespace::is_root() {
        BY_ROOT.store(true, Ordering::Relaxed);
        return Ok(());
    }
    namespace::enter_user()
        .map_err(|error| lacking(format!("user namespaces are not allowed here ({error})")))
}

/// What the kernel refused in a lab.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` wants")]
pub(crate) fn refused(why: Refused) -> Error {
    match why {
        Refused::NotPermitted { .. } => lacking(why.to_string()),
        _ => Error::Environment(why.to_string()),
    }
}

fn lacking(why: String) -> Error {
    Error::NotPermitted { why, by_root: BY_ROOT.load(Ordering::Relaxed) }
}
