//! Errors in scenarios, as one line each.

use std::fmt;

use serde::de::DeserializeOwned;
use toml::de::DeTable;

use crate::load::Override;
use wiremend_units::unknown_name;

/// Why a text is not a scenario. Displayed as exactly one line: `FILE:LINE:COLUMN: reason; what is allowed`,
/// or `--set PATH=VALUE: …` for an error in an override.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    origin: String,
    message: String,
    set: Option<usize>,
}

impl Error {
    /// Returns an error at an offset of another TOML text, in the same form.
    pub fn at(source: &str, text: &str, offset: usize, message: &str) -> Self {
        let origins = Origins { source: source.to_owned(), text: text.to_owned(), sets: Vec::new() };
        origins.error(&LocatedError { offset: Some(offset.min(text.len())), message: message.to_owned() })
    }

    /// Returns what is wrong, without its place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the number of the override that is wrong; `None` if the text is.
    pub const fn set(&self) -> Option<usize> {
        self.set
    }
}

/// Reads a TOML text that is not a scenario. Errors have the form of those in scenarios: place, nearest name, allowed
/// names.
pub fn read_toml<T: DeserializeOwned>(source: &str, text: &str) -> Result<T, Error> {
    let origins = || Origins { source: source.to_owned(), text: text.to_owned(), sets: Vec::new() };
    DeTable::parse(text).map_err(|error| origins().error(&LocatedError::syntax(&error)))?;
    toml::from_str(text).map_err(|error| origins().error(&LocatedError::meaning(&error)))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.message)
    }
}

impl std::error::Error for Error {}

/// An error at an offset of the text.
#[derive(Debug)]
pub(crate) struct LocatedError {
    pub(crate) offset: Option<usize>,
    pub(crate) message: String,
}

impl LocatedError {
    pub(crate) fn at(span: std::ops::Range<usize>, message: String) -> Self {
        Self { offset: Some(span.start), message }
    }

    /// Converts an error of the TOML parser.
    pub(crate) fn syntax(error: &toml::de::Error) -> Self {
        let message = match error.message().split_once(", expected ") {
            Some((found, due)) => format!("not TOML: {found}; expected {due}"),
            None => format!("not TOML: {}", error.message()),
        };
        Self { offset: error.span().map(|span| span.start), message }
    }

    /// Converts an error of the conversion from TOML to types.
    pub(crate) fn meaning(error: &toml::de::Error) -> Self {
        Self { offset: error.span().map(|span| span.start), message: rephrase(error.message()) }
    }
}

/// The text and the overrides, for error messages. Offsets beyond the end of the text stand for overrides,
/// one each.
#[derive(Clone, Debug)]
pub(crate) struct Origins {
    pub(crate) source: String,
    pub(crate) text: String,
    pub(crate) sets: Vec<Override>,
}

impl Origins {
    /// Returns the offset that stands for an override.
    pub(crate) fn offset_of_set(&self, index: usize) -> usize {
        self.text.len() + 1 + index
    }

    pub(crate) fn error(&self, flaw: &LocatedError) -> Error {
        let offset = flaw.offset.unwrap_or(0);
        let number = offset.checked_sub(self.text.len() + 1).filter(|index| *index < self.sets.len());
        let origin = if let Some(set) = number.map(|index| &self.sets[index]) {
            format!("--set {}={}", set.path, set.value)
        } else {
            let (line, column) = position(&self.text, offset);
            format!("{}:{line}:{column}", self.source)
        };
        Error { origin: one_line(&origin), message: one_line(&flaw.message), set: number }
    }
}

/// Returns the line and column of an offset, both from 1; columns count characters.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// Escapes line breaks and other control characters, and truncates long texts.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 600;
    let mut line = String::new();
    for c in text.chars() {
        if line.len() > LONGEST {
            line.push('…');
            break;
        }
        if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}

/// Rewords messages of serde.
fn rephrase(message: &str) -> String {
    let quoted =
        |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    for (prefix, what) in [("unknown field `", "field"), ("unknown variant `", "value")] {
        if let Some(rest) = message.strip_prefix(prefix)
            // The name is the file's and may hold anything; the list after it is ours.
            && let Some((wanted, known)) = rest.rsplit_once("`, expected ").or_else(|| rest.rsplit_once("`, there are no "))
        {
            let known = quoted(known);
            return unknown_name(what, wanted, &known.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("missing field {field}; it has no default");
    }
    for prefix in ["invalid type: ", "invalid value: ", "invalid length "] {
        if let Some((found, due)) =
            message.strip_prefix(prefix).and_then(|rest| rest.rsplit_once(", expected "))
        {
            return format!("found {found}; expected {due}");
        }
    }
    message.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let text = "a = 1\nµ = \"2\"\n";
        assert_eq!(position(text, 0), (1, 1));
        assert_eq!(position(text, 6), (2, 1));
        assert_eq!(position(text, text.find('2').unwrap()), (2, 6));
        assert_eq!(position(text, 1000), (3, 1));
    }
}
