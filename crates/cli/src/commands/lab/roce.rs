//! `wiremend lab roce`: soft-RoCE over a clean and a corrupting link, without and with protection.

use wiremend_lab::guests;
use wiremend_lab::privileges;
use wiremend_lab::roce::{Outcome, RoceState, Trial};
use wiremend_measure::median;
use wiremend_report::{human, text_table};

use super::tcp::percent;
use crate::args::operate::LabRoce;
use crate::failure::{Answer, Failure};
use crate::progress;
use crate::{signals, terminal};

pub(super) fn run(args: &LabRoce) -> Result<Answer, Failure> {
    if args.fetch {
        guests::fetch()?;
    }
    let parts = guests::find()?;
    privileges::acquire()?;
    signals::catch()?;
    let trial = Trial {
        loss: args.loss,
        rounds: args.rounds,
        messages: args.messages,
        bulk_messages: args.bulk_messages,
        chain: super::protection_config(&args.protection),
    };
    let lab = super::lab();
    let outcome = progress::shown(&trial.steps(), |progress| trial.run(&lab, &parts, progress));
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

fn rendered(outcome: &Outcome) -> String {
    let rows: Vec<Vec<String>> = outcome
        .states
        .iter()
        .map(|measured| {
            vec![
                measured.state.name().to_owned(),
                human::time_ns(measured.typical()),
                human::time_ns(measured.p99()),
                human::time_ns(measured.max()),
                human::count(measured.retries.iter().sum()),
                format!("{:.1}", median(&measured.mib_per_s)),
                human::count(measured.bulk_retries.iter().sum()),
            ]
        })
        .collect();
    let headings = ["", "typical", "p99", "max", "retries", "MiB/s", "retries in bulk"];
    let timeout = human::time_ns(outcome.timeout_ns as f64);
    let seen = human::time_ns(outcome.timeout_seen_ns as f64);
    let max = human::time_ns(outcome.states[RoceState::Protected as usize].max());
    let verdict = if outcome.is_below_half_timeout() { "stays below" } else { "reaches" };
    format!(
        "Soft-RoCE of Debian's kernel in two guests over a link that corrupts {} of its frames in each direction.\n\
         ib_write_lat of {} messages and ib_write_bw, {} rounds: medians, and the longest of all. The guests \
         started in {:.0} s.\n\n{}\n\
         The timeout is {timeout}; ib_write_lat reports half of the round trip, so it shows {seen}.\n\
         With protection the longest latency is {max}: it {verdict} half of that.\n\
         Bandwidth of the corrupting link: with protection {} of the clean link with relays on, without {} of plain.\n\
         Relays alone: {} of plain.\n",
        outcome.loss,
        outcome.messages,
        outcome.rounds,
        outcome.start_s,
        text_table(&headings, &rows, terminal::stdout()),
        percent(outcome.relative(RoceState::Protected, RoceState::Clean)),
        percent(outcome.relative(RoceState::Corrupting, RoceState::Plain)),
        percent(outcome.relative(RoceState::Clean, RoceState::Plain)),
    )
}
