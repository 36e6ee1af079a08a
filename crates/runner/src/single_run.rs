//! One run inside the pool, for programs that arrange runs themselves.

use std::io;

use wiremend_measure::{FlowRow, GoodputMeter, SeedResult, VariantSummary};
use wiremend_scenario::Variant;
use wiremend_sim::Observer;

use crate::error::Error;
use crate::input::Input;
use crate::pool::WorkItem;

/// Results of one run.
pub struct SingleRun {
    /// Its summary.
    pub summary: VariantSummary,
    /// Its headline numbers.
    pub result: SeedResult,
}

impl WorkItem<'_> {
    /// Runs a variant with a seed, without files.
    pub fn run_single(&self, input: &Input, variant: &Variant, seed: u64) -> Result<SingleRun, Error> {
        let options = self.options(seed);
        let simulation = self.runner().build(input, variant, &options)?;
        let window = variant.scenario.measure.as_ref();
        let goodput = GoodputMeter::new(window.map(|window| (window.from.as_ps(), window.until.as_ps())));
        let mut meter = Meter(goodput);
        let results = self.run(simulation, input.file.source(), variant, &options, &mut meter)?;
        let summary = VariantSummary { goodput: meter.0.goodput(), ..results.summary(&variant.name) };
        let result = SeedResult::new(seed, &summary);
        Ok(SingleRun { summary, result })
    }
}

struct Meter(GoodputMeter);

impl Observer for Meter {
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        self.0.add(row);
        Ok(())
    }
}
