//! `wiremend rerun`: repeats a run from its own files.

use wiremend_report::text_table;
use wiremend_runner::{RecordedRun, Repeated};

use crate::args::{Rerun, VERSION};
use crate::failure::{Answer, Failure};
use crate::progress::Progress;
use crate::{signals, terminal};

pub(super) fn run(args: &Rerun) -> Result<Answer, Failure> {
    signals::catch()?;
    let recorded = RecordedRun::read(&args.directory)?;
    let (progress, stop) = (Progress::new(args.quiet), signals::stop());
    let repeated = recorded.repeat(&super::runner(args.threads, &progress, &stop))?;
    let rows: Vec<_> = repeated.iter().map(row).collect();
    terminal::print(&text_table(&["variant", "recorded", "now", ""], &rows, terminal::stdout()))?;
    let different = repeated.iter().filter(|variant| !variant.is_equal()).count();
    let version = &recorded.record().version;
    terminal::print(&match (different, repeated.len()) {
        (0, 1) => "The digest is equal.\n".to_owned(),
        (0, all) => format!("All {all} digests are equal.\n"),
        (some, all) if version == VERSION => format!("{some} of {all} digests differ.\n"),
        (some, all) => format!("{some} of {all} digests differ: made by {version}, repeated by {VERSION}.\n"),
    })?;
    Ok(if different == 0 { Answer::Yes } else { Answer::No })
}

fn row(variant: &Repeated) -> Vec<String> {
    let verdict = if variant.is_equal() { "equal" } else { "differs" };
    vec![variant.variant.clone(), variant.recorded.clone(), variant.digest.clone(), verdict.to_owned()]
}
