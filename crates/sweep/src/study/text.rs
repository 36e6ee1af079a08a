//! Reads a study file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Spanned, Table, Value};
use wiremend_measure::Headline;
use wiremend_scenario::{Error as TextError, Override, read_toml};
use wiremend_units::{canonical_name, unknown_name};

use super::axis::{Axis, AxisText, Flaw, PlacedOverride};
use super::condition::Condition;
use super::inline;

/// A study: a scenario and the axes over which it is run.
#[derive(Clone, PartialEq, Debug)]
pub struct Study {
    /// Name of the study; a folder of results belongs to one study.
    pub name: String,
    /// Purpose, for the page.
    pub about: String,
    /// The scenario.
    pub scenario: ScenarioSource,
    /// Changes in all cells.
    pub sets: Vec<PlacedOverride>,
    /// Variants of the scenario that are run; all if empty.
    pub variants: Vec<String>,
    /// Seeds of each point.
    pub seeds: Seeds,
    /// Axes in the order of the file.
    pub axes: Vec<Axis>,
    /// A cell is left out if it satisfies all conditions of one entry, by column.
    pub excludes: Vec<Vec<(String, Condition)>>,
    /// What is written.
    pub output: Output,
    source: String,
    text: String,
}

/// Where the scenario of a study is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScenarioSource {
    /// A name of the library, or a path relative to the study file; and its offset there.
    Named(String, usize),
    /// The text inside the study.
    Inline(String),
}

/// Seeds of each point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seeds {
    /// This many consecutive seeds from the seed of the scenario.
    Count(u64),
    /// These.
    Listed(Vec<u64>),
}

/// What is written besides `cells.parquet`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Output {
    /// Also write `cells.csv`.
    pub csv: bool,
    /// Axis along the horizontal axis of drawings.
    pub x: Option<String>,
    /// Axis with one curve for each value.
    pub curves: Option<String>,
    /// Axis with one panel for each value.
    pub panels: Option<String>,
    /// Drawn numbers.
    pub metrics: Vec<Headline>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct StudyText {
    name: Spanned<String>,
    #[serde(default)]
    about: String,
    scenario: Spanned<Value>,
    #[serde(default)]
    set: Option<Spanned<Table>>,
    #[serde(default)]
    variants: Vec<String>,
    seeds: Option<Spanned<Value>>,
    #[serde(rename = "axis")]
    axes: Option<Spanned<Vec<Spanned<AxisText>>>>,
    #[serde(default, rename = "exclude")]
    excludes: Vec<BTreeMap<Spanned<String>, Spanned<Value>>>,
    #[serde(default)]
    output: OutputText,
}

#[derive(Deserialize, Debug, Default)]
#[serde(default, deny_unknown_fields)]
struct OutputText {
    csv: bool,
    x: Option<Spanned<String>>,
    curves: Option<Spanned<String>>,
    panels: Option<Spanned<String>>,
    metrics: Vec<Spanned<String>>,
}

/// Column of the variant.
pub(crate) const VARIANT: &str = "variant";
/// Column of the seed.
pub(crate) const SEED: &str = "seed";
/// Columns that are not axes.
const RESERVED: [&str; 8] = ["cell", "point", SEED, VARIANT, "flows", "finished", "digest", "error"];
/// Most seeds of a point.
const SEEDS_MAX: i64 = 1_000_000;

impl Study {
    /// Reads the text of a study; `source` names it in messages.
    pub fn parse(source: &str, text: &str) -> Result<Self, TextError> {
        let written: StudyText = read_toml(source, text)?;
        read(written, source, text).map_err(|(at, why)| TextError::at(source, text, at, &why))
    }

    /// Returns an error at an offset of the file.
    pub fn error(&self, place: usize, message: &str) -> TextError {
        TextError::at(&self.source, &self.text, place, message)
    }

    /// Name of the file.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Path of the scenario's file, relative to the directory of the program.
    pub fn scenario_path(&self, name: &str) -> PathBuf {
        Path::new(&self.source).parent().unwrap_or(Path::new("")).join(name)
    }

    /// Returns the axis of a name.
    pub fn axis(&self, name: &str) -> Option<&Axis> {
        self.axes.iter().find(|axis| axis.name == name)
    }

    /// Groups of axes that advance together, by number; each group varies against the others.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (number, axis) in self.axes.iter().enumerate() {
            let joined = |group: &&mut Vec<usize>| axis.zip.is_some() && self.axes[group[0]].zip == axis.zip;
            match groups.iter_mut().find(joined) {
                Some(group) => group.push(number),
                None => groups.push(vec![number]),
            }
        }
        groups
    }
}

fn read(written: StudyText, source: &str, text: &str) -> Result<Study, Flaw> {
    let name = written.name.get_ref().trim().to_owned();
    if name.is_empty() || name.contains(char::is_control) {
        return Err((written.name.span().start, "a study needs a name in one line".to_owned()));
    }
    let at = written.scenario.span().start;
    let scenario = match written.scenario.get_ref() {
        Value::String(name) if !name.trim().is_empty() => ScenarioSource::Named(name.trim().to_owned(), at),
        Value::Table(table) => ScenarioSource::Inline(inline::extract(text, table)),
        _ => return Err((at, "`scenario` is a name, a path, or a table [scenario]".to_owned())),
    };
    let axes = written.axes.map_or(Ok(Vec::new()), axes)?;
    check_names(&axes)?;
    let mut study = Study {
        name,
        about: written.about,
        scenario,
        sets: written.set.as_ref().map(sets).unwrap_or_default(),
        variants: written.variants,
        seeds: written.seeds.as_ref().map_or(Ok(Seeds::Count(1)), seeds)?,
        axes,
        excludes: Vec::new(),
        output: Output::default(),
        source: source.to_owned(),
        text: text.to_owned(),
    };
    check_zips(&study)?;
    study.excludes =
        written.excludes.iter().map(|written| exclude(&study, written)).collect::<Result<_, _>>()?;
    study.output = output(&study, &written.output)?;
    Ok(study)
}

/// Reads the axes. A study without axes has only variants and seeds; an empty list is a mistake.
fn axes(written: Spanned<Vec<Spanned<AxisText>>>) -> Result<Vec<Axis>, Flaw> {
    if written.get_ref().is_empty() {
        let why = "`axis` is empty; write an `[[axis]]` with a `path` and `values`, or leave `axis` out";
        return Err((written.span().start, why.to_owned()));
    }
    let axis = |axis: Spanned<AxisText>| {
        let place = axis.span().start;
        axis.into_inner().read(place)
    };
    written.into_inner().into_iter().map(axis).collect()
}

fn check_names(axes: &[Axis]) -> Result<(), Flaw> {
    for (number, axis) in axes.iter().enumerate() {
        let name = &axis.name;
        let is_taken = RESERVED.contains(&name.as_str())
            || Headline::ALL.iter().any(|headline| name.starts_with(headline.key()));
        if is_taken {
            return Err((
                axis.place,
                format!("`{name}` is a column of the results; give the axis another `name`"),
            ));
        }
        if axes[..number].iter().any(|other| other.name == *name) {
            return Err((axis.place, format!("two axes are called `{name}`; give one another `name`")));
        }
    }
    Ok(())
}

fn check_zips(study: &Study) -> Result<(), Flaw> {
    for group in study.groups() {
        let first = &study.axes[group[0]];
        for other in group.iter().map(|number| &study.axes[*number]) {
            let (here, there) = (first.choices.len(), other.choices.len());
            if here != there {
                let why = format!(
                    "axes that advance together have equal numbers of values: `{}` has {here} and `{}` has {there}",
                    first.name, other.name
                );
                return Err((other.place, why));
            }
        }
    }
    Ok(())
}

fn sets(written: &Spanned<Table>) -> Vec<PlacedOverride> {
    let place = written.span().start;
    let set = |(path, value): (&String, &Value)| PlacedOverride {
        set: Override { path: path.clone(), value: value.to_string() },
        place,
    };
    written.get_ref().iter().map(set).collect()
}

fn seeds(written: &Spanned<Value>) -> Result<Seeds, Flaw> {
    let refused = || {
        let why = format!("`seeds` is a number from 1 to {SEEDS_MAX}, or a list of different seeds");
        (written.span().start, why)
    };
    match written.get_ref() {
        Value::Integer(count @ 1..=SEEDS_MAX) => Ok(Seeds::Count(*count as u64)),
        Value::Array(list) if !list.is_empty() => {
            let seed = |value: &Value| value.as_integer().and_then(|seed| u64::try_from(seed).ok());
            let seeds: Vec<u64> = list.iter().map(seed).collect::<Option<_>>().ok_or_else(refused)?;
            let is_repeated = |(number, seed): (usize, &u64)| seeds[..number].contains(seed);
            if seeds.iter().enumerate().any(is_repeated) { Err(refused()) } else { Ok(Seeds::Listed(seeds)) }
        }
        _ => Err(refused()),
    }
}

fn exclude(
    study: &Study,
    written: &BTreeMap<Spanned<String>, Spanned<Value>>,
) -> Result<Vec<(String, Condition)>, Flaw> {
    let condition = |(name, value): (&Spanned<String>, &Spanned<Value>)| {
        let column = column(study, name, &[SEED, VARIANT])?;
        Ok((column, Condition::read(value)?))
    };
    written.iter().map(condition).collect()
}

/// Returns an axis by any spelling of its name, or one of the other columns.
fn column(study: &Study, name: &Spanned<String>, others: &[&str]) -> Result<String, Flaw> {
    let names = study.axes.iter().map(|axis| axis.name.as_str());
    let known: Vec<&str> = names.chain(others.iter().copied()).collect();
    let found = canonical_name(name.get_ref(), &known).map(str::to_owned);
    found.ok_or_else(|| (name.span().start, unknown_name("axis", name.get_ref(), &known)))
}

fn output(study: &Study, written: &OutputText) -> Result<Output, Flaw> {
    let axis = |name: &Option<Spanned<String>>| {
        name.as_ref().map(|name| column(study, name, &[VARIANT])).transpose()
    };
    let metric = |name: &Spanned<String>| {
        let known = Headline::ALL.map(Headline::key);
        let found = canonical_name(name.get_ref(), &known);
        let found = found.and_then(|found| Headline::ALL.into_iter().find(|one| one.key() == found));
        found.ok_or_else(|| (name.span().start, unknown_name("metric", name.get_ref(), &known)))
    };
    Ok(Output {
        csv: written.csv,
        x: axis(&written.x)?,
        curves: axis(&written.curves)?,
        panels: axis(&written.panels)?,
        metrics: written.metrics.iter().map(metric).collect::<Result<_, _>>()?,
    })
}
