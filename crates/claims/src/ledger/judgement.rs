//! Collects what was measured for a claim. The verdict is computed from it.

use std::fmt::Display;
use std::mem;

use wiremend_report::ledger::{Band, Check, Correction, Explanation, Figure, Measured, Table};
use wiremend_report::plot::{Bars, Plot};

use super::number::{Number, Test, count, number};

/// Checks of a claim, the remedies of misses, a table and drawings.
#[derive(Default)]
pub(crate) struct Judgement {
    pub(super) checks: Vec<Check>,
    pub(super) corrections: Vec<Correction>,
    pub(super) explanations: Vec<Explanation>,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    pub(super) figures: Vec<Figure>,
}

/// Place of a check of a printed figure.
#[derive(Clone, Copy)]
pub(crate) struct Printed(usize);

impl Judgement {
    /// Adds a check of our own, which must hold.
    pub(crate) fn must(&mut self, what: impl Into<String>, test: Test) {
        self.check(what.into(), test, false);
    }

    /// Adds a check that something never happens.
    pub(crate) fn none(&mut self, what: impl Into<String>, events: u64) {
        self.must(what, count(events).is(0));
    }

    /// Adds a check that something happens.
    pub(crate) fn some(&mut self, what: impl Into<String>, events: u64) {
        self.must(what, number(events as f64).at_least(1.0));
    }

    /// Adds a check of a figure that the paper prints.
    pub(crate) fn printed(&mut self, what: impl Into<String>, test: Test) -> Printed {
        self.check(what.into(), test, true);
        Printed(self.checks.len() - 1)
    }

    /// Adds a check of a printed figure whose exact derivation gives `exact`, with which the measured value has
    /// to agree within `part`.
    pub(crate) fn derived(
        &mut self,
        what: impl Into<String>,
        test: Test,
        cause: &str,
        exact: f64,
        part: f64,
    ) -> Printed {
        let band = match test.band {
            Band::Expected { .. } => Band::Expected { value: exact, part },
            _ => Band::Near { value: exact, part },
        };
        let printed = self.printed(what, test);
        self.corrections.push(Correction { check: printed.0, cause: cause.to_owned(), exact, band });
        printed
    }

    /// Adds a cause of differences from printed figures, with the values measured while it was applied.
    /// `free_values` were chosen with these figures in view.
    pub(crate) fn explain(&mut self, cause: &str, free_values: usize, figures: &[(Printed, Number)]) {
        let figures = figures.iter().map(|(Printed(place), number)| (*place, Measured::Value(number.value)));
        self.explanations.push(Explanation {
            cause: cause.to_owned(),
            free_values,
            figures: figures.collect(),
        });
    }

    /// Sets the column heads of the table, separated by `|`.
    pub(crate) fn columns(&mut self, columns: &str) {
        self.columns = columns.split('|').map(|column| column.trim().to_owned()).collect();
    }

    /// Adds a table.
    pub(crate) fn table(&mut self, columns: &str, rows: Vec<Vec<String>>) {
        self.columns(columns);
        self.rows.extend(rows);
    }

    /// Adds a row to the table.
    pub(crate) fn row<const CELLS: usize>(&mut self, name: impl Display, cells: [&dyn Display; CELLS]) {
        let cells = cells.iter().map(ToString::to_string);
        self.rows.push([name.to_string()].into_iter().chain(cells).collect());
    }

    /// Adds a plot. `name` is the file name: the id of the claim, and a suffix if it has several figures.
    pub(crate) fn plot(&mut self, name: &str, plot: &Plot) {
        self.figures.push(Figure { name: name.to_owned(), caption: plot.title.clone(), svg: plot.svg() });
    }

    /// Adds a bar chart.
    pub(crate) fn bars(&mut self, name: &str, bars: &Bars) {
        self.figures.push(Figure { name: name.to_owned(), caption: bars.title.clone(), svg: bars.svg() });
    }

    pub(super) fn take_table(&mut self) -> Option<Table> {
        let (columns, rows) = (mem::take(&mut self.columns), mem::take(&mut self.rows));
        (!columns.is_empty()).then_some(Table { columns, rows })
    }

    fn check(&mut self, what: String, test: Test, printed: bool) {
        let Test { unit, band, measured } = test;
        self.checks.push(Check { what, unit, band, measured, printed });
    }
}
