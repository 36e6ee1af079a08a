//! The tree of a TOML text before its conversion into types: values are set in it by path, and tables with a
//! `kind` get the form that serde reads without losing places.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::error::LocatedError;
use crate::impair::Impair;
use crate::registered::RegisteredNames;
use crate::topology::Topology;
use crate::workload::Workload;
use wiremend_units::unknown_name;

/// A value with its place in the text.
pub(crate) type Node<'i> = Spanned<DeValue<'i>>;

/// Why a value cannot be set.
pub(crate) enum SetError {
    /// A list has no such element.
    Missing(String),
    /// The path is invalid.
    Wrong(String),
}

/// Sets the value at `path` (`transport.recovery`, `impair.0.rate`). Creates missing tables, but no list
/// elements. `place` is the place of the path.
pub(crate) fn set<'i>(
    tree: &mut Node<'i>,
    path: &str,
    place: &Range<usize>,
    value: Node<'i>,
) -> Result<(), SetError> {
    const DEEPEST: usize = 16;
    let steps: Vec<&str> = path.split('.').map(str::trim).collect();
    if steps.len() > DEEPEST || steps.iter().any(|step| step.is_empty()) {
        return Err(SetError::Wrong(format!(
            "`{path}` is not a path; write one such as `transport.recovery`"
        )));
    }
    descend(tree, &steps, 0, place, value)
}

fn descend<'i>(
    node: &mut Node<'i>,
    steps: &[&str],
    depth: usize,
    place: &Range<usize>,
    value: Node<'i>,
) -> Result<(), SetError> {
    let Some(step) = steps.get(depth) else {
        put(node, value);
        return Ok(());
    };
    let above = || if depth == 0 { "the file".to_owned() } else { format!("`{}`", steps[..depth].join(".")) };
    match node.get_mut() {
        DeValue::Table(table) => {
            if let Some(inner) = table.get_mut(*step) {
                return descend(inner, steps, depth + 1, place, value);
            }
            if steps.get(depth + 1).is_some_and(|next| next.parse::<usize>().is_ok()) {
                return Err(SetError::Missing(format!(
                    "{} has no list `{step}`; `--set` does not create list elements",
                    above()
                )));
            }
            let mut made = Spanned::new(place.clone(), DeValue::Table(DeTable::new()));
            if depth + 1 == steps.len() {
                made = value;
            } else {
                descend(&mut made, steps, depth + 1, place, value)?;
            }
            table.insert(Spanned::new(place.clone(), Cow::Owned((*step).to_owned())), made);
            Ok(())
        }
        DeValue::Array(items) => {
            let count = items.len();
            let Ok(index) = step.parse::<usize>() else {
                return Err(SetError::Wrong(format!(
                    "{} is a list; give the number of an element, from 0",
                    above()
                )));
            };
            let Some(item) = items.get_mut(index) else {
                return Err(SetError::Missing(format!(
                    "{} has no element {index}; it has {count}, from 0",
                    above()
                )));
            };
            descend(item, steps, depth + 1, place, value)
        }
        other => Err(SetError::Wrong(format!("{} is a {}; it has no fields", above(), other.type_str()))),
    }
}

/// Merges a table into a table unless it has a kind; replaces everything else.
fn put<'i>(node: &mut Node<'i>, value: Node<'i>) {
    let merges = |table: &DeTable| !table.contains_key(KIND);
    match (node.get_mut(), value.get_ref()) {
        (DeValue::Table(old), DeValue::Table(new)) if merges(new) => {
            let DeValue::Table(new) = value.into_inner() else { unreachable!("seen to be a table") };
            for (key, value) in new {
                match old.get_mut(key.get_ref().as_ref()) {
                    Some(there) => put(there, value),
                    None => drop(old.insert(key, value)),
                }
            }
        }
        _ => *node = value,
    }
}

/// Returns the same value with `place` for itself and all inner values.
pub(crate) fn moved<'i>(node: Node<'i>, place: &Range<usize>) -> Node<'i> {
    let value = match node.into_inner() {
        DeValue::Array(items) => {
            let mut array = DeArray::new();
            items.into_iter().for_each(|item| array.push(moved(item, place)));
            DeValue::Array(array)
        }
        DeValue::Table(fields) => {
            let placed = |key: Spanned<_>| Spanned::new(place.clone(), key.into_inner());
            DeValue::Table(
                fields.into_iter().map(|(key, value)| (placed(key), moved(value, place))).collect(),
            )
        }
        scalar => scalar,
    };
    Spanned::new(place.clone(), value)
}

/// Returns the number of values in the tree, including itself.
pub(crate) fn value_count(node: &Node) -> usize {
    1 + match node.get_ref() {
        DeValue::Array(items) => items.iter().map(value_count).sum(),
        DeValue::Table(fields) => fields.values().map(value_count).sum(),
        _ => 0,
    }
}

pub(crate) const KIND: &str = "kind";
/// The variant of serde for kinds that programs register.
pub(crate) const REGISTERED: &str = "registered";

/// Gives every table with a kind the form `{ common…, kind = { "fat-tree" = { k = 4 } } }`. Serde would read
/// the flat form of the file only through a buffer that loses places. Refuses a table in place of a list, and
/// the reverse.
pub(crate) fn nest_kinds(tree: &mut Node, names: &RegisteredNames) -> Result<(), LocatedError> {
    static KINDS: OnceLock<[Kinds; 3]> = OnceLock::new();
    let kinds = KINDS.get_or_init(|| {
        [
            Kinds::from_schema::<Topology>("topology", false),
            Kinds::from_schema::<Workload>("workload", true),
            Kinds::from_schema::<Impair>("impair", true),
        ]
    });
    let DeValue::Table(fields) = tree.get_mut() else { return Ok(()) };
    for kinds in kinds {
        let registered = match kinds.table {
            "workload" => names.workloads.as_slice(),
            "impair" => names.impairments.as_slice(),
            _ => &[],
        };
        match (fields.get_mut(kinds.table).map(|node| (node.span(), node.get_mut())), kinds.listed) {
            (None, _) => {}
            (Some((span, DeValue::Table(table))), false) => kinds.nest(span, table, registered)?,
            (Some((_, DeValue::Array(items))), true) => {
                for item in items.iter_mut() {
                    let span = item.span();
                    if let DeValue::Table(table) = item.get_mut() {
                        kinds.nest(span, table, registered)?;
                    }
                }
            }
            (Some((span, _)), listed) => return Err(wrong_form(span, kinds.table, listed)),
        }
    }
    for name in ["pause", "fail"] {
        if let Some(node) = fields.get(name).filter(|node| node.get_ref().as_array().is_none()) {
            return Err(wrong_form(node.span(), name, true));
        }
    }
    Ok(())
}

fn wrong_form(span: Range<usize>, name: &str, listed: bool) -> LocatedError {
    let (open, close) = if listed { ("[[", "]]") } else { ("[", "]") };
    LocatedError::at(span, format!("`{name}` has the wrong form; begin it with {open}{name}{close}"))
}

/// The kinds of one table, and the fields of each.
struct Kinds {
    table: &'static str,
    listed: bool,
    common: Vec<String>,
    each: Vec<(String, Vec<String>)>,
}

impl Kinds {
    fn from_schema<T: JsonSchema>(table: &'static str, listed: bool) -> Self {
        let schema = schemars::schema_for!(T).to_value();
        let names = |schema: &Json| -> Vec<String> {
            schema["properties"]
                .as_object()
                .map(|fields| fields.keys().cloned().collect())
                .unwrap_or_default()
        };
        let variants = schema["oneOf"].as_array().expect("a schema with kinds");
        let kind = |variant: &Json| {
            let name = variant["properties"][KIND]["const"].as_str().expect("each kind has a name");
            let own = names(variant).into_iter().filter(|field| field != KIND).collect();
            (name.to_owned(), own)
        };
        Self { table, listed, common: names(&schema), each: variants.iter().map(kind).collect() }
    }

    fn nest(
        &self,
        span: Range<usize>,
        table: &mut DeTable,
        registered: &[String],
    ) -> Result<(), LocatedError> {
        let known = self.each.iter().map(|(name, _)| name.as_str());
        let known: Vec<&str> = known.chain(registered.iter().map(String::as_str)).collect();
        let missing = || format!("missing field `kind`; allowed: {}", known.join(", "));
        let (key, kind) =
            table.remove_entry(KIND).ok_or_else(|| LocatedError::at(span.clone(), missing()))?;
        let (kind_span, kind) = (kind.span(), kind.into_inner());
        let wanted = kind.as_str().ok_or_else(|| LocatedError::at(kind_span.clone(), missing()))?.to_owned();
        let Some((_, own)) = self.each.iter().find(|(name, _)| *name == wanted) else {
            if !registered.contains(&wanted) {
                return Err(LocatedError::at(kind_span, unknown_name("kind", &wanted, &known)));
            }
            self.nest_registered(key, kind_span, wanted, table);
            return Ok(());
        };
        let mut inner = DeTable::new();
        for (field, value) in std::mem::take(table) {
            if own.iter().any(|own| own == field.get_ref()) {
                inner.insert(field, value);
            } else if self.common.iter().any(|common| common == field.get_ref()) {
                table.insert(field, value);
            } else {
                let allowed: Vec<_> =
                    [KIND].into_iter().chain(own.iter().chain(&self.common).map(String::as_str)).collect();
                return Err(LocatedError::at(field.span(), unknown_name("field", field.get_ref(), &allowed)));
            }
        }
        let mut nested = DeTable::new();
        nested.insert(
            Spanned::new(kind_span, Cow::Owned(wanted)),
            Spanned::new(span.clone(), DeValue::Table(inner)),
        );
        table.insert(key, Spanned::new(span, DeValue::Table(nested)));
        Ok(())
    }

    /// Nests a kind that a program registered: its fields are all those that are not common, and its name.
    fn nest_registered<'i>(
        &self,
        key: Spanned<Cow<'i, str>>,
        span: Range<usize>,
        name: String,
        table: &mut DeTable<'i>,
    ) {
        let is_common = |field: &str| self.common.iter().any(|common| common == field);
        let (common, mut own): (DeTable, DeTable) =
            std::mem::take(table).into_iter().partition(|(field, _)| is_common(field.get_ref()));
        *table = common;
        own.insert(key.clone(), Spanned::new(span.clone(), DeValue::String(Cow::Owned(name))));
        let mut nested = DeTable::new();
        nested.insert(
            Spanned::new(span.clone(), Cow::Borrowed(REGISTERED)),
            Spanned::new(span.clone(), DeValue::Table(own)),
        );
        table.insert(key, Spanned::new(span, DeValue::Table(nested)));
    }
}
