//! Running a relay, and putting back what one that was killed has left.

use std::process::Command;

use wiremend_dataplane::drive::Poll;
use wiremend_dataplane::net::tc;
use wiremend_dataplane::relay::{self, Ended, Service, Settings, Unusable};
use wiremend_proto::link::{CopyCount, LossRate};
use wiremend_wire::link::Dialect;

use crate::args::operate::{Mode, PollMode, RelayRun, RelayWhich};
use crate::failure::{Answer, Failure};
use crate::{rundir, signals, terminal};

pub(crate) fn run(asked: &RelayRun) -> Result<Answer, Failure> {
    signals::catch()?;
    let stop = || signals::caught().is_some();
    let settings = settings(asked);
    if !asked.watched {
        return watch(asked);
    }
    let service = Service::start(settings).map_err(|why| unusable(&why))?;
    terminal::say(&format!(
        "between `{}` and `{}`; traffic is the kernel's until protection begins",
        asked.lan, asked.link
    ));
    match service.run(stop).map_err(|why| unusable(&why))? {
        Ended::Stopped => Ok(Answer::Yes),
        Ended::Worn => std::process::exit(relay::WORN),
    }
}

/// Runs the relay in a process of its own, so that whatever becomes of it, the link goes on.
fn watch(asked: &RelayRun) -> Result<Answer, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::file(&error))?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).arg("--watched");
    let stop = || signals::caught().is_some();
    let status = relay::supervise(command, [&asked.lan, &asked.link], asked.ethertype, stop);
    match status.map_err(|why| unusable(&why))?.code() {
        Some(0) => Ok(Answer::Yes),
        // It has said why.
        Some(code) => std::process::exit(code),
        None => Err(Failure::Environment("the relay was killed; traffic is the kernel's".to_owned())),
    }
}

fn settings(asked: &RelayRun) -> Settings {
    Settings {
        rate: asked.rate,
        active: asked.active,
        ordered: asked.mode == Mode::Ordered,
        target: LossRate::parts_per_trillion((asked.target_loss * 1e12).ceil() as u64),
        copies: match asked.copies {
            Some(copies) => CopyCount::Fixed(copies),
            None => CopyCount::Measured(LossRate::parts_per_trillion(1_000_000_000)),
        },
        dialect: Dialect { ethertype: asked.ethertype },
        queue: asked.queue,
        handed_frames: asked.handed,
        rtt_min: asked.rtt_min,
        give_up: asked.give_up,
        poll: poll(asked.poll),
        cpu: asked.cpu,
        run_dir: rundir::of(&asked.place),
        user: asked.user,
        metrics: asked.metrics_listen,
        switch_offloads: asked.switch_offloads,
        end_pfc: asked.end_pfc,
        ..Settings::between(&asked.lan, &asked.link)
    }
}

pub(crate) fn poll(mode: PollMode) -> Poll {
    match mode {
        PollMode::Sleep => Poll::Sleep,
        PollMode::Busy => Poll::Busy,
    }
}

pub(crate) fn unusable(why: &Unusable) -> Failure {
    match why {
        Unusable::Refused(_) | Unusable::Io { .. } => Failure::Environment(why.to_string()),
        _ => Failure::Input(why.to_string()),
    }
}

/// Takes away what a relay has put on its interfaces.
pub(crate) fn restore(which: &RelayWhich) -> Result<Answer, Failure> {
    let link = which.link.as_deref();
    let Some(link) = link else {
        return Err(Failure::Input("which link? say it with --link".to_owned()));
    };
    let rule = tc::Rule::on(link).map_err(|why| unusable(&Unusable::Refused(why)))?;
    if let Some(tc::Rule::Redirect { to, .. }) = rule {
        tc::clear(&to).map_err(|why| unusable(&Unusable::Refused(why)))?;
    }
    tc::clear(link).map_err(|why| unusable(&Unusable::Refused(why)))?;
    Ok(Answer::Yes)
}
