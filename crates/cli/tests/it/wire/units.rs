//! The units of `deploy` under a real systemd, which boots in namespaces of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{alone, skip};

/// Relays protect under their sandbox, reload, restart after a kill and not after bad options. Monitor and planner run
/// as a user without capabilities.
#[test]
fn the_units_run_under_systemd() {
    let _alone = alone();
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scripts = manifest.join("tests/it/wire/units");
    let (copy, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for script in ["init.sh", "job.sh"] {
        fs::copy(scripts.join(script), out.path().join(script)).unwrap();
    }
    fs::copy(env!("CARGO_BIN_EXE_wiremend"), out.path().join("wiremend")).unwrap();
    let mut boot = Command::new("sh");
    boot.arg(scripts.join("boot.sh")).args([copy.path(), out.path(), &manifest.join("../../deploy")]);
    let output = boot.output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) {
        return skip(&messages);
    }
    let log = fs::read_to_string(out.path().join("job.log")).unwrap_or_default();
    assert!(log.contains("\nall done\n"), "{log}{messages}");
}
