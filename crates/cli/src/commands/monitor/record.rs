//! `wiremend monitor record`: records the port counters of this machine.

use std::io::{self, Write as _};
use std::thread;
use std::time::{Duration, Instant};

use wiremend_monitor::{Counters, DriverCounters, RecordedSnapshot, SysfsCounters};
use wiremend_units::Span;

use crate::args::monitor::MonitorRecord;
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

/// Interval between checks for a signal.
const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) fn run(args: &MonitorRecord) -> Result<Answer, Failure> {
    signals::catch()?;
    let mut sysfs = SysfsCounters::new(&args.sysfs);
    let interfaces = interfaces(args, &sysfs)?;
    let node = args.node.clone().map_or_else(host_name, Ok)?;
    RecordedSnapshot::check_name(&node).map_err(|why| Failure::Input(format!("--node: {why}")))?;
    let mut driver = DriverCounters::default();
    let is_own = args.sysfs.as_os_str() == SysfsCounters::ROOT;
    let begun = Instant::now();
    for round in 0.. {
        let due = begun + duration(args.every) * round;
        let end = args.duration.map(|span| begun + duration(span));
        if end.is_some_and(|end| due > end) || !sleep_until(due) {
            break;
        }
        for name in &interfaces {
            let driver = if is_own { driver.read(name) } else { Counters::default() };
            let read = sysfs.read(name, driver).map_err(|error| unread(args, name, &error))?;
            write(&RecordedSnapshot {
                time_s: begun.elapsed().as_secs_f64(),
                node: node.clone(),
                port: name.clone(),
                up: read.up,
                carrier_changes: read.carrier_changes,
                megabits_per_s: read.megabits_per_s,
                counters: read.counters,
            })?;
        }
        for missing in sysfs.take_unreported() {
            terminal::print_message(&format!("`{}` is omitted: {}", missing.file.display(), missing.reason));
        }
    }
    Ok(Answer::Yes)
}

fn interfaces(args: &MonitorRecord, sysfs: &SysfsCounters) -> Result<Vec<String>, Failure> {
    if !args.interfaces.is_empty() {
        return Ok(args.interfaces.clone());
    }
    let found = sysfs.interfaces().map_err(|error| {
        Failure::Environment(format!("cannot list interfaces below `{}`: {error}", args.sysfs.display()))
    })?;
    if found.is_empty() {
        return Err(Failure::Input("no physical interface; name the interfaces to read".to_owned()));
    }
    Ok(found)
}

fn write(record: &RecordedSnapshot) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    terminal::written(record.write(&mut stdout).and_then(|()| stdout.flush()))
}

fn unread(args: &MonitorRecord, name: &str, error: &io::Error) -> Failure {
    let net = args.sysfs.join("class/net");
    Failure::Input(format!("cannot read the interface `{name}` below `{}`: {error}", net.display()))
}

fn host_name() -> Result<String, Failure> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let named = Some(name).filter(|name| !name.is_empty());
    named.ok_or_else(|| Failure::Input("this machine has no host name; set one with --node".to_owned()))
}

/// Sleeps until `due`; returns `false` if a signal was caught.
fn sleep_until(due: Instant) -> bool {
    while signals::caught().is_none() {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(SIGNAL_POLL_INTERVAL));
    }
    false
}

fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.as_ns())
}
