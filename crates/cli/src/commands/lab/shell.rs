//! `wiremend lab shell`: a shell on a host behind a corrupting link.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use wiremend_dataplane::net::NetNs;
use wiremend_dataplane::sys::{namespace, process};
use wiremend_lab::chain::{Chain, ChainConfig, HostKind, Side};
use wiremend_lab::{Lab, privileges};

use crate::args::operate::LabShell;
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

/// Interval between checks of the shell.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Time between SIGHUP and SIGKILL.
const KILL_DELAY: Duration = Duration::from_millis(500);

pub(super) fn run(args: &LabShell) -> Result<Answer, Failure> {
    privileges::acquire()?;
    signals::catch()?;
    let chain_config =
        ChainConfig { rate: Some(args.rate), ..super::chain_config(&args.chain, args.path_delay) };
    let lab = super::lab();
    let chain = Chain::build(&lab, &chain_config, HostKind::Kernel)?;
    if args.active {
        chain.protect(true)?;
    }
    chain.set_loss(args.loss)?;
    let on_b = within(chain.host(Side::B));
    let mut words = args.command.iter().cloned();
    let program = words.next();
    if program.is_none() {
        explain(args, &chain, &on_b);
    }
    let program = program.or_else(|| std::env::var_os("SHELL")).unwrap_or_else(|| OsString::from("/bin/sh"));
    let mut command = Command::new(&program);
    command.args(words).env("WIREMEND_LAB", chain.directory()).env("ON_B", &on_b);
    let failed =
        |error| Failure::Environment(format!("cannot start `{}`: {error}", program.to_string_lossy()));
    process::terminate_with_parent(&mut command);
    namespace::start_in_network(&mut command, chain.host(Side::A)).map_err(failed)?;
    let mut shell = command.spawn().map_err(failed)?;
    let status = watch(&lab, &mut shell)?;
    Ok(if status.success() { Answer::Yes } else { Answer::No })
}

/// Returns the command prefix that enters a network namespace of this process.
fn within(network: &NetNs) -> String {
    format!("nsenter --net=/proc/{}/fd/{}", std::process::id(), network.as_fd().as_raw_fd())
}

/// Waits until the shell ends, or ends it when the lab stops.
fn watch(lab: &Lab, shell: &mut Child) -> Result<ExitStatus, Failure> {
    loop {
        if let Some(status) = shell.try_wait().map_err(|error| Failure::file(&error))? {
            // Ctrl-C reaches all programs of the terminal.
            lab.check_stop()?;
            return Ok(status);
        }
        if let Err(ended) = lab.check_stop() {
            hang_up(shell);
            return Err(ended.into());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn hang_up(shell: &mut Child) {
    // Both calls fail only if the shell has ended. It was not waited for, so its process id is still valid.
    let _ = kill_process(Pid::from_child(shell), Signal::HUP);
    let until = Instant::now() + KILL_DELAY;
    while matches!(shell.try_wait(), Ok(None)) && Instant::now() < until {
        std::thread::sleep(POLL_INTERVAL);
    }
    let _ = shell.kill();
    let _ = shell.wait();
}

fn explain(args: &LabShell, chain: &Chain, on_b: &str) {
    let directory = chain.directory().display();
    let protected = if args.active { "and is protected" } else { "and is not protected" };
    let lines = [
        format!("this is host A, {}; host B is {}", Side::A.address(), Side::B.address()),
        format!("the link between them has {}, loses {} of its frames, {protected}", args.rate, args.loss),
        format!("on host B (also as $ON_B):  {on_b} COMMAND"),
        format!("between them, with the link's ends link-a and link-b:  {} COMMAND", within(chain.middle())),
        format!(
            "protect:  for l in link-a link-b; do wiremend relay activate --run-dir {directory} --link $l; done"
        ),
        format!("status:   wiremend relay status --run-dir {directory} --link link-b"),
        format!(
            "loss:     wiremend lab wire --change --socket {} --loss 1e-2",
            chain.wire_socket().display()
        ),
        "exit stops the lab and removes its namespaces".to_owned(),
    ];
    for line in lines {
        terminal::print_message(&line);
    }
}
