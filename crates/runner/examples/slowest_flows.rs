//! Loads a scenario, changes it, runs it, and prints the slowest flow of each run.
//!
//!     cargo run --release -p wiremend-runner --example slowest_flows

use std::collections::BTreeMap;

use wiremend_measure::FlowRow;
use wiremend_report::RunId;
use wiremend_runner::{Input, Request, Runner};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let changes = ["workload.0.flows=2000".parse()?, "impair.0.rate=3e-7".parse()?];
    let input = Input::load("tour", &changes)?;
    let request = Request::new(&input).variants(&["go-back-n".to_owned()])?.seeds(4);

    let mut slowest: BTreeMap<u64, FlowRow> = BTreeMap::new();
    let mut on_flow = |run_id: RunId<'_>, row: &FlowRow| {
        let known = slowest.entry(run_id.seed).or_insert(*row);
        if row.fct() > known.fct() {
            *known = *row;
        }
        Ok(())
    };
    let batch = Runner::new().run_with(&request, &mut on_flow)?;

    for (seed, row) in slowest {
        println!(
            "seed {seed}: flow {} of {} B took {:.1} µs",
            row.flow,
            row.bytes,
            row.fct().as_secs_f64() * 1e6
        );
    }
    println!("{}", batch.sentences.join("\n"));
    Ok(())
}
