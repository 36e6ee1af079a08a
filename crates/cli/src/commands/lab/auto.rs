//! `wiremend lab auto`: monitors protect a corrupting link and stop after its repair.

use std::fmt::Write as _;
use std::path::Path;

use wiremend_lab::auto::AutoProtection;
use wiremend_lab::chain::ChainConfig;
use wiremend_report::lab::AutoRun;
use wiremend_report::{plot, write_atomic};

use crate::args::operate::{LabAuto, LabTransfer};
use crate::failure::{Answer, Failure};
use crate::progress;
use crate::terminal;

pub(super) fn run(args: &LabAuto) -> Result<Answer, Failure> {
    let LabTransfer { loss, path_delay, chain, out, json } = &args.transfer;
    super::begin(out.as_deref())?;
    let chain_config = ChainConfig { rate: Some(args.rate), ..super::chain_config(chain, *path_delay) };
    if let Some(address) = args.serve {
        terminal::print_message(&format!(
            "the page is at http://{address}/ until Ctrl-C; the link corrupts after 20 s and is repaired after 50 s"
        ));
    }
    let auto = AutoProtection { loss: *loss, chain: chain_config, page: args.serve };
    let seen = progress::shown(&[1.0], |progress| auto.run(&super::lab(), progress))?;
    if let Some(out) = out {
        write(out, &seen)?;
    }
    if *json {
        terminal::print(&format!("{}\n", serde_json::to_string_pretty(&seen).expect("plain values")))?;
    } else {
        terminal::print(&rendered(&seen))?;
    }
    let whole = seen.protected_s.is_some() && seen.unprotected_s.is_some_and(|at| at > seen.repaired_s);
    Ok(if whole { Answer::Yes } else { Answer::No })
}

fn write(out: &Path, seen: &AutoRun) -> Result<(), Failure> {
    let drawing = plot::standalone(&seen.goodput_chart().plot().svg());
    let json = serde_json::to_string_pretty(seen).expect("plain values");
    write_atomic(&out.join("auto.svg"), &drawing)
        .and_then(|()| write_atomic(&out.join("auto.json"), &(json + "\n")))
        .map_err(|error| Failure::file(&error))
}

fn rendered(seen: &AutoRun) -> String {
    let mut text = format!(
        "One TCP transfer over a link that starts to corrupt {} of its frames, with a monitor at each end.\n\n",
        seen.loss
    );
    text += &seen.goodput_chart().text(terminal::stdout());
    text.push('\n');
    let after = |at: Option<f64>, from: f64| match at {
        Some(at) => format!("{:.2} s", at - from),
        None => "never".to_owned(),
    };
    let _ = writeln!(
        text,
        "From the first corrupted frame to detection    {}",
        after(seen.detected_s, seen.corrupts_s)
    );
    let _ = writeln!(
        text,
        "                               to protection   {}",
        after(seen.protected_s, seen.corrupts_s)
    );
    let _ = writeln!(
        text,
        "From the repair to the end of protection       {}",
        after(seen.unprotected_s, seen.repaired_s)
    );
    text
}
