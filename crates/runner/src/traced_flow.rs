//! The packets of one flow of a run.

use std::io;
use std::ops::ControlFlow;

use wiremend_measure::{FlowRow, FlowSearch};
use wiremend_scenario::Variant;
use wiremend_sim::{EndReason, Observer, Options, Progress as Simulated, Results};
use wiremend_units::FlowId;

use crate::error::Error;
use crate::input::Input;
use crate::pool::Runner;
use crate::progress::Expected;

/// A run up to the end of one of its flows, with the packets of this flow.
pub struct TracedFlow {
    /// The results until then; [`Results::trace`] has the packets.
    pub results: Results,
    /// Names of nodes.
    pub names: Vec<String>,
    /// What was seen of the other flows.
    pub flows: FlowSearch,
}

impl Runner<'_> {
    /// Runs a variant until a flow has ended and records its packets. The trace is empty if the variant has no such
    /// flow.
    pub fn trace(
        &self,
        input: &Input,
        variant: &Variant,
        flow: u64,
        options: Options,
    ) -> Result<TracedFlow, Error> {
        self.search(input, variant, Some(flow), &Options { trace: Some(FlowId(flow)), ..options })
    }

    /// Returns the slowest flow of a variant; a flow that did not finish is slower than any other.
    pub fn slowest_flow(
        &self,
        input: &Input,
        variant: &Variant,
        options: &Options,
    ) -> Result<Option<u64>, Error> {
        Ok(self.search(input, variant, None, options)?.flows.slowest())
    }

    fn search(
        &self,
        input: &Input,
        variant: &Variant,
        flow: Option<u64>,
        options: &Options,
    ) -> Result<TracedFlow, Error> {
        let simulation = self.build(input, variant, options)?;
        let graph = simulation.graph();
        let names = graph.nodes().map(|node| graph.name(node).to_owned()).collect();
        let expected = Expected::new(&variant.scenario);
        let mut seen = Seen { runner: self, expected, flows: FlowSearch::new(flow) };
        let results = simulation.run(&mut seen).map_err(Error::File)?;
        match results.end_reason {
            EndReason::MemoryLimit => Err(Error::Memory {
                scenario: input.file.source().to_owned(),
                variant: variant.name.clone(),
                bytes_max: options.memory_bytes_max.unwrap_or(u64::MAX),
            }),
            EndReason::Interrupted if self.is_stopped() => Err(Error::Interrupted),
            _ => Ok(TracedFlow { results, names, flows: seen.flows }),
        }
    }
}

/// Looks for a flow while a run goes on.
struct Seen<'r> {
    runner: &'r Runner<'r>,
    expected: Expected,
    flows: FlowSearch,
}

impl Observer for Seen<'_> {
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        self.flows.add(row);
        Ok(())
    }

    fn on_progress(&mut self, progress: &Simulated) -> ControlFlow<()> {
        self.runner.report(self.expected.share(progress));
        if self.flows.has_ended() || self.runner.is_stopped() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
