//! The JSON schema of scenarios.

use serde_json::Value as Json;
use wiremend_scenario::{builtin, schema_json};

/// Every built-in scenario conforms: known fields, no missing required field, correct types and names.
#[test]
fn every_built_in_scenario_conforms_to_the_schema() {
    let schema = schema();
    for (name, _) in builtin::list() {
        let text = builtin::get(name).unwrap();
        if let Err(why) = conforms(&parsed(text), &schema, &schema) {
            panic!("{name}: {why}");
        }
    }
}

#[test]
fn what_a_scenario_cannot_be_does_not_conform() {
    let schema = schema();
    let good = "title = \"t\"\n[topology]\nkind = \"chain\"\nswitches = 2\n[[workload]]\nkind = \"cbr\"\nrate = \"1Gbps\"\n";
    conforms(&parsed(good), &schema, &schema).unwrap();
    for (from, to) in [
        ("switches = 2", "switchs = 2"),
        ("switches = 2", "switches = 2\nk = 4"),
        ("switches = 2", ""),
        ("switches = 2", "switches = \"2\""),
        ("\"chain\"", "\"ring\""),
        ("title = \"t\"", ""),
        ("[[workload]]", "[transport]\nrecovery = \"none\"\n[[workload]]"),
    ] {
        assert!(conforms(&parsed(&good.replace(from, to)), &schema, &schema).is_err(), "{to}");
    }
}

#[test]
fn the_schema_describes_every_field() {
    fn check(schema: &Json, path: &str) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let is_told = field["description"].is_string() || field["const"].is_string();
            assert!(is_told, "{path}.{name} has no description");
        }
        for key in ["definitions", "oneOf"] {
            let inner = schema[key].as_object().map(|parts| parts.values().collect::<Vec<_>>());
            let listed = schema[key].as_array().map(|parts| parts.iter().collect());
            for part in inner.or(listed).unwrap_or_default() {
                check(part, &format!("{path}/{key}"));
            }
        }
    }
    let schema = schema();
    check(&schema, "");
    assert_eq!(schema["title"], "wiremend scenario");
    assert_eq!(schema["properties"]["seed"]["default"], 1);
    assert_eq!(schema["properties"]["seed"]["minimum"], 0);
    assert_eq!(schema["additionalProperties"], false);
}

fn schema() -> Json {
    serde_json::from_str(&schema_json()).expect("the schema is JSON")
}

fn parsed(text: &str) -> Json {
    serde_json::to_value(toml::from_str::<toml::Table>(text).expect("it is TOML")).expect("TOML is JSON")
}

/// Checks a value against a schema: references, types, names, fields and alternatives.
fn conforms(value: &Json, schema: &Json, root: &Json) -> Result<(), String> {
    if let Some(path) = schema["$ref"].as_str() {
        let referred = root.pointer(path.trim_start_matches('#')).ok_or_else(|| format!("no {path}"))?;
        conforms(value, referred, root)?;
    }
    let types = match &schema["type"] {
        Json::Array(types) => types.iter().filter_map(Json::as_str).collect(),
        Json::String(single) => vec![single.as_str()],
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| is_of_type(value, name)) {
        return Err(format!("{value} is not of type {types:?}"));
    }
    if schema.get("const").is_some_and(|only| only != value)
        || schema["enum"].as_array().is_some_and(|names| !names.contains(value))
    {
        return Err(format!("{value} is not among {schema}"));
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        conforms(value, part, root)?;
    }
    for alternatives in ["oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array()) {
        let refusals: Vec<_> =
            alternatives.iter().filter_map(|one| conforms(value, one, root).err()).collect();
        if refusals.len() == alternatives.len() {
            return Err(refusals.join("; "));
        }
    }
    for item in value.as_array().into_iter().flatten().filter(|_| schema["items"].is_object()) {
        conforms(item, &schema["items"], root)?;
    }
    fields_conform(value, schema, root)
}

fn fields_conform(value: &Json, schema: &Json, root: &Json) -> Result<(), String> {
    let Some(fields) = value.as_object() else { return Ok(()) };
    for (name, field) in fields {
        match schema["properties"].get(name) {
            Some(known) => conforms(field, known, root).map_err(|why| format!("{name}: {why}"))?,
            None if schema["additionalProperties"] == false => return Err(format!("unknown field {name}")),
            None => {}
        }
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str);
    match required.into_iter().find(|name| !fields.contains_key(*name)) {
        Some(missing) => Err(format!("missing field {missing}")),
        None => Ok(()),
    }
}

fn is_of_type(value: &Json, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}
