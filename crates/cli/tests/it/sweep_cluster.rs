//! Sweeps by Slurm and `HyperQueue`, with the real daemons on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::monitor::await_that;
use crate::planner::free_port;
use crate::program::{command, ended};
use crate::sweep::{status, study, table};

/// Slurm on this machine: a controller and a node with two cores.
struct Slurm {
    directory: PathBuf,
}

const DAEMONS: [&str; 3] = ["slurmd", "slurmctld", "munged"];

impl Slurm {
    /// Returns `None` if Slurm is missing, outside CI.
    fn start(directory: &Path) -> Option<Self> {
        let directory = directory.join("slurm");
        fs::create_dir_all(directory.join("state")).unwrap();
        fs::create_dir_all(directory.join("spool")).unwrap();
        let this = Self { directory };
        if let Err(error) = Command::new("slurmctld").arg("-V").stdout(Stdio::null()).status() {
            skip(&format!("slurmctld: {error}"));
            return None;
        }
        this.configure();
        let path = |name: &str| this.directory.join(name).display().to_string();
        let option = |name: &str, file: &str| format!("--{name}={}", path(file));
        this.call(
            "munged",
            &[
                "--force",
                &option("socket", "munge.sock"),
                &option("key-file", "key"),
                &option("log-file", "munged.log"),
                &option("pid-file", "munged.pid"),
                &option("seed-file", "seed"),
            ],
        );
        this.call("slurmctld", &[]);
        this.call("slurmd", &[]);
        await_that(|| this.call("sinfo", &["-h", "-o", "%T"]).trim() == "idle");
        Some(this)
    }

    fn configure(&self) {
        let Self { directory } = self;
        let shown = directory.display();
        let key = directory.join("key");
        fs::write(&key, [0x5a; 1024]).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&key, private).unwrap();
        let (node, user) = (said("uname", "-n"), said("id", "-un"));
        let (controller, daemon) = (free_port(), free_port());
        let text = format!(
            "ClusterName=test\nSlurmUser={user}\nSlurmdUser={user}\nSlurmctldHost={node}(127.0.0.1)\n\
             SlurmctldPort={controller}\nSlurmdPort={daemon}\nAuthType=auth/munge\n\
             AuthInfo=socket={shown}/munge.sock\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
             AccountingStorageType=accounting_storage/none\nStateSaveLocation={shown}/state\n\
             SlurmdSpoolDir={shown}/spool\nSlurmctldPidFile={shown}/slurmctld.pid\nSlurmdPidFile={shown}/slurmd.pid\n\
             SlurmctldLogFile={shown}/slurmctld.log\nSlurmdLogFile={shown}/slurmd.log\nReturnToService=2\n\
             MpiDefault=none\nSchedulerParameters=sched_min_interval=10000,sched_interval=1,batch_sched_delay=0\n\
             NodeName={node} NodeAddr=127.0.0.1 CPUs=2 RealMemory=4000\n\
             PartitionName=all Nodes={node} Default=YES MaxTime=INFINITE State=UP\n"
        );
        fs::write(directory.join("slurm.conf"), text).unwrap();
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.directory.join("slurm.conf")).stdin(Stdio::null());
        command
    }

    /// Runs a program of Slurm and returns its output. Daemons go to the background.
    fn call(&self, program: &str, arguments: &[&str]) -> String {
        let log = self.directory.join("calls.log");
        let output = fs::File::create(&log).unwrap();
        let mut command = self.command(program);
        command.args(arguments).stdout(output.try_clone().unwrap()).stderr(output);
        let status = command.status().unwrap();
        let text = fs::read_to_string(log).unwrap();
        assert!(status.success(), "{program}: {text}");
        text
    }

    /// Starts tasks that were queued again at once: Slurm delays them by two minutes.
    fn start_requeued(&self) {
        for task in self.call("squeue", &["-h", "-t", "PD", "-o", "%A"]).split_whitespace() {
            let job = format!("jobid={task}");
            for arguments in [vec!["release", task], vec!["update", &job, "starttime=now"]] {
                let mut change = self.command("scontrol");
                // It may have started in the meantime.
                let _ = change.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
            }
        }
    }

    fn await_that(&self, mut holds: impl FnMut() -> bool) {
        await_that(|| {
            self.start_requeued();
            holds()
        });
    }

    fn kill(&self, daemon: &str) {
        let Ok(pid) = fs::read_to_string(self.directory.join(format!("{daemon}.pid"))) else { return };
        let _ = Command::new("kill").args(["-KILL", pid.trim()]).stderr(Stdio::null()).status();
    }

    /// The node disappears with everything that runs on it, and comes back.
    fn lose_node(&self, out: &Path) {
        let node = said("uname", "-n");
        self.kill("slurmd");
        for worker in status(out)["workers"].as_array().unwrap() {
            let worker = worker["pid"].to_string();
            let script = parent(&worker);
            // The daemon of the task first: nobody reports its end. A process without a parent has ended.
            for pid in [parent(&script), script, worker] {
                if pid.parse::<u32>().is_ok_and(|pid| pid > 1) {
                    let _ = Command::new("kill").args(["-KILL", &pid]).stderr(Stdio::null()).status();
                }
            }
        }
        self.call("scontrol", &["update", &format!("nodename={node}"), "state=down", "reason=lost"]);
        // What the controller sends to end the tasks would end them after their restart, too.
        await_that(|| {
            let state = self.call("sdiag", &[]);
            ["Agent queue size: ", "Agent count: "].iter().all(|name| {
                state.lines().any(|line| line.trim().strip_prefix(name).is_some_and(|n| n.trim() == "0"))
            })
        });
        // It is used again as soon as it registers (slurm.conf(5), `ReturnToService`).
        self.call("slurmd", &[]);
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = fs::read_to_string(self.directory.join("slurmctld.log")).unwrap_or_default();
            let lines: Vec<_> = log.lines().collect();
            eprintln!("{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        }
        let mut cancel = self.command("scancel");
        let _ = cancel.args(["--full", "--signal=KILL", "--me"]).stderr(Stdio::null()).status();
        for daemon in DAEMONS {
            self.kill(daemon);
        }
    }
}

/// Returns the number of the parent of a process; of one that has ended, its own number.
fn parent(pid: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("PPid:"));
    line.map_or(pid, str::trim).to_owned()
}

fn said(program: &str, argument: &str) -> String {
    let output = Command::new(program).arg(argument).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "must run where CI is set: {why}");
    eprintln!("skipped: {why}; `cargo xtask test --install` brings it");
}

/// Python with the packages of the tests; `None` if it is missing, outside CI.
fn python() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_BIN_EXE_wiremend"));
    let targets = program.ancestors().map(|above| above.join("python/bin/python"));
    let found = targets.into_iter().find(|python| python.is_file());
    if found.is_none() {
        skip("there is no virtual environment for Python below the target directory");
    }
    found
}

fn pending(out: &Path) -> u64 {
    status(out)["pending"].as_u64().unwrap()
}

/// Kills a worker that runs, when some cells are done and some are not.
fn kill_a_worker(out: &Path, cells: u64) {
    await_that(|| {
        let state = status(out);
        let left = state["pending"].as_u64().unwrap();
        assert!(left > 0, "the cells are too short to kill a worker");
        let Some(worker) = state["workers"].as_array().unwrap().first().filter(|_| left < cells) else {
            return false;
        };
        Command::new("kill").args(["-KILL", &worker["pid"].to_string()]).status().unwrap().success()
    });
}

/// A sweep of loss, scheme, load and five seeds: workers are killed and the node is lost, and the table is the same as
/// that of a run here, byte for byte.
#[test]
fn slurm_gives_the_same_table_whatever_dies() {
    let directory = tempfile::tempdir().unwrap();
    let Some(slurm) = Slurm::start(directory.path()) else { return };
    let (study, out) = (study(directory.path(), 1500), directory.path().join("out"));
    let mut submit = command();
    submit.env("SLURM_CONF", slurm.directory.join("slurm.conf")).arg("sweep").arg(&study);
    submit.arg("--out").arg(&out).args(["--on", "slurm", "--tasks", "3", "--submit-option=--partition=all"]);
    let said = ended(submit.output().unwrap()).ok();
    assert!(said.starts_with("job 1: 300 cells in 3 tasks, each with a limit of "), "{said}");
    kill_a_worker(&out, 300);
    let left = pending(&out);
    slurm.await_that(|| pending(&out) < left.saturating_sub(20));
    slurm.lose_node(&out);
    slurm.await_that(|| pending(&out) == 0);
    slurm.await_that(|| slurm.call("squeue", &["-h"]).trim().is_empty());
    let here = table(&study, &directory.path().join("here"));
    let again = command().arg("sweep").arg("collect").arg(&out).output().unwrap();
    assert_eq!(ended(again).ok().lines().next(), Some("300 cells: 300 done"));
    assert!(fs::read(out.join("cells.parquet")).unwrap() == here, "the tables differ");
    let none =
        command().arg("sweep").arg(&study).arg("--out").arg(&out).args(["--on", "slurm"]).output().unwrap();
    assert!(ended(none).ok().starts_with("no cell is left to run: "));
}

/// A server and a worker of `HyperQueue`; the program submits to it and the script waits for the results.
const HYPERQUEUE: &str = "\
import json, os, subprocess, sys, time
from hyperqueue.cluster import LocalCluster, WorkerConfig
program, study, out = sys.argv[1:]
with LocalCluster() as cluster:
    cluster.start_worker(WorkerConfig(cores=2))
    environment = dict(os.environ, HQ_SERVER_DIR=str(cluster.cluster.server_dir))
    submit = ['sweep', study, '--out', out, '--on', 'hyperqueue', '--python', sys.executable, '--tasks', '4']
    subprocess.run([program, *submit], env=environment, check=True)
    status = [program, 'sweep', 'status', out, '--json']
    while json.loads(subprocess.run(status, capture_output=True).stdout)['pending']:
        time.sleep(0.1)
";

#[test]
fn hyperqueue_gives_the_same_table() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (study, out) = (study(directory.path(), 30), directory.path().join("out"));
    let mut script = Command::new(python);
    script.args(["-c", HYPERQUEUE, env!("CARGO_BIN_EXE_wiremend")]).arg(&study).arg(&out);
    let said = ended(script.current_dir(directory.path()).output().unwrap()).ok();
    assert!(said.contains("\njob 1: 300 cells in 4 tasks"), "{said}");
    ended(command().arg("sweep").arg("collect").arg(&out).output().unwrap()).ok();
    let here = table(&study, &directory.path().join("here"));
    assert!(fs::read(out.join("cells.parquet")).unwrap() == here, "the tables differ");
}

/// A program `hq` that runs the tasks of a job itself, with the options and variables of the real one.
const HQ: &str = "#!/bin/sh
[ \"$1\" = --version ] && exit 0
echo \"$*\" >>\"$HQ_LOG\"
while [ \"$1\" != -- ]; do shift; done
shift
for task in 0 1 2; do HQ_TASK_ID=$task \"$@\" >/dev/null 2>&1 || exit 1; done
echo 7
";

#[test]
fn an_installed_hq_is_used() {
    let directory = tempfile::tempdir().unwrap();
    let (study, out) = (study(directory.path(), 20), directory.path().join("out"));
    let hq = directory.path().join("hq");
    fs::write(&hq, HQ).unwrap();
    fs::set_permissions(&hq, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let log = directory.path().join("log");
    let path = format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap());
    let mut submit = command();
    submit.env("PATH", path).env("HQ_LOG", &log).arg("sweep").arg(&study).arg("--out").arg(&out);
    submit.args(["--on", "hyperqueue", "--tasks", "3", "--submit-option=--crash-limit=9"]);
    assert!(ended(submit.output().unwrap()).ok().starts_with("job 7: 300 cells in 3 tasks"));
    let called = fs::read_to_string(log).unwrap();
    assert!(
        called.contains("submit --cpus 1 --array 0-2 --name loss by scheme ")
            && called.contains(" --crash-limit=9 -- ")
    );
    assert_eq!(pending(&out), 0);
}

/// The script of the guide draws a figure from the table.
#[test]
fn the_script_of_the_guide_draws_its_figure() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (study, out) = (study(directory.path(), 400), directory.path().join("out"));
    table(&study, &out);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/sweep_figure.py");
    let figure = directory.path().join("figure.png");
    let drawn =
        Command::new(python).arg(script).arg(out.join("cells.parquet")).arg(&figure).output().unwrap();
    ended(drawn).ok();
    let bytes = fs::read(figure).unwrap();
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{} bytes", bytes.len());
}
