//! Other spellings of enumerated names.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde_json::Value as Json;
use toml::de::DeValue;
use wiremend_units::canonical_name;

use crate::scenario::Scenario;
use crate::tree::{KIND, Node};

/// Replaces each text that spells an enumerated name in another way (`LinkGuardian`, `go_back_n`, `irn`) by that name,
/// wherever the schema of scenarios enumerates names.
pub(crate) fn respell(tree: &mut Node) {
    static ROOT: OnceLock<Json> = OnceLock::new();
    let root = ROOT.get_or_init(|| schemars::schema_for!(Scenario).to_value());
    respell_node(tree, &[root], root);
}

fn respell_node(node: &mut Node, schemas: &[&Json], root: &Json) {
    let mut alternatives = Vec::new();
    for schema in schemas {
        expand(schema, root, &mut alternatives);
    }
    match node.get_mut() {
        DeValue::String(text) => {
            let names: Vec<&str> = alternatives.into_iter().flat_map(names).collect();
            if let Some(name) = canonical_name(text, &names).filter(|name| name != text) {
                *text = Cow::Owned(name.to_owned());
            }
        }
        DeValue::Table(table) => {
            if let Some(kind) = table.get_mut(KIND) {
                respell_node(kind, &fields(&alternatives, KIND), root);
                let kind = kind.get_ref().as_str();
                alternatives.retain(|schema| {
                    let own = schema["properties"][KIND]["const"].as_str();
                    own.is_none() || own == kind
                });
            }
            for (field, value) in table.iter_mut() {
                respell_node(value, &fields(&alternatives, field.get_ref()), root);
            }
        }
        DeValue::Array(items) => {
            let each: Vec<_> = alternatives.iter().filter_map(|schema| schema.get("items")).collect();
            items.iter_mut().for_each(|item| respell_node(item, &each, root));
        }
        _ => {}
    }
}

/// A schema and all that it refers to or is made of.
fn expand<'s>(schema: &'s Json, root: &'s Json, all: &mut Vec<&'s Json>) {
    all.push(schema);
    if let Some(referred) = schema["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?)) {
        expand(referred, root, all);
    }
    for several in ["oneOf", "anyOf", "allOf"] {
        schema[several].as_array().into_iter().flatten().for_each(|part| expand(part, root, all));
    }
}

fn fields<'s>(schemas: &[&'s Json], field: &str) -> Vec<&'s Json> {
    schemas.iter().filter_map(|schema| schema["properties"].get(field)).collect()
}

/// The texts that a schema names.
fn names(schema: &Json) -> impl Iterator<Item = &str> {
    let listed = ["enum", "examples"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    std::iter::once(&schema["const"]).chain(listed).filter_map(Json::as_str)
}
