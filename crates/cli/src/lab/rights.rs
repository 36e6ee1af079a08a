//! The right to have networks of one's own: root has it, others get it in a user namespace where the system lets them.

use std::sync::atomic::{AtomicBool, Ordering};

use wiremend_dataplane::net::Refused;
use wiremend_dataplane::sys::namespace;

use crate::failure::Failure;
use crate::terminal::quoted;

/// This process was started by root: `sudo` would not help.
static BY_ROOT: AtomicBool = AtomicBool::new(false);

/// From here on this process may make networks. It must have one thread only.
pub(crate) fn acquire() -> Result<(), Failure> {
    if namespace::is_root() {
        BY_ROOT.store(true, Ordering::Relaxed);
        return Ok(());
    }
    namespace::enter_user()
        .map_err(|error| lacking(&format!("user namespaces are not allowed here ({error})")))
}

/// What the kernel refused in a lab.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` wants")]
pub(crate) fn refused(why: Refused) -> Failure {
    match why {
        Refused::NotPermitted { .. } => lacking(&why.to_string()),
        _ => Failure::Environment(why.to_string()),
    }
}

fn lacking(why: &str) -> Failure {
    let remedy = if BY_ROOT.load(Ordering::Relaxed) {
        "a container has to be started with CAP_SYS_ADMIN and CAP_NET_ADMIN (--privileged)".to_owned()
    } else {
        let words: Vec<String> = std::env::args().map(|word| quoted(&word)).collect();
        format!("type: sudo {}", words.join(" "))
    };
    Failure::Environment(format!("a lab needs networks of its own, and {why}; {remedy}"))
}
