//! Runs a relay, and resets the interfaces of one that has ended.

use std::process::Command;
use std::sync::atomic::Ordering;

use tracing::info;
use wiremend_dataplane::event_loop::WaitMode;
use wiremend_dataplane::relay::{
    self, Classifier, ExitReason, LinkKey, PortKind, RelayError, Restored, Service, Settings, Supervisor,
    SupervisorSignals,
};
use wiremend_dataplane::sys::xdp::XdpMode;
use wiremend_units::{CopyCount, LossRate};
use wiremend_wire::link::LinkCodec;

use super::{class_error, protection_mode, rules};
use crate::args::operate::{PollMode, PortChoice, RelayRestore, RelayRun};
use crate::args::{self, VERSION};
use crate::failure::{Answer, Failure};
use crate::{log, rundir, signals, terminal};

pub(crate) fn run(args: &RelayRun) -> Result<Answer, Failure> {
    log::start(args.log);
    let settings = settings(args)?;
    if args.watched {
        return carry(settings);
    }
    if args.config.is_some() {
        signals::catch_with_reload()?;
    } else {
        signals::catch()?;
    }
    watch(args, &settings)
}

/// Forwards frames. The supervisor process stops it with one signal, and it always stops in order.
fn carry(settings: Settings) -> Result<Answer, Failure> {
    signals::note()?;
    let service = Service::start(settings).map_err(|why| unusable(&why))?;
    match service.run(stop).map_err(|why| unusable(&why))? {
        ExitReason::Stopped => Ok(Answer::Yes),
        ExitReason::ClockExpired | ExitReason::Resized => std::process::exit(relay::RESTART),
    }
}

/// Runs the relay in a child process, so that the link continues to work if it crashes.
fn watch(args: &RelayRun, settings: &Settings) -> Result<Answer, Failure> {
    let signals = SupervisorSignals { stop: &stop, reload: &reload };
    let supervisor = Supervisor::start(settings, &signals).map_err(|why| unusable(&why))?;
    let program = std::env::current_exe().map_err(|error| Failure::file(&error))?;
    let rate = supervisor.rate();
    let command = || {
        let mut command = Command::new(&program);
        command.args(&args.words[1..]).arg("--watched");
        if args.rate.is_none() {
            // An interface that is down does not report its rate.
            command.args(["--rate", &format!("{}bps", rate.bits_per_s())]);
        }
        command
    };
    let RelayRun { lan, link, .. } = args;
    info!(link, lan, "between `{lan}` and `{link}` at {rate}; the kernel forwards until protection starts");
    match supervisor.run(command).map_err(|why| unusable(&why))?.code() {
        Some(0) if args.release => info!(link, lan, "stopped; both interfaces are reset"),
        Some(0) => {
            info!(link, lan, "stopped; the kernel forwards until: wiremend relay restore --link {link}");
        }
        // The child has logged the reason.
        Some(code) => std::process::exit(code),
        None => return Err(Failure::Environment("the relay was killed; the kernel forwards".to_owned())),
    }
    Ok(Answer::Yes)
}

fn stop() -> bool {
    signals::caught().is_some()
}

/// Reads the options again after SIGHUP.
fn reload() -> Option<Result<Settings, String>> {
    if !signals::reload().swap(false, Ordering::Relaxed) {
        return None;
    }
    let read = args::parse_again().and_then(|args| settings(&args));
    Some(match read {
        Ok(settings) => settings.check().map(|()| settings).map_err(|why| why.to_string()),
        Err(Failure::Input(why) | Failure::Environment(why)) => Err(why),
        Err(failure) => Err(format!("{failure:?}")),
    })
}

fn settings(args: &RelayRun) -> Result<Settings, Failure> {
    if let Some(address) = args.metrics_listen
        && !address.ip().is_loopback()
        && !args.metrics_public
    {
        return Err(Failure::Input(format!(
            "metrics at {address} would be open to other machines; to allow that, add --metrics-public"
        )));
    }
    Ok(Settings {
        rate: args.rate,
        active: args.active,
        classes: Classifier::new(rules(&args.classes)?, protection_mode(args.mode))
            .map_err(|error| class_error(&error))?,
        target: LossRate::from_parts_per_trillion((args.target_loss * 1e12).ceil() as u64),
        copies: match args.copies {
            Some(copies) => CopyCount::Fixed(copies),
            None => CopyCount::Measured(LossRate::from_parts_per_trillion(1_000_000_000)),
        },
        codec: LinkCodec { ethertype: args.ethertype },
        key: key(args)?,
        queue: args.queue,
        device_frames: args.device_frames,
        rtt_min: args.rtt_min,
        give_up: args.give_up,
        port: match args.port {
            PortChoice::Auto => PortKind::Auto,
            PortChoice::Packet => PortKind::Packet,
            PortChoice::Xdp => PortKind::Xdp(XdpMode::Native),
            PortChoice::XdpGeneric => PortKind::Xdp(XdpMode::Generic),
        },
        poll: poll(args.poll),
        cpu: args.cpu,
        run_dir: rundir::path(&args.place),
        user: args.user,
        metrics: args.metrics_listen,
        disable_offloads: args.disable_offloads,
        allow_pfc: args.allow_pfc,
        version: VERSION.to_owned(),
        wait: args.wait,
        release: args.release,
        ..Settings::new(&args.lan, &args.link)
    })
}

fn key(args: &RelayRun) -> Result<Option<LinkKey>, Failure> {
    let key = args.key_file.as_deref().map(LinkKey::load).transpose();
    key.map_err(|error| Failure::Input(error.to_string()))
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
pub(crate) fn restore(args: &RelayRestore) -> Result<Answer, Failure> {
    let run_dir = rundir::path(&args.place);
    let restored = relay::restore(&run_dir, args.link.as_deref(), args.forward);
    let restored = restored.map_err(|why| unusable(&why))?;
    if restored.is_empty() {
        terminal::print_message("no interface to reset");
    }
    for Restored { lan, link, forwards } in restored {
        terminal::print_message(&match (forwards, lan.as_str()) {
            (true, _) => format!("the kernel forwards between `{lan}` and `{link}`"),
            (false, "") => format!("`{link}` is reset"),
            (false, _) => format!("`{lan}` and `{link}` are reset"),
        });
    }
    Ok(Answer::Yes)
}
