//! Permission to create network namespaces: root has it, other users get it in a user namespace.

use std::sync::atomic::{AtomicBool, Ordering};

use wiremend_dataplane::net::NetError;
use wiremend_dataplane::sys::namespace;

use crate::error::Error;

static BY_ROOT: AtomicBool = AtomicBool::new(false);

/// Lets this process create network namespaces. It must have a single thread.
pub fn acquire() -> Result<(), Error> {
    if namespace::is_root() {
        BY_ROOT.store(true, Ordering::Relaxed);
        return Ok(());
    }
    namespace::enter_user()
        .map_err(|error| not_permitted(format!("user namespaces are not allowed ({error})")))
}

#[expect(clippy::needless_pass_by_value, reason = "signature for `map_err`")]
pub(crate) fn net_error(why: NetError) -> Error {
    match why {
        NetError::NotPermitted { .. } => not_permitted(why.to_string()),
        _ => Error::Environment(why.to_string()),
    }
}

fn not_permitted(why: String) -> Error {
    Error::NotPermitted { why, by_root: BY_ROOT.load(Ordering::Relaxed) }
}
