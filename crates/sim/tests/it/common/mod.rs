//! Scenarios as text, run to the end.

mod dice;

use std::fmt::Write as _;
use std::io::{BufRead, Cursor, Result};

use wiremend_measure::{FlowRow, SeriesRow};
use wiremend_scenario::Scenario;
use wiremend_sim::{Captured, Files, Observer, Options, Results, Simulation};

pub(crate) use dice::Dice;

/// The first variant of a scenario.
pub(crate) fn scenario(text: &str) -> Scenario {
    let file =
        wiremend_scenario::load("test.toml", text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    file.variants.into_iter().next().expect("a file has a variant").scenario
}

/// Runs with the given options and keeps the rows.
pub(crate) fn run_with(text: &str, options: &Options) -> (Results, Vec<FlowRow>) {
    rows_of(build(text, options))
}

/// Runs what is built already and keeps the rows.
pub(crate) fn rows_of(simulation: Simulation) -> (Results, Vec<FlowRow>) {
    let (results, rows) = kept(simulation);
    (results, rows.0)
}

/// Runs plainly.
pub(crate) fn run(text: &str) -> (Results, Vec<FlowRow>) {
    run_with(text, &Options::new(scenario(text).seed.get()))
}

/// Runs the one flow of a scenario. `rules` corrupt frames on a link, data forward, answers back.
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

/// Runs with the given options and keeps what left on captured links.
pub(crate) fn capture_with(text: &str, options: &Options) -> (Results, Vec<Captured>) {
    let (results, rows) = kept(build(text, options));
    (results, rows.1)
}

/// Runs with the given options and keeps the samples.
pub(crate) fn series(text: &str, options: &Options) -> (Results, Vec<SeriesRow>) {
    let (results, rows) = kept(build(text, options));
    (results, rows.2)
}

fn build(text: &str, options: &Options) -> Simulation {
    Simulation::build(&scenario(text), &NoFiles, options).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}

fn kept(simulation: Simulation) -> (Results, Rows) {
    let mut rows = Rows::default();
    let results = simulation.run(&mut rows).expect("rows are kept in memory");
    (results, rows)
}

#[derive(Default)]
struct Rows(Vec<FlowRow>, Vec<Captured>, Vec<SeriesRow>);

impl Observer for Rows {
    fn on_row(&mut self, row: &FlowRow) -> Result<()> {
        self.0.push(*row);
        Ok(())
    }

    fn on_sample(&mut self, sample: &SeriesRow) -> Result<()> {
        self.2.push(*sample);
        Ok(())
    }

    fn on_frame(&mut self, captured: &Captured) -> Result<()> {
        self.1.push(*captured);
        Ok(())
    }
}

pub(crate) struct NoFiles;

impl Files for NoFiles {
    fn open(&self, name: &str) -> std::result::Result<Box<dyn BufRead>, String> {
        match name {
            "two.csv" => Ok(Box::new(Cursor::new("src,dst,bytes,start_ns\n0,1,5000,0\n1,0,100,250\n"))),
            "three.faults" => Ok(Box::new(Cursor::new("forth data 5 1\nforth data 5 2\nback missing 5 1\n"))),
            "bad.faults" => Ok(Box::new(Cursor::new("forth data 5 1\nforth data 5\n"))),
            _ => Err(format!("there is no `{name}`")),
        }
    }
}
