//! Reads a text into scenarios.

use std::borrow::Cow;
use std::str::FromStr;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use crate::check::check;
use crate::error::{Error, LocatedError, Origins};
use crate::registered::RegisteredNames;
use crate::scenario::Scenario;
use crate::spelling::respell;
use crate::tree::{Node, SetError, moved, nest_kinds, set, value_count};
use crate::value::Place;

/// A scenario file that was read.
#[derive(Clone, Debug)]
pub struct File {
    /// The scenario without the changes of variants.
    pub scenario: Scenario,
    /// The variants that a run compares: at least one, called `base` if the file has none.
    pub variants: Vec<Variant>,
    origins: Origins,
}

/// A variant of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Name in results.
    pub name: String,
    /// The scenario with the values of this variant.
    pub scenario: Scenario,
    /// The overrides that replaced a value of this variant, as `PATH=VALUE`.
    pub replaced: Vec<String>,
}

/// A value that is changed before a text is interpreted: `--set PATH=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Fields from the top of the file, and list elements by number: `transport.recovery`, `impair.0.rate`.
    pub path: String,
    /// A TOML value, or a text without quotes.
    pub value: String,
}

impl FromStr for Override {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((path, value)) if !path.trim().is_empty() => {
                Ok(Self { path: path.trim().to_owned(), value: value.trim().to_owned() })
            }
            _ => Err(format!(
                "`{text}` is not a setting; write PATH=VALUE such as `transport.recovery=go-back-0`"
            )),
        }
    }
}

impl File {
    /// Returns the text of the file.
    pub fn text(&self) -> &str {
        &self.origins.text
    }

    /// Returns the name of the file for messages.
    pub fn source(&self) -> &str {
        &self.origins.source
    }

    /// Returns an error about a value of this file, for checks that need more than the file: that a link or a
    /// flow list exists, for instance.
    pub fn error(&self, place: Place, message: impl Into<String>) -> Error {
        self.origins.error(&LocatedError { offset: place.0, message: message.into() })
    }
}

/// Reads `text` after the changes of `sets`. `source` names the text in messages, usually its path. An error
/// is one line.
pub fn load(source: &str, text: &str, sets: &[Override]) -> Result<File, Error> {
    load_with(source, text, sets, &RegisteredNames::default())
}

/// Reads `text` like [`load`]; it may also use names that a program registered.
pub fn load_with(
    source: &str,
    text: &str,
    sets: &[Override],
    names: &RegisteredNames,
) -> Result<File, Error> {
    let origins = Origins { source: source.to_owned(), text: text.to_owned(), sets: sets.to_vec() };
    match read_scenarios(&origins, names) {
        Ok((scenario, variants)) => Ok(File { scenario, variants, origins }),
        Err(flaw) => Err(origins.error(&flaw)),
    }
}

fn read_scenarios(
    origins: &Origins,
    names: &RegisteredNames,
) -> Result<(Scenario, Vec<Variant>), LocatedError> {
    let parsed = DeTable::parse(&origins.text).map_err(|error| LocatedError::syntax(&error))?;
    let mut base = Spanned::new(parsed.span(), DeValue::Table(parsed.into_inner()));
    let mut overrides = Overrides::new(origins);
    overrides.apply(&mut base)?;
    let mut changed = variant_trees(&base)?;
    for own in &mut changed {
        overrides.apply(&mut own.tree).map_err(|flaw| in_variant(&own.name, &flaw))?;
    }
    overrides.all_applied()?;

    let scenario = typed(base, names)?;
    if changed.is_empty() {
        let base = Variant { name: "base".to_owned(), scenario: scenario.clone(), replaced: Vec::new() };
        return Ok((scenario, vec![base]));
    }
    let variant = |own: VariantTree| {
        let VariantTree { name, tree, paths } = own;
        match typed(tree, names) {
            Ok(scenario) => Ok(Variant { name, scenario, replaced: overrides.replacing(&paths) }),
            Err(flaw) => Err(in_variant(&name, &flaw)),
        }
    };
    let variants = changed.into_iter().map(variant).collect::<Result<_, _>>()?;
    Ok((scenario, variants))
}

/// Converts a tree into a scenario that can be run.
fn typed(mut tree: Node, names: &RegisteredNames) -> Result<Scenario, LocatedError> {
    respell(&mut tree);
    nest_kinds(&mut tree, names)?;
    let scenario = Scenario::deserialize(ValueDeserializer::from(tree))
        .map_err(|error| LocatedError::meaning(&error))?;
    let transport = &scenario.transport;
    let unknown = [
        (transport.congestion.place, transport.congestion.unknown(&names.congestion)),
        (transport.recovery.place, transport.recovery.unknown(&names.recovery)),
    ];
    if let Some((place, why)) = unknown.into_iter().find_map(|(place, why)| Some((place, why?))) {
        return Err(LocatedError { offset: place.0, message: why });
    }
    check(&scenario)?;
    Ok(scenario)
}

/// The values of a variant.
struct VariantTree<'i> {
    name: String,
    tree: Node<'i>,
    /// Paths of the values that the variant sets itself.
    paths: Vec<String>,
}

/// Returns the tree of each variant. The types check the form of a variant later.
fn variant_trees<'i>(base: &Node<'i>) -> Result<Vec<VariantTree<'i>>, LocatedError> {
    let mut plain = base.clone();
    let DeValue::Table(fields) = plain.get_mut() else { return Ok(Vec::new()) };
    let Some(list) = fields.remove("variant") else { return Ok(Vec::new()) };
    let place = list.span();
    let DeValue::Array(items) = list.into_inner() else {
        return Err(LocatedError::at(
            place,
            "`variant` has the wrong form; begin it with [[variant]]".to_owned(),
        ));
    };
    check_room(&plain, items.len()).map_err(|why| LocatedError::at(place, why))?;
    let mut trees = Vec::new();
    for item in items {
        let (mut tree, mut paths) = (plain.clone(), Vec::new());
        let name = item
            .get_ref()
            .get("name")
            .and_then(|name| name.get_ref().as_str())
            .unwrap_or_default()
            .to_owned();
        if let Some(DeValue::Table(sets)) = item.get_ref().get("set").map(Spanned::get_ref) {
            for (path, value) in sets {
                let applied = set(&mut tree, path.get_ref(), &path.span(), value.clone());
                if let Err(SetError::Missing(why) | SetError::Wrong(why)) = applied {
                    return Err(in_variant(&name, &LocatedError::at(path.span(), why)));
                }
                paths.push(path.get_ref().to_string());
            }
        }
        trees.push(VariantTree { name, tree, paths });
    }
    Ok(trees)
}

/// Each variant is a complete scenario, so a short file could take any amount of memory.
fn check_room(plain: &Node, variants: usize) -> Result<(), String> {
    const VALUES_MAX: usize = 5_000_000;
    let values = value_count(plain);
    if values.saturating_mul(variants) > VALUES_MAX {
        return Err(format!(
            "{variants} variants of a scenario with {values} values; at most {VALUES_MAX} values in all"
        ));
    }
    Ok(())
}

fn in_variant(name: &str, flaw: &LocatedError) -> LocatedError {
    LocatedError { offset: flaw.offset, message: format!("variant \"{name}\": {}", flaw.message) }
}

/// The overrides of the command line; each must apply to the base or to a variant.
struct Overrides<'i> {
    origins: &'i Origins,
    /// Why an override has not applied anywhere yet.
    missing: Vec<Option<String>>,
}

impl<'i> Overrides<'i> {
    fn new(origins: &'i Origins) -> Self {
        let without_place = || Some("no variant has such a value".to_owned());
        Self { origins, missing: origins.sets.iter().map(|_| without_place()).collect() }
    }

    fn apply(&mut self, tree: &mut Node<'i>) -> Result<(), LocatedError> {
        for (index, override_) in self.origins.sets.iter().enumerate() {
            let start = self.origins.offset_of_set(index);
            let place = start..start;
            let bare = || Spanned::new(place.clone(), DeValue::String(Cow::Borrowed(&override_.value)));
            let value =
                DeValue::parse(&override_.value).map_or_else(|_| bare(), |value| moved(value, &place));
            match set(tree, &override_.path, &place, value) {
                Ok(()) => self.missing[index] = None,
                Err(SetError::Wrong(why)) => return Err(LocatedError::at(place, why)),
                Err(SetError::Missing(why)) => {
                    self.missing[index] = self.missing[index].take().map(|_| why);
                }
            }
        }
        Ok(())
    }

    /// Returns the overrides that hide a value that a variant sets itself at one of `paths`.
    fn replacing(&self, paths: &[String]) -> Vec<String> {
        let is_within = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let hides =
            |set: &&Override| paths.iter().any(|own| is_within(own, &set.path) || is_within(&set.path, own));
        let sets = self.origins.sets.iter().filter(hides);
        sets.map(|set| format!("{}={}", set.path, set.value)).collect()
    }

    fn all_applied(&self) -> Result<(), LocatedError> {
        for (index, missing) in self.missing.iter().enumerate() {
            if let Some(why) = missing {
                let start = self.origins.offset_of_set(index);
                return Err(LocatedError::at(start..start, why.clone()));
            }
        }
        Ok(())
    }
}
