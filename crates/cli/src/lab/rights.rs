//! The right to have networks of one's own: root has it, others get it in a user namespace where the system lets them.

use wiremend_dataplane::net::Refused;
use wiremend_dataplane::sys::namespace;

use crate::failure::Failure;
use crate::terminal::quoted;

/// From here on this process may make networks. It must have one thread only.
pub(crate) fn acquire() -> Result<(), Failure> {
    if namespace::is_root() {
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
    let words: Vec<String> = std::env::args().map(|word| quoted(&word)).collect();
    Failure::Environment(format!(
        "a lab needs networks of its own, and {why}; type: sudo {}",
        words.join(" ")
    ))
}
