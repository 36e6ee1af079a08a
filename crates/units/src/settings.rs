//! Values that a scenario gives to a registered algorithm.
//!
//! The algorithm takes the values that it knows, one after the other. Values that are left over are unknown.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::{Bytes, Rate, Span, unknown_name};

/// Name of a registered algorithm, and the values that a scenario gives it.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    name: String,
    /// Offset of the name in the scenario's text.
    offset: Option<usize>,
    values: BTreeMap<String, (Setting, Option<usize>)>,
    /// Keys that were requested.
    known: Vec<&'static str>,
}

/// Offsets are ignored.
impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.iter().eq(other.iter())
    }
}

/// A value in a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// Text, including times, rates and sizes with units.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// `true` or `false`.
    Flag(bool),
}

/// Error of an invalid setting, with its position in the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSetting {
    /// Offset in the scenario's text, if it has one.
    pub offset: Option<usize>,
    /// What is wrong, and what is valid.
    pub what: String,
}

/// A type that a setting can be converted to.
pub trait FromSetting: Sized {
    /// Expected value, for error messages: `a time such as "10us"`.
    const EXPECTED: &'static str;

    /// Converts a setting; `None` if it has another type or form.
    fn from_setting(setting: &Setting) -> Option<Self>;
}

impl Settings {
    /// Creates settings without values; `offset` is the position of the name in the scenario's text.
    pub fn new(name: impl Into<String>, offset: Option<usize>) -> Self {
        Self { name: name.into(), offset, ..Self::default() }
    }

    /// Adds a value at `offset` of the scenario's text.
    pub fn insert(&mut self, key: impl Into<String>, value: Setting, offset: Option<usize>) {
        self.values.insert(key.into(), (value, offset));
    }

    /// Registered name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Keys and values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.values.iter().map(|(key, (value, _))| (key.as_str(), value))
    }

    /// Creates an error at the position of the name.
    pub fn error(&self, what: impl Into<String>) -> BadSetting {
        BadSetting { offset: self.offset, what: what.into() }
    }

    /// Takes an optional value.
    pub fn take<T: FromSetting>(&mut self, key: &'static str) -> Result<Option<T>, BadSetting> {
        self.known.push(key);
        let Some((setting, offset)) = self.values.remove(key) else { return Ok(None) };
        let value = T::from_setting(&setting);
        value.map(Some).ok_or_else(|| BadSetting { offset, what: format!("`{key}` must be {}", T::EXPECTED) })
    }

    /// Takes a mandatory value.
    pub fn require<T: FromSetting>(&mut self, key: &'static str) -> Result<T, BadSetting> {
        let missing = self.error(format!("`{}` needs `{key}`: {}", self.name, T::EXPECTED));
        self.take(key)?.ok_or(missing)
    }

    /// Takes a value within bounds; `usual` if it is not given.
    pub fn take_within<T>(
        &mut self,
        key: &'static str,
        bounds: RangeInclusive<T>,
        usual: T,
    ) -> Result<T, BadSetting>
    where
        T: FromSetting + PartialOrd + std::fmt::Display,
    {
        let offset = self.values.get(key).and_then(|(_, offset)| *offset);
        let value = self.take(key)?.unwrap_or(usual);
        if bounds.contains(&value) {
            return Ok(value);
        }
        let what = format!("`{key}` is {value}; it must lie between {} and {}", bounds.start(), bounds.end());
        Err(BadSetting { offset, what })
    }

    /// Returns an error if values are left that were not taken.
    pub fn finish(self) -> Result<(), BadSetting> {
        match self.values.into_iter().next() {
            None => Ok(()),
            Some((key, (_, offset))) => {
                Err(BadSetting { offset, what: unknown_name("field", &key, &self.known) })
            }
        }
    }
}

macro_rules! from_text {
    ($($type:ty: $expected:literal),*) => {
        $(impl FromSetting for $type {
            const EXPECTED: &'static str = $expected;

            fn from_setting(setting: &Setting) -> Option<Self> {
                if let Setting::Text(text) = setting { text.parse().ok() } else { None }
            }
        })*
    };
}
from_text!(
    Span: "a time such as \"10us\"",
    Rate: "a rate such as \"100Gbps\"",
    Bytes: "a size such as \"64KiB\"",
    String: "a text"
);

impl FromSetting for f64 {
    const EXPECTED: &'static str = "a number";

    fn from_setting(setting: &Setting) -> Option<Self> {
        match setting {
            Setting::Float(number) if number.is_finite() => Some(*number),
            Setting::Integer(number) => Some(*number as Self),
            _ => None,
        }
    }
}

impl FromSetting for u64 {
    const EXPECTED: &'static str = "a whole number from 0";

    fn from_setting(setting: &Setting) -> Option<Self> {
        if let Setting::Integer(number) = setting { Self::try_from(*number).ok() } else { None }
    }
}

impl FromSetting for bool {
    const EXPECTED: &'static str = "true or false";

    fn from_setting(setting: &Setting) -> Option<Self> {
        if let Setting::Flag(flag) = setting { Some(*flag) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        let mut settings = Settings::new("hpcc", Some(5));
        settings.insert("eta", Setting::Float(0.95), Some(20));
        settings.insert("round_trip", Setting::Text("13us".to_owned()), Some(30));
        settings.insert("stages", Setting::Integer(5), Some(40));
        settings
    }

    #[test]
    fn values_are_taken_by_type_and_have_defaults() {
        let mut settings = settings();
        assert_eq!(settings.take_within("eta", 0.5..=1.0, 0.9), Ok(0.95));
        assert_eq!(settings.take("round_trip"), Ok(Some(Span::from_us(13))));
        assert_eq!(settings.take_within("stages", 0..=10, 1_u64), Ok(5));
        assert_eq!(settings.take_within("absent", 0..=10, 1_u64), Ok(1));
        assert_eq!(settings.finish(), Ok(()));
    }

    #[test]
    fn errors_name_the_setting_and_its_position() {
        let parts = |error: BadSetting| (error.offset, error.what);
        let mut settings = settings();
        let wrong = settings.take::<Rate>("round_trip").unwrap_err();
        assert_eq!(parts(wrong), (Some(30), "`round_trip` must be a rate such as \"100Gbps\"".to_owned()));
        let far = settings.take_within("eta", 0.0..=0.5, 0.1).unwrap_err();
        assert_eq!(parts(far), (Some(20), "`eta` is 0.95; it must lie between 0 and 0.5".to_owned()));
        let missing = settings.require::<Bytes>("window").unwrap_err();
        assert_eq!(parts(missing), (Some(5), "`hpcc` needs `window`: a size such as \"64KiB\"".to_owned()));
        let _ = settings.take::<u64>("stage");
        let unknown = settings.finish().unwrap_err();
        assert_eq!(unknown.offset, Some(40));
        assert!(unknown.what.contains("did you mean `stage`"), "{}", unknown.what);
    }
}
