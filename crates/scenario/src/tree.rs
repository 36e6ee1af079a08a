//! The tree of a TOML text, between reading and meaning: values are set in it by path, and tables with a `kind` are
//! brought into the form that serde reads without losing places.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::error::Flaw;
use crate::impair::Impair;
use crate::registered::Names;
use crate::topology::Topology;
use crate::workload::Workload;
use wiremend_units::or_nearest;

/// A value and where it stands.
pub(crate) type Node<'i> = Spanned<DeValue<'i>>;

/// Why a value cannot be set.
pub(crate) enum Unset {
    /// A list has no such element.
    Missing(String),
    /// The path does not make sense.
    Wrong(String),
}

/// Puts `value` at `path` (`transport.recovery`, `impair.0.rate`) into the tree. Tables on the way are made;
/// elements of lists are not. `place` is where the path stands.
pub(crate) fn set<'i>(
    tree: &mut Node<'i>,
    path: &str,
    place: &Range<usize>,
    value: Node<'i>,
) -> Result<(), Unset> {
    const DEEPEST: usize = 16;
    let steps: Vec<&str> = path.split('.').map(str::trim).collect();
    if steps.len() > DEEPEST || steps.iter().any(|step| step.is_empty()) {
        return Err(Unset::Wrong(format!("`{path}` is not a path; write one such as `transport.recovery`")));
    }
    descend(tree, &steps, 0, place, value)
}

fn descend<'i>(
    node: &mut Node<'i>,
    steps: &[&str],
    depth: usize,
    place: &Range<usize>,
    value: Node<'i>,
) -> Result<(), Unset> {
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
                return Err(Unset::Missing(format!(
                    "{} has no list `{step}`; `--set` makes no elements",
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
                return Err(Unset::Wrong(format!(
                    "{} is a list; name an element by its number from 0",
                    above()
                )));
            };
            let Some(item) = items.get_mut(index) else {
                return Err(Unset::Missing(format!(
                    "{} has no element {index}; it has {count}, from 0",
                    above()
                )));
            };
            descend(item, steps, depth + 1, place, value)
        }
        other => Err(Unset::Wrong(format!("{} is a {}; it has no fields", above(), other.type_str()))),
    }
}

/// A table is merged into a table unless it names its kind; everything else replaces what is there.
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

/// The same value, standing at `place` with all that is in it.
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

/// How many values stand in it, itself among them.
pub(crate) fn value_count(node: &Node) -> usize {
    1 + match node.get_ref() {
        DeValue::Array(items) => items.iter().map(value_count).sum(),
        DeValue::Table(fields) => fields.values().map(value_count).sum(),
        _ => 0,
    }
}

const KIND: &str = "kind";
/// What serde calls the kinds that programs have registered.
const REGISTERED: &str = "registered";

/// Brings every table with a kind into the form `{ common…, kind = { "fat-tree" = { k = 4 } } }`. Serde would read
/// the flat form of the file only by way of a buffer that forgets the places. A table that should be a list is told so.
pub(crate) fn nest_kinds(tree: &mut Node, names: &Names) -> Result<(), Flaw> {
    static KINDS: OnceLock<[Kinds; 3]> = OnceLock::new();
    let kinds = KINDS.get_or_init(|| {
        [
            Kinds::of::<Topology>("topology", false),
            Kinds::of::<Workload>("workload", true),
            Kinds::of::<Impair>("impair", true),
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
    match fields.get("pause") {
        Some(node) if node.get_ref().as_array().is_none() => Err(wrong_form(node.span(), "pause", true)),
        _ => Ok(()),
    }
}

fn wrong_form(span: Range<usize>, name: &str, listed: bool) -> Flaw {
    let (open, close) = if listed { ("[[", "]]") } else { ("[", "]") };
    Flaw::at(span, format!("`{name}` has the wrong form; begin it with {open}{name}{close}"))
}

/// The kinds of one table and the fields of each, as the types have them.
struct Kinds {
    table: &'static str,
    listed: bool,
    common: Vec<String>,
    each: Vec<(String, Vec<String>)>,
}

impl Kinds {
    fn of<T: JsonSchema>(table: &'static str, listed: bool) -> Self {
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

    fn nest(&self, span: Range<usize>, table: &mut DeTable, registered: &[String]) -> Result<(), Flaw> {
        let known = self.each.iter().map(|(name, _)| name.as_str());
        let known: Vec<&str> = known.chain(registered.iter().map(String::as_str)).collect();
        let missing = || format!("missing field `kind`; allowed: {}", known.join(", "));
        let (key, kind) = table.remove_entry(KIND).ok_or_else(|| Flaw::at(span.clone(), missing()))?;
        let (kind_span, kind) = (kind.span(), kind.into_inner());
        let wanted = kind.as_str().ok_or_else(|| Flaw::at(kind_span.clone(), missing()))?.to_owned();
        let Some((_, own)) = self.each.iter().find(|(name, _)| *name == wanted) else {
            if !registered.contains(&wanted) {
                return Err(Flaw::at(kind_span, or_nearest("kind", &wanted, &known)));
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
                return Err(Flaw::at(field.span(), or_nearest("field", field.get_ref(), &allowed)));
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

    /// The same for a kind that a program has registered: its fields are all those that are not common, and its name goes with them.
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
