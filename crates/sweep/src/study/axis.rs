//! Axes: values in order, and what each changes in the scenario.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use toml::{Spanned, Table, Value};
use wiremend_scenario::Override;

/// A parameter of a sweep.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Name of its column.
    pub name: String,
    /// Its values in order, at least one.
    pub choices: Vec<Choice>,
    /// Spacing of the values, for drawings.
    pub spacing: Spacing,
    /// Name of the group of axes that advance together.
    pub zip: Option<String>,
    /// Offset of the axis in the file.
    pub place: usize,
}

/// A value of an axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// The value in tables.
    pub value: AxisValue,
    /// What it changes.
    pub sets: Vec<PlacedOverride>,
}

/// A change of the scenario, and its offset in the study file.
#[derive(Clone, PartialEq, Debug)]
pub struct PlacedOverride {
    /// The change.
    pub set: Override,
    /// Where it is written.
    pub place: usize,
}

/// A value in a table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AxisValue {
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
}

impl AxisValue {
    /// Returns the number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            Self::Text(_) => None,
        }
    }

    /// Returns whether both are the same number or text, whatever the type of the number.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self.number(), other.number()) {
            (Some(a), Some(b)) => a.total_cmp(&b).is_eq(),
            (None, None) => self == other,
            _ => false,
        }
    }

    /// Converts a value of TOML; `None` for lists and tables.
    pub(super) fn from_toml(value: &Value) -> Option<Self> {
        match value {
            Value::Integer(number) => Some(Self::Int(*number)),
            Value::Float(number) => Some(Self::Float(*number)),
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Boolean(truth) => Some(Self::Text(truth.to_string())),
            Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
        }
    }

    /// The number without an exponent, for a quantity with a unit.
    fn plain(&self) -> String {
        match self {
            Self::Int(number) => number.to_string(),
            Self::Float(number) => format!("{number}"),
            Self::Text(text) => text.clone(),
        }
    }
}

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number:?}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// How the values of an axis are spaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Equal differences.
    #[default]
    Linear,
    /// Equal ratios.
    Log,
}

/// `[[axis]]` as written.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct AxisText {
    name: Option<Spanned<String>>,
    path: Option<Spanned<Paths>>,
    values: Option<Spanned<Vec<Spanned<Value>>>>,
    from: Option<Spanned<Value>>,
    to: Option<Spanned<Value>>,
    step: Option<Spanned<Value>>,
    points: Option<Spanned<u32>>,
    spacing: Option<Spanned<Spacing>>,
    unit: Option<Spanned<String>>,
    case: Option<Spanned<Vec<CaseText>>>,
    zip: Option<Spanned<String>>,
}

#[derive(Deserialize, Debug)]
#[serde(untagged)]
enum Paths {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct CaseText {
    name: Spanned<String>,
    #[serde(default)]
    set: Table,
}

/// Why an axis is refused: an offset and a message.
pub(super) type Flaw = (usize, String);

/// Most values of one axis.
const VALUES_MAX: u32 = 1_000_000;

impl AxisText {
    /// Checks the axis, which is written at `place`.
    pub(super) fn read(self, place: usize) -> Result<Axis, Flaw> {
        let zip = self.zip.as_ref().map(|zip| zip.get_ref().clone());
        let name = self.name.as_ref().map(|name| (name.span().start, name.get_ref().trim().to_owned()));
        let paths = self.path.as_ref().map(|path| (path.span(), path.get_ref().list()));
        if let Some((at, name)) = &name
            && (name.is_empty() || name.contains(char::is_control))
        {
            return Err((*at, "an axis needs a name in one line".to_owned()));
        }
        let spacing = self.spacing.as_ref().map_or(Spacing::Linear, |spacing| *spacing.get_ref());
        let choices = match (&paths, &self.case) {
            (None, Some(cases)) => cases_of(cases)?,
            (Some((span, paths)), None) => self.choices(span, paths, place)?,
            (Some((span, _)), Some(_)) => {
                return Err((span.start, "an axis has either `path` or `case`".to_owned()));
            }
            (None, None) => {
                let why =
                    "an axis needs a `path` such as `impair.0.rate`, or `case` with a name and `set` each";
                return Err((place, why.to_owned()));
            }
        };
        if self.case.is_some() && name.is_none() {
            return Err((place, "an axis with `case` needs a `name`".to_owned()));
        }
        let name =
            name.map_or_else(|| paths.map_or(String::new(), |(_, paths)| paths[0].clone()), |(_, name)| name);
        for (number, choice) in choices.iter().enumerate() {
            if choices[..number].iter().any(|other| other.value.is_same(&choice.value)) {
                return Err((place, format!("axis `{name}`: two of its values are `{}`", choice.value)));
            }
        }
        Ok(Axis { name, choices, spacing, zip, place })
    }

    fn choices(&self, span: &Range<usize>, paths: &[String], place: usize) -> Result<Vec<Choice>, Flaw> {
        if paths.is_empty() || paths.iter().any(|path| path.trim().is_empty()) {
            return Err((span.start, "an axis needs a path such as `impair.0.rate`".to_owned()));
        }
        if paths.iter().any(|path| path == "seed") {
            return Err((
                span.start,
                "seeds are an axis of their own: write `seeds = 5` or `seeds = [1, 2]`".to_owned(),
            ));
        }
        let values = match (&self.values, &self.from) {
            (Some(values), None) => listed(values)?,
            (None, Some(_)) => self.range(place)?,
            (Some(values), Some(_)) => {
                return Err((
                    values.span().start,
                    "an axis has either `values` or `from` and `to`".to_owned(),
                ));
            }
            (None, None) => return Err((place, "an axis needs `values`, or `from` and `to`".to_owned())),
        };
        let unit = self.unit.as_ref().map(Spanned::get_ref);
        let choice = |(place, value, text): (usize, AxisValue, String)| {
            let text = unit.map_or(text, |unit| format!("\"{}{unit}\"", value.plain()));
            let set = |path: &String| PlacedOverride {
                set: Override { path: path.trim().to_owned(), value: text.clone() },
                place,
            };
            Choice { sets: paths.iter().map(set).collect(), value }
        };
        Ok(values.into_iter().map(choice).collect())
    }

    /// Returns the values of a range.
    fn range(&self, place: usize) -> Result<Vec<(usize, AxisValue, String)>, Flaw> {
        let from = self.from.as_ref().expect("a range starts somewhere");
        let at = from.span().start;
        let to = self.to.as_ref().ok_or((place, "a range needs `to`".to_owned()))?;
        let number = |value: &Spanned<Value>| match value.get_ref() {
            Value::Integer(number) => Ok((*number as f64, true)),
            Value::Float(number) if number.is_finite() => Ok((*number, false)),
            _ => Err((value.span().start, "a range has numbers; give `unit` for quantities".to_owned())),
        };
        let ((low, low_whole), (high, high_whole)) = (number(from)?, number(to)?);
        let spacing = self.spacing.as_ref().map_or(Spacing::Linear, |spacing| *spacing.get_ref());
        if high < low {
            return Err((to.span().start, "a range ends where it starts or above".to_owned()));
        }
        if spacing == Spacing::Log && low <= 0.0 {
            return Err((at, "a range with spacing = \"log\" starts above zero".to_owned()));
        }
        let step =
            self.step.as_ref().map(|step| Ok::<_, Flaw>((number(step)?, step.span().start))).transpose()?;
        let (numbers, is_whole) = match (step, &self.points) {
            (Some(((step, step_whole), at)), None) => {
                if spacing == Spacing::Log || step <= 0.0 || (high - low) / step >= f64::from(VALUES_MAX) {
                    let why = "`step` is above zero and gives at most a million values; spacing = \"log\" has `points`";
                    return Err((at, why.to_owned()));
                }
                // The end is included, whatever the rounding of the division.
                let count = ((high - low) / step + 1e-9).floor() as u32;
                let numbers: Vec<_> = (0..=count).map(|number| low + f64::from(number) * step).collect();
                (numbers, low_whole && step_whole)
            }
            (None, Some(points)) => {
                let count = *points.get_ref();
                if count == 0 || count > VALUES_MAX {
                    return Err((
                        points.span().start,
                        format!("`points` is a number from 1 to {VALUES_MAX}"),
                    ));
                }
                let parts = f64::from((count - 1).max(1));
                let along = |number: u32| match (spacing, f64::from(number) / parts) {
                    (_, 0.0) => low,
                    (_, part) if part >= 1.0 => high,
                    (Spacing::Linear, part) => low + (high - low) * part,
                    (Spacing::Log, part) => low * libm::pow(high / low, part),
                };
                ((0..count).map(along).collect(), low_whole && high_whole)
            }
            _ => return Err((place, "a range needs either `step` or `points`".to_owned())),
        };
        let value = |number: f64| {
            if is_whole { AxisValue::Int(number.round() as i64) } else { AxisValue::Float(rounded(number)) }
        };
        Ok(numbers.into_iter().map(value).map(|value| (at, value.clone(), value.to_string())).collect())
    }
}

impl Paths {
    fn list(&self) -> Vec<String> {
        match self {
            Self::One(path) => vec![path.clone()],
            Self::Several(paths) => paths.clone(),
        }
    }
}

fn listed(values: &Spanned<Vec<Spanned<Value>>>) -> Result<Vec<(usize, AxisValue, String)>, Flaw> {
    if values.get_ref().is_empty() {
        return Err((values.span().start, "an axis needs at least one value".to_owned()));
    }
    let one = |value: &Spanned<Value>| {
        let text = value.get_ref().to_string();
        let shown = AxisValue::from_toml(value.get_ref()).unwrap_or_else(|| AxisValue::Text(text.clone()));
        (value.span().start, shown, text)
    };
    let mut listed: Vec<_> = values.get_ref().iter().map(one).collect();
    // A column has one type: `1` beside `0.5` is a number, and beside a text a text.
    let is_number = listed.iter().all(|(_, value, _)| value.number().is_some());
    let is_int = listed.iter().all(|(_, value, _)| matches!(value, AxisValue::Int(_)));
    for (_, value, _) in &mut listed {
        *value = match value.number() {
            Some(_) if is_int => continue,
            Some(number) if is_number => AxisValue::Float(number),
            _ => AxisValue::Text(value.to_string()),
        };
    }
    Ok(listed)
}

fn cases_of(cases: &Spanned<Vec<CaseText>>) -> Result<Vec<Choice>, Flaw> {
    if cases.get_ref().is_empty() {
        return Err((cases.span().start, "an axis needs at least one case".to_owned()));
    }
    let choice = |case: &CaseText| {
        let place = case.name.span().start;
        let set = |(path, value): (&String, &Value)| PlacedOverride {
            set: Override { path: path.clone(), value: value.to_string() },
            place,
        };
        Choice {
            value: AxisValue::Text(case.name.get_ref().clone()),
            sets: case.set.iter().map(set).collect(),
        }
    };
    Ok(cases.get_ref().iter().map(choice).collect())
}

/// Twelve significant digits: 0.1 + 2 · 0.1 is 0.3, on every machine.
fn rounded(number: f64) -> f64 {
    format!("{number:.11e}").parse().expect("a number that was written")
}
