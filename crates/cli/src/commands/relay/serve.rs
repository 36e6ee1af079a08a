//! Running a relay, and putting back what one that was killed has left.

use std::process::Command;

use wiremend_dataplane::drive::Poll;
use wiremend_dataplane::relay::{
    self, Classes, Ended, PortKind, Restored, Service, Settings, Supervisor, Unusable,
};
use wiremend_dataplane::sys::xdp::XdpMode;
use wiremend_units::{CopyCount, LossRate};
use wiremend_wire::link::Dialect;

use super::{care, misfit, rules};
use crate::args::VERSION;
use crate::args::operate::{PollMode, PortChoice, RelayRestore, RelayRun};
use crate::failure::{Answer, Failure};
use crate::{rundir, signals, terminal};

pub(crate) fn run(asked: &RelayRun) -> Result<Answer, Failure> {
    let settings = settings(asked)?;
    if asked.watched {
        return carry(settings);
    }
    signals::catch()?;
    watch(asked, &settings)
}

/// Carries frames. Another process watches this one, and asks it once to stop: it always ends in order.
fn carry(settings: Settings) -> Result<Answer, Failure> {
    signals::note()?;
    let service = Service::start(settings).map_err(|why| unusable(&why))?;
    match service.run(stop, &terminal::say).map_err(|why| unusable(&why))? {
        Ended::Stopped => Ok(Answer::Yes),
        Ended::Worn => std::process::exit(relay::WORN),
    }
}

/// Runs the relay in a process of its own, so that whatever becomes of it, the link goes on.
fn watch(asked: &RelayRun, settings: &Settings) -> Result<Answer, Failure> {
    let supervisor = Supervisor::start(settings, &stop, &terminal::say).map_err(|why| unusable(&why))?;
    let program = std::env::current_exe().map_err(|error| Failure::file(&error))?;
    let rate = supervisor.rate();
    let command = || {
        let mut command = Command::new(&program);
        command.args(std::env::args_os().skip(1)).arg("--watched");
        if asked.rate.is_none() {
            // An interface that is down does not say how fast it was.
            command.args(["--rate", &format!("{}bps", rate.bits_per_s())]);
        }
        command
    };
    terminal::say(&format!(
        "between `{}` and `{}` at {}; traffic is the kernel's until protection begins",
        asked.lan, asked.link, rate
    ));
    match supervisor.run(command).map_err(|why| unusable(&why))?.code() {
        Some(0) => {
            terminal::say(&if asked.release {
                "ended; both interfaces are as they were".to_owned()
            } else {
                format!(
                    "ended; the kernel goes on forwarding until: wiremend relay restore --link {}",
                    asked.link
                )
            });
            Ok(Answer::Yes)
        }
        // It has said why.
        Some(code) => std::process::exit(code),
        None => Err(Failure::Environment("the relay was killed; traffic is the kernel's".to_owned())),
    }
}

fn stop() -> bool {
    signals::caught().is_some()
}

fn settings(asked: &RelayRun) -> Result<Settings, Failure> {
    if let Some(address) = asked.metrics_listen
        && !address.ip().is_loopback()
        && !asked.metrics_public
    {
        return Err(Failure::Input(format!(
            "metrics at {address} would be open to other machines; if that is meant, say --metrics-public"
        )));
    }
    Ok(Settings {
        rate: asked.rate,
        active: asked.active,
        classes: Classes::new(rules(&asked.classes)?, care(asked.mode)).map_err(|error| misfit(&error))?,
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
        port: match asked.port {
            PortChoice::Auto => PortKind::Auto,
            PortChoice::Packet => PortKind::Packet,
            PortChoice::Xdp => PortKind::Xdp(XdpMode::Native),
            PortChoice::XdpGeneric => PortKind::Xdp(XdpMode::Generic),
        },
        poll: poll(asked.poll),
        cpu: asked.cpu,
        run_dir: rundir::of(&asked.place),
        user: asked.user,
        metrics: asked.metrics_listen,
        switch_offloads: asked.switch_offloads,
        end_pfc: asked.end_pfc,
        version: VERSION.to_owned(),
        wait: asked.wait,
        release: asked.release,
        ..Settings::between(&asked.lan, &asked.link)
    })
}

pub(crate) fn poll(mode: PollMode) -> Poll {
    match mode {
        PollMode::Sleep => Poll::Sleep,
        PollMode::Busy => Poll::Busy,
    }
}

pub(crate) fn unusable(why: &Unusable) -> Failure {
    match (why, signals::caught()) {
        (Unusable::Stopped, Some(signal)) => Failure::Interrupted(signal),
        _ if why.is_input() => Failure::Input(why.to_string()),
        _ => Failure::Environment(why.to_string()),
    }
}

/// Puts back what relays that do not run any more have left.
pub(crate) fn restore(asked: &RelayRestore) -> Result<Answer, Failure> {
    let run_dir = rundir::of(&asked.place);
    let restored = relay::restore(&run_dir, asked.link.as_deref(), asked.forward);
    let restored = restored.map_err(|why| unusable(&why))?;
    if restored.is_empty() {
        terminal::say("there is nothing to put back");
    }
    for Restored { lan, link, forwards } in restored {
        terminal::say(&match (forwards, lan.as_str()) {
            (true, _) => format!("the kernel forwards between `{lan}` and `{link}`"),
            (false, "") => format!("`{link}` is as it was"),
            (false, _) => format!("`{lan}` and `{link}` are as they were"),
        });
    }
    Ok(Answer::Yes)
}
