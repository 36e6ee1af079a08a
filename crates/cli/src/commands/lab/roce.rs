//! `wiremend lab roce`: what corruption does to RoCE of an unmodified kernel, and what protection gives back.

use wiremend_lab::guests;
use wiremend_lab::rights;
use wiremend_lab::roce::{Outcome, Trial};
use wiremend_measure::median;
use wiremend_report::lab::State;
use wiremend_report::{grid, human};

use super::tcp::percent;
use crate::args::operate::LabRoce;
use crate::failure::{Answer, Failure};
use crate::progress;
use crate::{signals, terminal};

pub(super) fn run(asked: &LabRoce) -> Result<Answer, Failure> {
    if asked.fetch {
        guests::fetch()?;
    }
    let parts = guests::find()?;
    rights::acquire()?;
    signals::catch()?;
    let trial = Trial {
        loss: asked.loss,
        rounds: asked.rounds,
        messages: asked.messages,
        bulk_messages: asked.bulk_messages,
        knobs: super::mended(&asked.mending),
    };
    let lab = super::laboratory();
    let outcome = progress::shown(&trial.steps(), |progress| trial.run(&lab, &parts, progress));
    // A guest that is asked while somebody ends the program may fail in other ways.
    lab.go_on()?;
    let outcome = outcome?;
    if asked.json {
        let text = serde_json::to_string_pretty(&outcome).expect("plain values");
        terminal::print(&format!("{text}\n"))?;
    } else {
        terminal::print(&tell(&outcome))?;
    }
    Ok(Answer::Yes)
}

fn tell(outcome: &Outcome) -> String {
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
    let max = human::time_ns(outcome.states[State::Protected as usize].max());
    let verdict = if outcome.is_below_half_timeout() { "stays below" } else { "reaches" };
    format!(
        "Soft-RoCE of Debian's kernel in two guests over a link that corrupts {} of its frames, both ways.\n\
         ib_write_lat of {} messages and ib_write_bw, {} rounds: medians, and the longest of all. The guests \
         were up after {:.0} s.\n\n{}\n\
         The timeout is {timeout}, which ib_write_lat, telling half of the round trip, shows as {seen}.\n\
         Protected, the longest wait is {max}: it {verdict} half of that.\n\
         Bandwidth: protected {} of clean, corrupting {} of clean.\n",
        outcome.loss,
        outcome.messages,
        outcome.rounds,
        outcome.start_s,
        grid(&headings, &rows, terminal::stdout()),
        percent(outcome.of_clean(State::Protected)),
        percent(outcome.of_clean(State::Corrupting)),
    )
}
