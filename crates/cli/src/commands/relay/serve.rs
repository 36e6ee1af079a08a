//! Runs a relay, and resets the interfaces of one that has ended.

use std::process::Command;

use wiremend_dataplane::event_loop::WaitMode;
use wiremend_dataplane::relay::{
    self, Classifier, ExitReason, PortKind, RelayError, Restored, Service, Settings, Supervisor,
};
use wiremend_dataplane::sys::xdp::XdpMode;
use wiremend_units::{CopyCount, LossRate};
use wiremend_wire::link::LinkCodec;

use super::{class_error, protection_mode, rules};
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

/// Forwards frames. The supervisor process stops it with one signal, and it always stops in order.
fn carry(settings: Settings) -> Result<Answer, Failure> {
    signals::note()?;
    let service = Service::start(settings).map_err(|why| unusable(&why))?;
    match service.run(stop, &terminal::say).map_err(|why| unusable(&why))? {
        ExitReason::Stopped => Ok(Answer::Yes),
        ExitReason::ClockExpired => std::process::exit(relay::CLOCK_EXPIRED),
    }
}

/// Runs the relay in a child process, so that the link continues to work if it crashes.
fn watch(asked: &RelayRun, settings: &Settings) -> Result<Answer, Failure> {
    let supervisor = Supervisor::start(settings, &stop, &terminal::say).map_err(|why| unusable(&why))?;
    let program = std::env::current_exe().map_err(|error| Failure::file(&error))?;
    let rate = supervisor.rate();
    let command = || {
        let mut command = Command::new(&program);
        command.args(std::env::args_os().skip(1)).arg("--watched");
        if asked.rate.is_none() {
            // An interface that is down does not report its rate.
            command.args(["--rate", &format!("{}bps", rate.bits_per_s())]);
        }
        command
    };
    terminal::say(&format!(
        "between `{}` and `{}` at {}; the kernel forwards until protection starts",
        asked.lan, asked.link, rate
    ));
    match supervisor.run(command).map_err(|why| unusable(&why))?.code() {
        Some(0) => {
            terminal::say(&if asked.release {
                "stopped; both interfaces are reset".to_owned()
            } else {
                format!("stopped; the kernel forwards until: wiremend relay restore --link {}", asked.link)
            });
            Ok(Answer::Yes)
        }
        // The child has printed the reason.
        Some(code) => std::process::exit(code),
        None => Err(Failure::Environment("the relay was killed; the kernel forwards".to_owned())),
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
            "metrics at {address} would be open to other machines; to allow that, add --metrics-public"
        )));
    }
    Ok(Settings {
        rate: asked.rate,
        active: asked.active,
        classes: Classifier::new(rules(&asked.classes)?, protection_mode(asked.mode))
            .map_err(|error| class_error(&error))?,
        target: LossRate::from_parts_per_trillion((asked.target_loss * 1e12).ceil() as u64),
        copies: match asked.copies {
            Some(copies) => CopyCount::Fixed(copies),
            None => CopyCount::Measured(LossRate::from_parts_per_trillion(1_000_000_000)),
        },
        codec: LinkCodec { ethertype: asked.ethertype },
        queue: asked.queue,
        device_frames: asked.device_frames,
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
        run_dir: rundir::path(&asked.place),
        user: asked.user,
        metrics: asked.metrics_listen,
        disable_offloads: asked.disable_offloads,
        allow_pfc: asked.allow_pfc,
        version: VERSION.to_owned(),
        wait: asked.wait,
        release: asked.release,
        ..Settings::new(&asked.lan, &asked.link)
    })
}

pub(crate) fn poll(mode: PollMode) -> WaitMode {
    match mode {
        PollMode::Sleep => WaitMode::Sleep,
        PollMode::Busy => WaitMode::Busy,
    }
}

pub(crate) fn unusable(why: &RelayError) -> Failure {
    match (why, signals::caught()) {
        (RelayError::Stopped, Some(signal)) => Failure::Interrupted(signal),
        _ if why.is_input() => Failure::Input(why.to_string()),
        _ => Failure::Environment(why.to_string()),
    }
}

/// Resets the interfaces of relays that have ended.
pub(crate) fn restore(asked: &RelayRestore) -> Result<Answer, Failure> {
    let run_dir = rundir::path(&asked.place);
    let restored = relay::restore(&run_dir, asked.link.as_deref(), asked.forward);
    let restored = restored.map_err(|why| unusable(&why))?;
    if restored.is_empty() {
        terminal::say("no interface to reset");
    }
    for Restored { lan, link, forwards } in restored {
        terminal::say(&match (forwards, lan.as_str()) {
            (true, _) => format!("the kernel forwards between `{lan}` and `{link}`"),
            (false, "") => format!("`{link}` is reset"),
            (false, _) => format!("`{lan}` and `{link}` are reset"),
        });
    }
    Ok(Answer::Yes)
}
