//! `wiremend lab shell`: a link that corrupts, to try things out on.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use wiremend_dataplane::net::NetNs;
use wiremend_dataplane::sys::{namespace, process};
use wiremend_lab::chain::{Chain, Hosts, Knobs, Side};
use wiremend_lab::{Lab, rights};

use crate::args::operate::LabShell;
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

/// How often the shell is looked after.
const LOOK: Duration = Duration::from_millis(10);
/// A shell that is told to end does so within this, or is killed.
const PATIENCE: Duration = Duration::from_millis(500);

pub(super) fn run(asked: &LabShell) -> Result<Answer, Failure> {
    rights::acquire()?;
    signals::catch()?;
    let knobs = Knobs { rate: Some(asked.rate), ..super::knobs(&asked.chain, asked.path_delay) };
    let lab = super::laboratory();
    let chain = Chain::build(&lab, &knobs, Hosts::Kernel)?;
    if asked.active {
        chain.protect(true)?;
    }
    chain.set_loss(asked.loss)?;
    let on_b = within(chain.host(Side::B));
    let mut words = asked.command.iter().cloned();
    let program = words.next();
    if program.is_none() {
        explain(asked, &chain, &on_b);
    }
    let program = program.or_else(|| std::env::var_os("SHELL")).unwrap_or_else(|| OsString::from("/bin/sh"));
    let mut command = Command::new(&program);
    command.args(words).env("WIREMEND_LAB", chain.directory()).env("ON_B", &on_b);
    let failed =
        |error| Failure::Environment(format!("cannot start `{}`: {error}", program.to_string_lossy()));
    process::ends_with_parent(&mut command);
    namespace::start_in_network(&mut command, chain.host(Side::A)).map_err(failed)?;
    let mut shell = command.spawn().map_err(failed)?;
    let status = watch(&lab, &mut shell)?;
    Ok(if status.success() { Answer::Yes } else { Answer::No })
}

/// What puts a command into a network of this process.
fn within(network: &NetNs) -> String {
    format!("nsenter --net=/proc/{}/fd/{}", std::process::id(), network.as_fd().as_raw_fd())
}

/// Waits for its end, or ends it.
fn watch(lab: &Lab, shell: &mut Child) -> Result<ExitStatus, Failure> {
    loop {
        if let Some(status) = shell.try_wait().map_err(|error| Failure::file(&error))? {
            // A program that shares the terminal has heard Ctrl-C too.
            lab.go_on()?;
            return Ok(status);
        }
        if let Err(ended) = lab.go_on() {
            hang_up(shell);
            return Err(ended.into());
        }
        std::thread::sleep(LOOK);
    }
}

fn hang_up(shell: &mut Child) {
    // Neither fails unless it has ended. It was not waited for, so the number is still its own.
    let _ = kill_process(Pid::from_child(shell), Signal::HUP);
    let until = Instant::now() + PATIENCE;
    while matches!(shell.try_wait(), Ok(None)) && Instant::now() < until {
        std::thread::sleep(LOOK);
    }
    let _ = shell.kill();
    let _ = shell.wait();
}

fn explain(asked: &LabShell, chain: &Chain, on_b: &str) {
    let directory = chain.directory().display();
    let protected = if asked.active { "and is protected" } else { "and is not protected" };
    let lines = [
        format!("this is host A, {}; host B is {}", Side::A.address(), Side::B.address()),
        format!("the link between them has {}, loses {} of its frames, {protected}", asked.rate, asked.loss),
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
        "exit ends the lab, and nothing of it stays".to_owned(),
    ];
    for line in lines {
        terminal::say(&line);
    }
}
