//! Runs scenarios from their text.

mod draws;

use std::fmt::Write as _;
use std::io::{BufRead, Cursor, Result};

use wiremend_measure::{FlowRow, SeriesRow};
use wiremend_scenario::Scenario;
use wiremend_sim::{CapturedFrame, Files, Observer, Options, Results, Simulation};

pub(crate) use draws::Draws;

/// Returns the first variant of a scenario.
pub(crate) fn scenario(text: &str) -> Scenario {
    let file =
        wiremend_scenario::load("test.toml", text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    file.variants.into_iter().next().expect("a file has a variant").scenario
}

pub(crate) fn run_with(text: &str, options: &Options) -> (Results, Vec<FlowRow>) {
    rows_of(build(text, options))
}

pub(crate) fn rows_of(simulation: Simulation) -> (Results, Vec<FlowRow>) {
    let (results, rows) = run_and_record(simulation);
    (results, rows.0)
}

pub(crate) fn run(text: &str) -> (Results, Vec<FlowRow>) {
    run_with(text, &Options::new(scenario(text).seed.get()))
}

/// Runs the only flow of a scenario. `rules` corrupt frames on a link: data forward, responses backward.
pub(crate) fn run_scripted(text: &str, link: &str, rules: [&str; 2]) -> (Results, FlowRow) {
    let mut text = text.to_owned();
    for (direction, rules) in
        ["forward", "backward"].into_iter().zip(rules).filter(|(_, rules)| !rules.is_empty())
    {
        let _ = write!(
            text,
            "[[impair]]\nkind = \"script\"\nlinks = [\"{link}\"]\ndirection = \"{direction}\"\nrules = [{rules}]\n"
        );
    }
    let (results, rows) = run(&text);
    assert!(rows.len() == 1 && rows[0].outcome.is_finished(), "{rows:?}");
    (results, rows[0])
}

/// Runs with the given options and returns the frames of captured links.
pub(crate) fn capture_with(text: &str, options: &Options) -> (Results, Vec<CapturedFrame>) {
    let (results, rows) = run_and_record(build(text, options));
    (results, rows.1)
}

/// Runs with the given options and returns the samples.
pub(crate) fn series(text: &str, options: &Options) -> (Results, Vec<SeriesRow>) {
    let (results, rows) = run_and_record(build(text, options));
    (results, rows.2)
}

fn build(text: &str, options: &Options) -> Simulation {
    Simulation::build(&scenario(text), &NoFiles, options).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}

fn run_and_record(simulation: Simulation) -> (Results, Recorded) {
    let mut rows = Recorded::default();
    let results = simulation.run(&mut rows).expect("rows are run_and_record in memory");
    (results, rows)
}

#[derive(Default)]
struct Recorded(Vec<FlowRow>, Vec<CapturedFrame>, Vec<SeriesRow>);

impl Observer for Recorded {
    fn on_row(&mut self, row: &FlowRow) -> Result<()> {
        self.0.push(*row);
        Ok(())
    }

    fn on_sample(&mut self, sample: &SeriesRow) -> Result<()> {
        self.2.push(*sample);
        Ok(())
    }

    fn on_frame(&mut self, captured: &CapturedFrame) -> Result<()> {
        self.1.push(*captured);
        Ok(())
    }
}

pub(crate) struct NoFiles;

impl Files for NoFiles {
    fn open(&self, name: &str) -> std::result::Result<Box<dyn BufRead>, String> {
        match name {
            // One flow after the other, over 2, 4 or 6 equal links.
            "apart.csv" => Ok(Box::new(Cursor::new(
                "src,dst,bytes,start_ns\n0,1,5000,0\n0,2,5000,100000\n0,15,5000,200000\n3,9,5000,300000\n\
                 3,9,100,400000\n15,0,100,500000\n8,9,100,600000\n8,9,5000,700000\n",
            ))),
            "two.csv" => Ok(Box::new(Cursor::new("src,dst,bytes,start_ns\n0,1,5000,0\n1,0,100,250\n"))),
            "three.faults" => {
                Ok(Box::new(Cursor::new("forward data 5 1\nforward data 5 2\nbackward missing 5 1\n")))
            }
            "bad.faults" => Ok(Box::new(Cursor::new("forward data 5 1\nforward data 5\n"))),
            "selective.toml" => {
                Ok(Box::new(Cursor::new("about = \"x\"\n[requester]\nafter_nak = \"one\"\n")))
            }
            "silent.toml" => Ok(Box::new(Cursor::new("about = \"x\"\n[responder]\ndummies = \"dropped\"\n"))),
            "wrong.toml" => Ok(Box::new(Cursor::new("about = \"x\"\n[timr]\n"))),
            _ => Err(format!("there is no `{name}`")),
        }
    }
}

/// Returns the seeds of a swarm: the usual ones, or those of `WIREMEND_SWARM=from..to`.
#[expect(clippy::disallowed_methods, reason = "a person chooses other seeds by it")]
pub(crate) fn swarm_seeds(usual: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(wanted) = std::env::var("WIREMEND_SWARM") else { return usual };
    let (from, to) = wanted.split_once("..").expect("WIREMEND_SWARM=from..to");
    from.parse().expect("a number")..to.parse().expect("a number")
}
