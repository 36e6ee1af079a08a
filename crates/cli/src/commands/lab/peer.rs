//! `wiremend lab peer`: the speed of `wiremend peer` beside that of a kernel's RoCE.

use wiremend_lab::guests;
use wiremend_lab::peer_speed::{Speed, SpeedOutcome, SpeedTrial};
use wiremend_measure::median;
use wiremend_report::human;

use crate::args::lab_guests::LabPeer;
use crate::failure::{Answer, Failure};
use crate::progress;
use crate::terminal;

pub(super) fn run(args: &LabPeer) -> Result<Answer, Failure> {
    if args.fetch {
        guests::fetch()?;
    }
    let files = guests::find()?;
    super::begin(None)?;
    let LabPeer { rounds, messages, bulk_messages, .. } = *args;
    let trial = SpeedTrial { rounds, messages, bulk_messages };
    let lab = super::lab();
    let outcome = progress::shown(&trial.steps(), |progress| trial.run(&lab, &files, progress));
    // Ctrl-C may make a guest fail with another error.
    lab.check_stop()?;
    let outcome = outcome?;
    if args.json {
        let text = serde_json::to_string_pretty(&outcome).expect("plain values");
        terminal::print(&format!("{text}\n"))?;
    } else {
        terminal::print(&rendered(&outcome))?;
    }
    Ok(Answer::Yes)
}

fn rendered(outcome: &SpeedOutcome) -> String {
    let line = |name: &str, speed: &Speed| {
        let (bandwidth, latency) = (median(&speed.mib_per_s), median(&speed.half_round_trip_ns));
        format!("{name}: {bandwidth:.1} MiB/s, half round trip {}\n", human::time_ns(latency))
    };
    format!(
        "WRITEs of 64 KiB and of 8 B between two guests, medians of {} rounds.\n{}{}Bandwidth {:.2} of the kernel's, \
         half round trip {:.2} times.\n",
        outcome.kernel.mib_per_s.len(),
        line("soft-RoCE and perftest", &outcome.kernel),
        line("wiremend peer", &outcome.peer),
        outcome.bandwidth_ratio,
        outcome.latency_ratio,
    )
}
