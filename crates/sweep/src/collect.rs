//! One table of all results.

use wiremend_measure::Headline;
use wiremend_report::{TidyColumn, TidyTable, write_atomic};

use crate::error::Error;
use crate::page;
use crate::plan::Plan;
use crate::point_result::PointResult;
use crate::record::{FailedCell, Outcome, Record, Results};
use crate::study::{AxisValue, SEED, VARIANT};
use crate::sweep::Sweep;

/// What was collected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collected {
    /// Cells of the table.
    pub cells: usize,
    /// Cells without a result.
    pub missing: usize,
    /// Cells that failed.
    pub failed: Vec<FailedCell>,
    /// Names of the files in the folder.
    pub files: Vec<&'static str>,
}

const TABLE: &str = "cells.parquet";
const TEXT: &str = "cells.csv";
const PAGE: &str = "sweep.html";
/// Key of the metadata of the table.
const METADATA: &str = "wiremend";

/// Writes `cells.parquet`, `sweep.html`, and `cells.csv` if the study asks for it. The table has the same bytes
/// wherever and in whatever order the cells ran.
pub fn collect(sweep: &Sweep) -> Result<Collected, Error> {
    let (plan, results) = (sweep.plan(), sweep.results()?);
    let points = PointResult::all(plan, &results);
    let failed = sweep.failed(&results);
    let missing = plan.cells().iter().filter(|cell| results.get(&cell.name).is_none()).count();
    let table = table(plan, &results, &points);
    let folder = sweep.folder().path();
    let stored = |what: std::io::Result<()>| what.map_err(|error| Error::Environment(error.to_string()));
    let mut files = vec![TABLE, PAGE];
    stored(table.write_parquet(&folder.join(TABLE), &[(METADATA, &metadata(plan))]))?;
    if plan.study().output.csv {
        stored(table.write_csv(&folder.join(TEXT)))?;
        files.push(TEXT);
    }
    stored(write_atomic(&folder.join(PAGE), &page::page(sweep, &points, &failed, missing)))?;
    Ok(Collected { cells: plan.cells().len(), missing, failed, files })
}

/// How the table was made. Nothing in it depends on the machine.
fn metadata(plan: &Plan) -> String {
    serde_json::json!({
        "version": plan.version(),
        "study": plan.study().text(),
        "scenario": plan.base().file.text(),
    })
    .to_string()
}

/// A row for each cell: parameters, seed, headline numbers, and means over the seeds of its point.
fn table(plan: &Plan, results: &Results, points: &[PointResult]) -> TidyTable {
    let mut table = TidyTable::default();
    let cells = plan.cells();
    let records: Vec<Option<&Record>> = cells.iter().map(|cell| results.get(&cell.name)).collect();
    let text = |of: &dyn Fn(usize) -> Option<String>| TidyColumn::Text((0..cells.len()).map(of).collect());
    let int = |of: &dyn Fn(usize) -> Option<i64>| TidyColumn::Int((0..cells.len()).map(of).collect());
    let float = |of: &dyn Fn(usize) -> Option<f64>| TidyColumn::Float((0..cells.len()).map(of).collect());
    table.push("cell", text(&|row| Some(cells[row].name.clone())));
    table.push("point", int(&|row| Some(cells[row].point as i64)));
    for (number, axis) in plan.axes().iter().enumerate() {
        let value = |row: usize| plan.value(cells[row].point, number);
        let column = match &axis.choices[0].value {
            AxisValue::Int(_) => int(&|row| match value(row) {
                AxisValue::Int(number) => Some(*number),
                _ => None,
            }),
            AxisValue::Float(_) => float(&|row| value(row).number()),
            AxisValue::Text(_) => text(&|row| Some(value(row).to_string())),
        };
        table.push(&axis.name, column);
    }
    table.push(VARIANT, text(&|row| Some(plan.points()[cells[row].point].variant.clone())));
    table.push(SEED, int(&|row| Some(i64::try_from(cells[row].seed).unwrap_or(i64::MAX))));
    let done = |row: usize| match records[row].map(|record| &record.outcome) {
        Some(Outcome::Done { flows, finished, digest, values }) => Some((*flows, *finished, digest, values)),
        _ => None,
    };
    table.push("flows", int(&|row| done(row).map(|(flows, ..)| flows as i64)));
    table.push("finished", int(&|row| done(row).map(|(_, finished, ..)| finished as i64)));
    for headline in Headline::ALL {
        table.push(headline.key(), float(&|row| done(row)?.3.get(headline.key()).copied()));
    }
    for headline in Headline::ALL {
        let over = |row: usize| points[cells[row].point].means.get(&headline);
        let name = |what: &str| format!("{}_{what}", headline.key());
        table.push(name("mean"), float(&|row| over(row).map(|mean| mean.mean)));
        table.push(name("low"), float(&|row| over(row)?.over.map(|over| over.low)));
        table.push(name("high"), float(&|row| over(row)?.over.map(|over| over.high)));
    }
    table.push("digest", text(&|row| done(row).map(|(.., digest, _)| digest.clone())));
    let error = |row: usize| match records[row].map(|record| &record.outcome) {
        Some(Outcome::Done { .. }) => None,
        Some(Outcome::Failed(message)) => Some(message.clone()),
        None => Some("not run".to_owned()),
    };
    table.push("error", text(&error));
    table
}
