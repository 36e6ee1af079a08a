//! Development tasks: `cargo xtask TASK`.
//!
//! | task | what it does | where |
//! |---|---|---|
//! | `test` | all checks; `--install` installs the required programs | [`mod@test`] |
//! | `bench` | packet-hops per CPU second, events per hop, memory, speed-up | [`mod@bench`] |
//! | `lab` | performance on real interfaces; needs an idle machine | [`lab`] |
//! | `attack` | attacks a protected link and prints the damage, and what the defence costs | [`attack`] |
//! | `soak` | many packets over a link that loses, doubles and reorders them | [`soak`] |
//! | `docs` | rewrites generated documents | [`docs`] |
//! | `ledger` | measures claims in full and rewrites `docs/validation` | [`ledger`] |
//! | `python` | the Python package as a wheel | [`python`] |
//! | `playground` | the simulator as a page, in `docs/playground` | [`playground`] |
//! | `dist` | a static tarball, a Debian package, a bill of materials | [`dist`] |
//!
//! A task runs existing programs (cargo, git, tar, dpkg-deb) and adds only missing functions. Exit status: 0
//! on success, 1 on failure, 2 for a wrong argument, 3 if the machine lacks a program.

mod attack;
mod bench;
mod dist;
mod docs;
mod lab;
mod ledger;
mod playground;
mod process;
mod python;
mod shell;
mod soak;
mod test;
mod wasm;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

  test [--install] [NAME…]
                         all checks, or those whose names contain a NAME; --install first installs the required
                         Debian packages and toolchain components
  bench [--quick] [--repeat N] [--json FILE] [--peers FILE] [--plot FILE] [NAME…]
                         speed and memory of scenarios bench/*, with 1 and 2 threads; NAME may also be features-k16
                         (each feature over perm-k16), scale (up to 102 400 hosts) or a case of these; --peers prints
                         figures measured elsewhere beside ours, --plot draws speed by size of the network
  bench --check          instructions and cache misses per packet-hop against xtask/figures.json; needs valgrind;
                         --accept writes that file
  bench relay            CPU time per protected frame, and a relay on real ports
  bench capture          the explanation of a capture of a gigabyte
  bench causes           the causes that `capture explain` names, compared with those of the simulator
  bench fleet            one year of fabrics of up to 100 224 links, and a plan
  bench monitor          daemons with many ports, many daemons on one Redis, a planner for 100 224 links
  bench serve            the page of 100 224 links with 50 viewers: the first view, and the cost of an update
  bench sweep            10 000 short cells: what a sweep costs beside its runs
  lab [PART…]            speed on real interfaces, each figure with its criterion; parts: tcp, auto, outage, roce, peer
                         and claims; needs an idle machine and root
  attack                 attack a protected link from the LAN and from the link: loss without and with each defence, and
                         what the defence costs; part of it needs root
  soak peer [FRAMES [KERNEL]]
                         that many frames between two endpoints in memory, and KERNEL between one and a kernel, while 1 %
                         of them are lost, doubled and overtaken: every byte is compared; by default 10^8 and 10^5
  docs                   rewrite docs/reference/scenarios.md; write man pages and completions to target/docs
  ledger [ID…]           measure all claims in full, or only these, and rewrite docs/validation; continues after an
                         interruption
  ledger --quick [ID…]   the same with quick effort, for claims whose criteria have changed: they count as not yet
                         judged in full
  ledger --pages         rewrite the pages of docs/validation from its ledger.json, without measuring
  python                 the Python package as a wheel, in target/wheels; needs maturin
  playground [--serve]   compile the simulator for the page in docs/playground; --serve shows the page on this machine
  dist                   static tarball, Debian package and bill of materials, in target/dist";

/// Why a task failed.
#[derive(Debug)]
enum TaskError {
    /// It ran and failed.
    Failed(anyhow::Error),
    /// Wrong arguments.
    Usage(String),
    /// A program is missing; the text says how to install it.
    MissingProgram(String),
}

impl<E: Into<anyhow::Error>> From<E> for TaskError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Err(error) = run_task(&args) else { return ExitCode::SUCCESS };
    let (code, text) = match error {
        TaskError::Failed(error) => (1, format!("error: {error:#}")),
        TaskError::Usage(what) => (2, format!("error: {what}\n\n{USAGE}")),
        TaskError::MissingProgram(what) => (3, what),
    };
    eprintln!("{text}");
    ExitCode::from(code)
}

fn run_task(args: &[String]) -> Result<(), TaskError> {
    let Some((name, args)) = args.split_first() else {
        return Err(TaskError::Usage("no task given".to_owned()));
    };
    match name.as_str() {
        "test" => {
            let (install, names) = match args {
                [flag, names @ ..] if flag == "--install" => (true, names),
                names => (false, names),
            };
            test::run(install, names)
        }
        "bench" => bench::run(&bench::Plan::from_args(args).map_err(TaskError::Usage)?),
        "lab" => match args.iter().find(|part| !lab::PARTS.contains(&part.as_str())) {
            Some(part) => Err(TaskError::Usage(format!("`lab` has no part `{part}`"))),
            None => Ok(lab::run(args)?),
        },
        "attack" if args.is_empty() => Ok(attack::run()?),
        "soak" => {
            soak::run(&soak::Frames::from_args(args).map_err(TaskError::Usage)?).map_err(TaskError::Failed)
        }
        "docs" if args.is_empty() => Ok(docs::run()?),
        "ledger" if args == ["--pages"] => Ok(ledger::run_pages()?),
        "ledger" => Ok(ledger::run(args)?),
        "dist" if args.is_empty() => Ok(dist::run()?),
        "python" if args.is_empty() => python::run(),
        "playground" if args.is_empty() => playground::run(false),
        "playground" if args == ["--serve"] => playground::run(true),
        "playground" => Err(TaskError::Usage(format!("`playground` takes only --serve, not {args:?}"))),
        "attack" | "docs" | "dist" | "python" => {
            Err(TaskError::Usage(format!("`{name}` takes no arguments, not {args:?}")))
        }
        "-h" | "--help" | "help" => {
            println!("{USAGE}");
            Ok(())
        }
        // `bench` runs a program as the only child of a new process, so that the resource usage is the program's.
        "measure" => Ok(bench::measure(args)?),
        // `lab` runs these on its two hosts.
        "outage-send" => Ok(lab::send(args)?),
        "outage-receive" => Ok(lab::receive()?),
        _ => Err(TaskError::Usage(format!("unknown task `{name}`"))),
    }
}
