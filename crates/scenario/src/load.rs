//! From text to scenarios.

use std::borrow::Cow;
use std::str::FromStr;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use crate::check::check;
use crate::error::{Error, Flaw, Origins};
use crate::registered::Names;
use crate::scenario::Scenario;
use crate::tree::{Node, Unset, moved, nest_kinds, set, value_count};
use crate::value::Place;

/// A scenario file that was understood.
#[derive(Clone, Debug)]
pub struct File {
    /// The scenario without any variant's changes.
    pub scenario: Scenario,
    /// What a run compares: at least one, called `base` if the file names none.
    pub variants: Vec<Variant>,
    origins: Origins,
}

/// A version of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// What it is called in results.
    pub name: String,
    /// The scenario with this version's values.
    pub scenario: Scenario,
}

/// One value to be changed before a text is understood: `--set PATH=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Fields from the top of the file, and list elements by number: `transport.recovery`, `impair.0.rate`.
    pub path: String,
    /// A TOML value, or else a text without its quotes.
    pub value: String,
}

impl FromStr for Override {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((path, value)) if !path.trim().is_empty() => {
                Ok(Self { path: path.trim().to_owned(), value: value.trim().to_owned() })
            }
            _ => {
                Err(format!("`{text}` sets nothing; write PATH=VALUE such as `transport.recovery=go-back-0`"))
            }
        }
    }
}

impl File {
    /// The text, as it was read.
    pub fn text(&self) -> &str {
        &self.origins.text
    }

    /// What the text is called in messages.
    pub fn source(&self) -> &str {
        &self.origins.source
    }

    /// An error about a value of this file, for what only its user can find out: that a link or a flow list does not
    /// exist, for instance.
    pub fn error(&self, place: Place, message: impl Into<String>) -> Error {
        self.origins.error(&Flaw { offset: place.0, message: message.into() })
    }
}

/// Understands `text`, after `sets` have changed it, or says in one line why it cannot be understood. `source` is
/// what messages call the text, usually its path.
pub fn load(source: &str, text: &str, sets: &[Override]) -> Result<File, Error> {
    load_with(source, text, sets, &Names::default())
}

/// The same where the text may also name what a program has registered.
pub fn load_with(source: &str, text: &str, sets: &[Override], names: &Names) -> Result<File, Error> {
    let origins = Origins { source: source.to_owned(), text: text.to_owned(), sets: sets.to_vec() };
    match understand(&origins, names) {
        Ok((scenario, variants)) => Ok(File { scenario, variants, origins }),
        Err(flaw) => Err(origins.error(&flaw)),
    }
}

fn understand(origins: &Origins, names: &Names) -> Result<(Scenario, Vec<Variant>), Flaw> {
    let parsed = DeTable::parse(&origins.text).map_err(|error| Flaw::syntax(&error))?;
    let mut base = Spanned::new(parsed.span(), DeValue::Table(parsed.into_inner()));
    let mut overrides = Overrides::new(origins);
    overrides.apply(&mut base)?;
    let mut changed = changed_trees(&base)?;
    for (name, tree) in &mut changed {
        overrides.apply(tree).map_err(|flaw| of_variant(name, &flaw))?;
    }
    overrides.all_applied()?;

    let scenario = typed(base, names)?;
    if changed.is_empty() {
        let base = Variant { name: "base".to_owned(), scenario: scenario.clone() };
        return Ok((scenario, vec![base]));
    }
    let variant = |(name, tree)| match typed(tree, names) {
        Ok(scenario) => Ok(Variant { name, scenario }),
        Err(flaw) => Err(of_variant(&name, &flaw)),
    };
    let variants = changed.into_iter().map(variant).collect::<Result<_, _>>()?;
    Ok((scenario, variants))
}

/// What a tree means, if it means something that can be run.
fn typed(mut tree: Node, names: &Names) -> Result<Scenario, Flaw> {
    nest_kinds(&mut tree, names)?;
    let scenario =
        Scenario::deserialize(ValueDeserializer::from(tree)).map_err(|error| Flaw::meaning(&error))?;
    let transport = &scenario.transport;
    let unknown = [
        (transport.congestion.place, transport.congestion.unknown(&names.congestion)),
        (transport.recovery.place, transport.recovery.unknown(&names.recovery)),
    ];
    if let Some((place, why)) = unknown.into_iter().find_map(|(place, why)| Some((place, why?))) {
        return Err(Flaw { offset: place.0, message: why });
    }
    check(&scenario)?;
    Ok(scenario)
}

/// The tree of each variant, by name. What is wrong with the form of a variant is found later, with the types.
fn changed_trees<'i>(base: &Node<'i>) -> Result<Vec<(String, Node<'i>)>, Flaw> {
    let mut plain = base.clone();
    let DeValue::Table(fields) = plain.get_mut() else { return Ok(Vec::new()) };
    let Some(list) = fields.remove("variant") else { return Ok(Vec::new()) };
    let place = list.span();
    let DeValue::Array(items) = list.into_inner() else {
        return Err(Flaw::at(place, "`variant` has the wrong form; begin it with [[variant]]".to_owned()));
    };
    check_room(&plain, items.len()).map_err(|why| Flaw::at(place, why))?;
    let mut trees = Vec::new();
    for item in items {
        let mut tree = plain.clone();
        let name = item
            .get_ref()
            .get("name")
            .and_then(|name| name.get_ref().as_str())
            .unwrap_or_default()
            .to_owned();
        if let Some(DeValue::Table(sets)) = item.get_ref().get("set").map(Spanned::get_ref) {
            for (path, value) in sets {
                let applied = set(&mut tree, path.get_ref(), &path.span(), value.clone());
                if let Err(Unset::Missing(why) | Unset::Wrong(why)) = applied {
                    return Err(of_variant(&name, &Flaw::at(path.span(), why)));
                }
            }
        }
        trees.push((name, tree));
    }
    Ok(trees)
}

/// Each variant is a scenario of its own, so that a short file could take any amount of memory.
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

fn of_variant(name: &str, flaw: &Flaw) -> Flaw {
    Flaw { offset: flaw.offset, message: format!("variant \"{name}\": {}", flaw.message) }
}

/// The overrides of the command line, each of which must apply to the base or to a variant.
struct Overrides<'i> {
    origins: &'i Origins,
    /// Why an override has not applied anywhere yet.
    missing: Vec<Option<String>>,
}

impl<'i> Overrides<'i> {
    fn new(origins: &'i Origins) -> Self {
        let nowhere = || Some("it applies nowhere".to_owned());
        Self { origins, missing: origins.sets.iter().map(|_| nowhere()).collect() }
    }

    fn apply(&mut self, tree: &mut Node<'i>) -> Result<(), Flaw> {
        for (index, override_) in self.origins.sets.iter().enumerate() {
            let start = self.origins.offset_of_set(index);
            let place = start..start;
            let bare = || Spanned::new(place.clone(), DeValue::String(Cow::Borrowed(&override_.value)));
            let value =
                DeValue::parse(&override_.value).map_or_else(|_| bare(), |value| moved(value, &place));
            match set(tree, &override_.path, &place, value) {
                Ok(()) => self.missing[index] = None,
                Err(Unset::Wrong(why)) => return Err(Flaw::at(place, why)),
                Err(Unset::Missing(why)) => {
                    self.missing[index] = self.missing[index].take().map(|_| why);
                }
            }
        }
        Ok(())
    }

    fn all_applied(&self) -> Result<(), Flaw> {
        for (index, missing) in self.missing.iter().enumerate() {
            if let Some(why) = missing {
                let start = self.origins.offset_of_set(index);
                return Err(Flaw::at(start..start, why.clone()));
            }
        }
        Ok(())
    }
}
