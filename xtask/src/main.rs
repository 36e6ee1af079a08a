//! Chores of the project: `cargo xtask CHORE`.
//!
//! | chore | what it does | where |
//! |---|---|---|
//! | `test` | every check there is, and with `--install` what they need | [`mod@test`] |
//! | `bench` | packet-hops per CPU second, events per hop, memory, speed-up | [`mod@bench`] |
//! | `lab` | speed on the real wire, which wants a quiet machine | [`lab`] |
//! | `docs` | rewrites the documents that are made from the code | [`docs`] |
//! | `ledger` | measures every claim in full and rewrites `docs/VALIDATION.md` | [`ledger`] |
//! | `dist` | a static tarball and a Debian package | [`dist`] |
//!
//! A chore drives programs that are there anyway (cargo, git, tar, dpkg-deb) and adds only what they lack. It ends
//! with 0, with 1 if the answer is no, with 2 for a wrong argument, with 3 if the machine lacks something.

mod bench;
mod dist;
mod docs;
mod lab;
mod ledger;
mod shell;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask CHORE

  test [--install] [NAME…]
                         every check there is, or those whose names contain a NAME; --install first installs what they
                         need (Debian packages, parts of the toolchain)
  bench [--quick] [--instructions] [--repeat N] [--json FILE] [NAME...]
                         speed and memory of the scenarios bench/*, with 1 and 2 threads
  bench relay            what a protected frame costs the core, and a relay on real ports
  bench fleet            a year of fabrics of up to 100 224 links, and a plan
  bench monitor          daemons with many ports, many daemons on one Redis, a planner of 100 224 links
  lab [PART…]            speed on the real wire, each figure with its criterion; the parts are tcp, auto, outage and roce; wants a quiet
                         machine and root
  docs                   rewrite docs/scenarios.md; man pages and completions go to target/docs
  ledger [ID…]           measure every claim in full, or these, rewrite docs/VALIDATION.md and its figures; goes on where it was ended
  dist                   static tarball and Debian package, in target/dist";

/// How a chore ended that did not end well.
#[derive(Debug)]
enum Trouble {
    /// It ran, and the answer is no.
    No(anyhow::Error),
    /// The arguments are wrong.
    Usage(String),
    /// The machine lacks something; the text says what and how to get it.
    Lacking(String),
}

impl<E: Into<anyhow::Error>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::No(error.into())
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Err(trouble) = chore(&args) else { return ExitCode::SUCCESS };
    let (code, text) = match trouble {
        Trouble::No(error) => (1, format!("error: {error:#}")),
        Trouble::Usage(what) => (2, format!("error: {what}\n\n{USAGE}")),
        Trouble::Lacking(what) => (3, what),
    };
    eprintln!("{text}");
    ExitCode::from(code)
}

fn chore(args: &[String]) -> Result<(), Trouble> {
    let Some((name, args)) = args.split_first() else {
        return Err(Trouble::Usage("which chore?".to_owned()));
    };
    match name.as_str() {
        "test" => {
            let (install, names) = match args {
                [flag, names @ ..] if flag == "--install" => (true, names),
                names => (false, names),
            };
            test::run(install, names)
        }
        "bench" => bench::run(&bench::Plan::from_args(args).map_err(Trouble::Usage)?),
        "lab" => match args.iter().find(|part| !lab::PARTS.contains(&part.as_str())) {
            Some(part) => Err(Trouble::Usage(format!("`lab` has no part `{part}`"))),
            None => Ok(lab::run(args)?),
        },
        "docs" if args.is_empty() => Ok(docs::run()?),
        "ledger" => Ok(ledger::run(args)?),
        "dist" if args.is_empty() => Ok(dist::run()?),
        "docs" | "dist" => Err(Trouble::Usage(format!("`{name}` takes no arguments, not {args:?}"))),
        "-h" | "--help" | "help" => {
            println!("{USAGE}");
            Ok(())
        }
        // How `bench` runs a program: as the only child of a fresh process, whose usage is then the program's.
        "measure" => Ok(bench::measure(args)?),
        // What `lab` runs on its two hosts.
        "outage-send" => Ok(lab::send(args)?),
        "outage-receive" => Ok(lab::receive()?),
        _ => Err(Trouble::Usage(format!("no chore `{name}`"))),
    }
}
