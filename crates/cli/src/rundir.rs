//! Where programs that run keep their sockets.

use std::path::PathBuf;

use wiremend_dataplane::sys::credentials;

use crate::args::operate::RunDir;

/// What was said, or where the system wants it.
pub(crate) fn of(asked: &RunDir) -> PathBuf {
    if let Some(said) = &asked.run_dir {
        return said.clone();
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(own) if credentials::own_uid() != 0 => PathBuf::from(own).join("wiremend"),
        _ => PathBuf::from("/run/wiremend"),
    }
}
