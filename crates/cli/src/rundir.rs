//! The directory of control sockets.

use std::path::PathBuf;

use wiremend_dataplane::sys::credentials;

use crate::args::operate::RunDir;

/// Returns `--run-dir`, or the default directory of the system.
pub(crate) fn path(args: &RunDir) -> PathBuf {
    if let Some(given) = &args.run_dir {
        return given.clone();
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(own) if credentials::own_uid() != 0 => PathBuf::from(own).join("wiremend"),
        _ => PathBuf::from("/run/wiremend"),
    }
}
