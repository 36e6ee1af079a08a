//! HyperQueue: by its program `hq`, or by its Python package, which has no program.

use std::io;
use std::path::Path;
use std::process::Command;

use super::{Job, Submission, call};
use crate::error::Error;

/// Submits by the Python package: arguments are the name, the directory of logs, the number of tasks and the command of
/// a worker. `HQ_SERVER_DIR` names the server, as for `hq`.
const BY_PYTHON: &str = "\
import os, sys
from hyperqueue import Client, Job
name, logs, tasks, command = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
job = Job(name=name, max_fails=None)
for task in range(tasks):
    log = os.path.join(logs, f'hyperqueue-{task}')
    job.program([*command, '--task', str(task)], stdout=log + '.out', stderr=log + '.log')
print(Client(os.environ.get('HQ_SERVER_DIR')).submit(job).id)
";

pub(super) fn submit(job: &Job, submission: &Submission, python: &Path) -> Result<String, Error> {
    if submission.options.is_empty() || has_hq() {
        if has_hq() { by_program(job, submission) } else { by_python(job, submission, python) }
    } else {
        Err(Error::Environment(
            "`hq` was not found, and options for it need it; install HyperQueue".to_owned(),
        ))
    }
}

fn has_hq() -> bool {
    !matches!(Command::new("hq").arg("--version").output(), Err(error) if error.kind() == io::ErrorKind::NotFound)
}

fn worker(job: &Job, submission: &Submission) -> Vec<String> {
    let text = |path: &Path| path.display().to_string();
    let command =
        [&text(&submission.program), "sweep", "work", &text(&job.folder), "--job", &job.number.to_string()];
    command.into_iter().chain(["--threads", "1"]).map(str::to_owned).collect()
}

/// A task without `--task` takes its number from `HQ_TASK_ID`.
fn by_program(job: &Job, submission: &Submission) -> Result<String, Error> {
    let mut command = Command::new("hq");
    let log = |kind: &str| job.folder.join("logs").join(format!("hyperqueue-%{{TASK_ID}}.{kind}"));
    command.args([
        "--output-mode",
        "quiet",
        "submit",
        "--cpus",
        "1",
        "--array",
        &format!("0-{}", job.tasks - 1),
    ]);
    command.arg("--name").arg(&job.name).arg("--stdout").arg(log("out")).arg("--stderr").arg(log("log"));
    command.args(&submission.options).arg("--").args(worker(job, submission));
    call(&mut command, "install HyperQueue")
}

fn by_python(job: &Job, submission: &Submission, python: &Path) -> Result<String, Error> {
    let mut command = Command::new(python);
    command.args(["-c", BY_PYTHON, &job.name]).arg(job.folder.join("logs")).arg(job.tasks.to_string());
    command.args(worker(job, submission));
    let missing =
        "install HyperQueue (`hq`), or name a Python interpreter with its package: --python PROGRAM";
    let answer = call(&mut command, missing).map_err(|error| match error {
        Error::Environment(why) if why.contains("No module named 'hyperqueue'") => {
            Error::Environment(format!("neither `hq` nor a Python package `hyperqueue` was found; {missing}"))
        }
        other => other,
    })?;
    Ok(answer.lines().last().unwrap_or_default().to_owned())
}
