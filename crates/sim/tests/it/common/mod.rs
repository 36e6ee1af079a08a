//! Scenarios as text, run to the end.

use std::io::{BufRead, Cursor, Result};

use wiremend_measure::{FlowRow, SeriesRow};
use wiremend_scenario::Scenario;
use wiremend_sim::{Captured, Files, Observer, Options, Results, Simulation};

/// The first variant of a scenario.
pub(crate) fn scenario(text: &str) -> Scenario {
    let file =
        wiremend_scenario::load("test.toml", text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    file.variants.into_iter().next().expect("a file has a variant").scenario
}

/// Runs with the given options and keeps the rows.
pub(crate) fn run_with(text: &str, options: &Options) -> (Results, Vec<FlowRow>) {
    let simulation = Simulation::build(&scenario(text), &NoFiles, options)
        .unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let mut rows = Rows::default();
    let results = simulation.run(&mut rows).expect("rows are kept in memory");
    (results, rows.0)
}

/// Runs what is built already and keeps the rows.
pub(crate) fn rows_of(simulation: Simulation) -> (Results, Vec<FlowRow>) {
    let mut rows = Rows::default();
    let results = simulation.run(&mut rows).expect("rows are kept in memory");
    (results, rows.0)
}

/// Runs plainly.
pub(crate) fn run(text: &str) -> (Results, Vec<FlowRow>) {
    run_with(text, &Options::new(scenario(text).seed.get()))
}

/// Runs with the given options and keeps what left on captured links.
pub(crate) fn capture_with(text: &str, options: &Options) -> (Results, Vec<Captured>) {
    let simulation = Simulation::build(&scenario(text), &NoFiles, options)
        .unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let mut rows = Rows::default();
    let results = simulation.run(&mut rows).expect("frames are kept in memory");
    (results, rows.1)
}

/// Runs with the given options and keeps the samples.
pub(crate) fn series(text: &str, options: &Options) -> (Results, Vec<SeriesRow>) {
    let simulation = Simulation::build(&scenario(text), &NoFiles, options)
        .unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let mut rows = Rows::default();
    let results = simulation.run(&mut rows).expect("samples are kept in memory");
    (results, rows.2)
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
