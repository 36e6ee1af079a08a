//! Studies, their cells, and workers on one folder.

mod cells;
mod folder;
mod refusal;
mod swarm;

use std::path::Path;
use std::time::Duration;

use wiremend_runner::Runner;
use wiremend_sweep::{FailedBefore, Plan, Study, Sweep, collect};

/// Twelve cells of one flow each.
const SMALL: &str = r#"
name = "small"
scenario = "tail-packet"
seeds = 2

[[axis]]
name = "scheme"
[[axis.case]]
name = "go-back-n"
set = { "transport.recovery" = "go-back-n" }
[[axis.case]]
name = "irn"
set = { "transport.recovery" = "irn" }

[[axis]]
name = "dummies"
path = "mend.dummies"
values = [0, 1, 2]
"#;

fn plan(text: &str) -> Plan {
    let study = Study::parse("study.toml", text).unwrap();
    Plan::new(study, &Runner::new(), false).unwrap()
}

const LEASE: Duration = Duration::from_millis(100);

fn start(directory: &Path, text: &str) -> Sweep {
    Sweep::start(directory, plan(text), FailedBefore::Retry, LEASE, &Runner::new()).unwrap()
}

/// Runs a study in a directory and returns the bytes of its table.
fn table(directory: &Path, text: &str) -> Vec<u8> {
    let sweep = start(directory, text);
    sweep.worker(Runner::new()).lease(LEASE).run().unwrap();
    assert_eq!(collect(&sweep).unwrap().missing, 0);
    std::fs::read(directory.join("cells.parquet")).unwrap()
}
