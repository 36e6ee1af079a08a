//! `sweep.html`: small multiples and a table.

use std::fmt::Write as _;

use wiremend_measure::Headline;
use wiremend_report::plot::{Axis as PlotAxis, Measured, Multiples, Panel, Scale, Unit};
use wiremend_report::{Document, DocumentPart, human, shell_quoted};

use crate::error::Error;
use crate::plan::Plan;
use crate::point_result::{Mean, PointResult};
use crate::record::FailedCell;
use crate::study::{ScenarioSource, Spacing, VARIANT};
use crate::sweep::Sweep;

/// Most rows of the table, panels of a drawing, and failed cells of the page; `cells.parquet` has all.
const ROWS_MAX: usize = 400;
const PANELS_MAX: usize = 12;
const FAILED_MAX: usize = 20;
/// Most curves that readers can tell apart.
const CURVES_MAX: usize = 12;
/// Ratio of the ends of positive values from which an axis is logarithmic.
const LOG_RATIO: f64 = 20.0;

/// A parameter of points: an axis, or the variant.
struct Dimension {
    name: String,
    /// Labels of its values in order.
    labels: Vec<String>,
    numbers: Option<Vec<f64>>,
    spacing: Spacing,
    /// By point: the number of its value.
    of_points: Vec<usize>,
}

/// Writes the page.
pub(crate) fn page(sweep: &Sweep, points: &[PointResult], failed: &[FailedCell], missing: usize) -> String {
    let (plan, study) = (sweep.plan(), sweep.plan().study());
    let scenario = match &study.scenario {
        ScenarioSource::Named(name, _) => format!("scenario {name} · "),
        ScenarioSource::Inline(_) => String::new(),
    };
    let cells = human::count(plan.cells().len() as u64);
    let origin = format!("{} · {scenario}{cells} cells · wiremend {}", study.source(), plan.version());
    let out = shell_quoted(&sweep.folder().path().display().to_string());
    let command = format!("wiremend sweep {} --out {out}", shell_quoted(study.source()));
    let parts = parts(plan, points, failed, missing, &[]);
    Document { title: study.name.clone(), origin, parts, command }.html()
}

/// Warnings, drawings and table of all results so far, for these numbers. If none is given: those of the study, or
/// common ones.
pub fn sweep_parts(sweep: &Sweep, wanted: &[Headline]) -> Result<Vec<DocumentPart>, Error> {
    let (plan, results) = (sweep.plan(), sweep.results()?);
    let points = PointResult::all(plan, &results);
    let missing = plan.cells().iter().filter(|cell| results.get(&cell.name).is_none()).count();
    Ok(parts(plan, &points, &sweep.failed(&results), missing, wanted))
}

fn parts(
    plan: &Plan,
    points: &[PointResult],
    failed: &[FailedCell],
    missing: usize,
    wanted: &[Headline],
) -> Vec<DocumentPart> {
    let mut parts = Vec::new();
    let about = plan.study().about.split_whitespace().collect::<Vec<_>>().join(" ");
    if !about.is_empty() {
        parts.push(DocumentPart::Text(about));
    }
    if missing > 0 {
        parts.push(DocumentPart::Warning(format!("{missing} cells have not run; their rows are empty.")));
    }
    for cell in failed.iter().take(FAILED_MAX) {
        parts.push(DocumentPart::Warning(format!("{}: {}", describe(plan, cell.cell), cell.message)));
    }
    if failed.len() > FAILED_MAX {
        parts.push(DocumentPart::Warning(format!("{} more cells failed.", failed.len() - FAILED_MAX)));
    }
    let dimensions = dimensions(plan);
    let metrics = if wanted.is_empty() { metrics(plan, points) } else { wanted.to_vec() };
    parts.push(DocumentPart::Heading("Plots".to_owned()));
    parts.push(DocumentPart::Text(interval_note(plan)));
    let roles = Roles::new(plan, &dimensions);
    for headline in &metrics {
        parts.push(DocumentPart::Drawing(roles.drawing(*headline, points).svg()));
    }
    if roles.hidden_panels > 0 {
        let why = format!("{} more panels are in cells.parquet.", roles.hidden_panels);
        parts.push(DocumentPart::Text(why));
    }
    parts.push(DocumentPart::Heading("Table".to_owned()));
    parts.push(table(&dimensions, &metrics, points));
    if points.len() > ROWS_MAX {
        parts
            .push(DocumentPart::Text(format!("{} more rows are in cells.parquet.", points.len() - ROWS_MAX)));
    }
    parts
}

fn interval_note(plan: &Plan) -> String {
    let seeds = plan.cells().iter().filter(|cell| cell.point == 0).count();
    if seeds > 1 {
        format!("Means over {seeds} seeds with 95 % intervals. A number that not all seeds have is left out.")
    } else {
        "One seed for each point: no intervals.".to_owned()
    }
}

/// Names the cell by its parameters: `loss 0.001, scheme irn, seed 3`.
pub fn describe(plan: &Plan, cell: usize) -> String {
    let cell = &plan.cells()[cell];
    let mut text = String::new();
    for (number, axis) in plan.axes().iter().enumerate() {
        let _ = write!(text, "{} {}, ", axis.name, plan.value(cell.point, number));
    }
    if plan.variants().len() > 1 {
        let _ = write!(text, "variant {}, ", plan.points()[cell.point].variant);
    }
    let _ = write!(text, "seed {}", cell.seed);
    text
}

/// Parameters with more than one value. Of axes that advance together, the first stands for all.
fn dimensions(plan: &Plan) -> Vec<Dimension> {
    let mut dimensions = Vec::new();
    for group in plan.study().groups() {
        let axis = &plan.axes()[group[0]];
        let numbers = axis.choices.iter().map(|choice| choice.value.number()).collect();
        dimensions.push(Dimension {
            name: axis.name.clone(),
            labels: axis.choices.iter().map(|choice| choice.value.to_string()).collect(),
            numbers,
            spacing: axis.spacing,
            of_points: plan.points().iter().map(|point| point.choices[group[0]]).collect(),
        });
    }
    let variants = plan.variants();
    let number =
        |name: &String| variants.iter().position(|other| other == name).expect("a variant of the plan");
    dimensions.push(Dimension {
        name: VARIANT.to_owned(),
        labels: variants.to_vec(),
        numbers: None,
        spacing: Spacing::Linear,
        of_points: plan.points().iter().map(|point| number(&point.variant)).collect(),
    });
    dimensions.retain(|dimension| dimension.labels.len() > 1);
    dimensions
}

/// The numbers to draw: those of the study, or the common ones that the points have.
fn metrics(plan: &Plan, points: &[PointResult]) -> Vec<Headline> {
    let wanted = &plan.study().output.metrics;
    if !wanted.is_empty() {
        return wanted.clone();
    }
    let has = |headline: &Headline| points.iter().any(|point| point.means.contains_key(headline));
    let slow = [Headline::JobMean, Headline::FctP99, Headline::FctMax].into_iter().find(has);
    let others = [Headline::FctMean, Headline::FlowsWithTimeout, Headline::Goodput].into_iter().filter(has);
    slow.into_iter().chain(others).collect()
}

/// Which parameter is where in a drawing.
struct Roles<'a> {
    x: Option<&'a Dimension>,
    curves: Option<&'a Dimension>,
    /// The others, crossed.
    panels: Vec<&'a Dimension>,
    /// Values of the others: each panel once, in the order of points.
    shown: Vec<Vec<usize>>,
    hidden_panels: usize,
}

impl<'a> Roles<'a> {
    fn new(plan: &Plan, dimensions: &'a [Dimension]) -> Self {
        let output = &plan.study().output;
        let named = |name: &Option<String>| dimensions.iter().find(|one| Some(&one.name) == name.as_ref());
        let (x, curves, panel) = (named(&output.x), named(&output.curves), named(&output.panels));
        let mut rest: Vec<&Dimension> = dimensions.iter().collect();
        let mut remove =
            |one: Option<&'a Dimension>| rest.retain(|other| one.is_none_or(|one| one.name != other.name));
        [x, curves, panel].into_iter().for_each(&mut remove);
        let mut take = |is_fit: &dyn Fn(&Dimension) -> bool| {
            let fit = rest.iter().enumerate().filter(|(_, one)| is_fit(one));
            // Of several with as many values, the first.
            let best = fit
                .max_by_key(|(number, one)| (one.labels.len(), usize::MAX - number))
                .map(|(number, _)| number);
            best.map(|number| rest.remove(number))
        };
        let x = x.or_else(|| take(&|one| one.numbers.is_some())).or_else(|| take(&|_| true));
        let curves = curves.or_else(|| take(&|one| one.labels.len() <= CURVES_MAX));
        let panels: Vec<&Dimension> = panel.into_iter().chain(rest).collect();
        let mut all: Vec<Vec<usize>> = Vec::new();
        for point in 0..plan.points().len() {
            let values = panels.iter().map(|one| one.of_points[point]).collect();
            if !all.contains(&values) {
                all.push(values);
            }
        }
        all.sort();
        let hidden_panels = all.len().saturating_sub(PANELS_MAX);
        all.truncate(PANELS_MAX);
        Self { x, curves, panels, shown: all, hidden_panels }
    }

    fn drawing(&self, headline: Headline, points: &[PointResult]) -> Multiples {
        let unit = unit(headline);
        let panels: Vec<Panel> =
            self.shown.iter().map(|values| self.panel(values, headline, points)).collect();
        let all = panels.iter().flat_map(|panel| panel.points.iter().flatten().map(|point| point.mean));
        let scale = if is_wide(all) { Scale::Log } else { Scale::Linear };
        let (x, names) = self.x_axis();
        Multiples {
            title: headline_title(headline).to_owned(),
            description: format!("{} of each point", headline_title(headline)),
            x,
            names,
            y: PlotAxis::new("", scale, unit),
            curves: self.curves.map_or_else(Vec::new, |one| {
                one.labels.iter().map(|label| format!("{} {label}", one.name)).collect()
            }),
            panels,
        }
    }

    fn panel(&self, values: &[usize], headline: Headline, points: &[PointResult]) -> Panel {
        let title =
            self.panels.iter().zip(values).map(|(one, value)| format!("{} {}", one.name, one.labels[*value]));
        let mut curves = vec![Vec::new(); self.curves.map_or(1, |one| one.labels.len())];
        for (point, result) in points.iter().enumerate() {
            let is_here = self.panels.iter().zip(values).all(|(one, value)| one.of_points[point] == *value);
            let Some(Mean { mean, over }) = result.means.get(&headline).filter(|_| is_here) else {
                continue;
            };
            let x = self.x.map_or(0.0, |one| {
                let value = one.of_points[point];
                one.numbers.as_ref().map_or(value as f64, |numbers| numbers[value])
            });
            let interval = over.map(|over| (over.low, over.high));
            let curve = self.curves.map_or(0, |one| one.of_points[point]);
            curves[curve].push(Measured { x, mean: *mean, interval });
        }
        for curve in &mut curves {
            curve.sort_by(|a: &Measured, b| a.x.total_cmp(&b.x));
        }
        Panel { title: title.collect::<Vec<_>>().join(", "), points: curves }
    }

    /// The horizontal axis, and names of its positions if it has no numbers.
    fn x_axis(&self) -> (PlotAxis, Vec<String>) {
        let Some(one) = self.x else {
            return (
                PlotAxis::new("", Scale::Linear, Unit::Number).with_range(-1.0, 1.0),
                vec![String::new()],
            );
        };
        let Some(numbers) = &one.numbers else {
            let last = one.labels.len() as f64 - 1.0;
            let axis = PlotAxis::new(&one.name, Scale::Linear, Unit::Number).with_range(-0.5, last + 0.5);
            return (axis, one.labels.clone());
        };
        let is_log = one.spacing == Spacing::Log || is_wide(numbers.iter().copied());
        let scale =
            if is_log && numbers.iter().all(|number| *number > 0.0) { Scale::Log } else { Scale::Linear };
        (PlotAxis::new(&one.name, scale, Unit::Number), Vec::new())
    }
}

/// Whether positive values span more than a factor of twenty.
fn is_wide(values: impl Iterator<Item = f64>) -> bool {
    let (low, high) =
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    low > 0.0 && high / low > LOG_RATIO
}

fn table(dimensions: &[Dimension], metrics: &[Headline], points: &[PointResult]) -> DocumentPart {
    let names = dimensions.iter().map(|one| one.name.clone());
    let columns = names.chain(metrics.iter().map(|headline| headline_title(*headline).to_owned())).collect();
    let row = |(number, point): (usize, &PointResult)| {
        let values = dimensions.iter().map(|one| one.labels[one.of_points[number]].clone());
        let numbers = metrics.iter().map(|headline| shown(*headline, point.means.get(headline)));
        values.chain(numbers).collect()
    };
    DocumentPart::Table { columns, rows: points.iter().enumerate().take(ROWS_MAX).map(row).collect() }
}

/// A mean with the longer side of its interval, in its unit.
pub(crate) fn shown(headline: Headline, mean: Option<&Mean>) -> String {
    let Some(Mean { mean, over }) = mean else { return "–".to_owned() };
    let side = over.map(|over| over.longer_side());
    let text = |alone: fn(f64) -> String, with_side: fn(f64, f64) -> String| match side {
        Some(side) => with_side(*mean, side),
        None => alone(*mean),
    };
    match unit(headline) {
        Unit::TimeNs => text(human::time_ns, human::time_ns_interval),
        Unit::Bytes => text(human::bytes, human::bytes_interval),
        Unit::RateBps => text(human::rate_bps, human::rate_bps_interval),
        Unit::Percent => text(|fraction| format!("{} %", human::percent(fraction)), human::percent_interval),
        Unit::Number if headline.key().starts_with("slowdown") => text(human::factor, human::factor_interval),
        Unit::Number => text(|count| human::count(count.round() as u64), human::count_interval),
    }
}

/// The unit, which the name in files tells.
fn unit(headline: Headline) -> Unit {
    match headline.key() {
        key if key.ends_with("_ns") => Unit::TimeNs,
        key if key.ends_with("_bytes") => Unit::Bytes,
        key if key.ends_with("_bps") => Unit::RateBps,
        "finished_fraction" | "flows_with_timeout" => Unit::Percent,
        _ => Unit::Number,
    }
}

/// The name of a number in drawings and tables.
pub fn headline_title(headline: Headline) -> &'static str {
    match headline {
        Headline::Finished => "Finished flows",
        Headline::FctP50 => "Median completion time",
        Headline::FctP99 => "99th percentile of the completion time",
        Headline::FctP999 => "99.9th percentile of the completion time",
        Headline::FctMax => "Longest completion time",
        Headline::FctMean => "Mean completion time",
        Headline::SlowdownP99 => "99th percentile of the slowdown",
        Headline::SlowdownMean => "Mean slowdown",
        Headline::JobMean => "Mean job completion time",
        Headline::JobMax => "Longest job completion time",
        Headline::Timeouts => "Timeouts",
        Headline::FlowsWithTimeout => "Flows with a timeout",
        Headline::Lost => "Lost frames",
        Headline::Resent => "Retransmitted bytes",
        Headline::Extra => "Extra bytes",
        Headline::Pauses => "PFC pauses",
        Headline::Trimmed => "Trimmed packets",
        Headline::Goodput => "Goodput",
    }
}
