//! `wiremend lab auto`: from the first corrupted frame to a protected link and back, without a human.

use std::fmt::Write as _;
use std::path::Path;

use wiremend_lab::auto::Auto;
use wiremend_lab::chain::Knobs;
use wiremend_report::lab::Loop;
use wiremend_report::{plot, write_whole};

use crate::args::operate::{LabAuto, LabTransfer};
use crate::failure::{Answer, Failure};
use crate::progress;
use crate::terminal;

pub(super) fn run(asked: &LabAuto) -> Result<Answer, Failure> {
    let LabTransfer { loss, path_delay, chain, out, json } = &asked.transfer;
    super::begin(out.as_deref())?;
    let knobs = Knobs { rate: Some(asked.rate), ..super::knobs(chain, *path_delay) };
    let auto = Auto { loss: *loss, knobs };
    let seen = progress::shown(&[1.0], |progress| auto.run(&super::laboratory(), progress))?;
    if let Some(out) = out {
        write(out, &seen)?;
    }
    if *json {
        terminal::print(&format!("{}\n", serde_json::to_string_pretty(&seen).expect("plain values")))?;
    } else {
        terminal::print(&tell(&seen))?;
    }
    let whole = seen.protected_s.is_some() && seen.let_be_s.is_some_and(|at| at > seen.repaired_s);
    Ok(if whole { Answer::Yes } else { Answer::No })
}

fn write(out: &Path, seen: &Loop) -> Result<(), Failure> {
    let drawing = plot::standalone(&seen.picture().plot().svg());
    let json = serde_json::to_string_pretty(seen).expect("plain values");
    write_whole(&out.join("auto.svg"), &drawing)
        .and_then(|()| write_whole(&out.join("auto.json"), &(json + "\n")))
        .map_err(|error| Failure::file(&error))
}

fn tell(seen: &Loop) -> String {
    let mut text = format!(
        "One TCP transfer over a link that begins to corrupt {} of its frames. Nobody tells the daemons at its ends.\n\n",
        seen.loss
    );
    text += &seen.picture().text(terminal::stdout());
    text.push('\n');
    let after = |at: Option<f64>, from: f64| match at {
        Some(at) => format!("{:.2} s", at - from),
        None => "never".to_owned(),
    };
    let _ = writeln!(
        text,
        "From the first corrupted frame until it was noticed   {}",
        after(seen.noticed_s, seen.corrupts_s)
    );
    let _ = writeln!(
        text,
        "                              until it was protected {}",
        after(seen.protected_s, seen.corrupts_s)
    );
    let _ = writeln!(
        text,
        "From the repair               until it was let be    {}",
        after(seen.let_be_s, seen.repaired_s)
    );
    text
}
