//! `docs/reference/explain.schema.json` describes what `wiremend capture explain --json` prints.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::wiremend;

fn folder(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn schema() -> Value {
    serde_json::from_str(&fs::read_to_string(folder("docs/reference/explain.schema.json")).unwrap()).unwrap()
}

/// Checks the keywords that the schema uses. Fields that it does not name are errors too, so that none is forgotten.
fn check(value: &Value, schema: &Value, place: &str, errors: &mut Vec<String>) {
    let mut require = |holds: bool, what: &str| {
        if !holds {
            errors.push(format!("{place}: {value} breaks `{what}`"));
        }
    };
    for (keyword, rule) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "$schema"
            | "title"
            | "description"
            | "properties"
            | "items"
            | "additionalProperties"
            | "propertyNames" => {}
            "const" => require(value == rule, keyword),
            "enum" => require(rule.as_array().unwrap().contains(value), keyword),
            "type" => {
                let one = std::slice::from_ref(rule);
                let types = rule.as_array().map_or(one, Vec::as_slice);
                require(types.iter().any(|name| is_of_type(value, name.as_str().unwrap())), keyword);
            }
            "minimum" => {
                require(value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()), keyword);
            }
            "maximum" => {
                require(value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()), keyword);
            }
            "minItems" => require(value.as_array().unwrap().len() as u64 >= rule.as_u64().unwrap(), keyword),
            "maxItems" => require(value.as_array().unwrap().len() as u64 <= rule.as_u64().unwrap(), keyword),
            // Of an object, which the type may not demand.
            "required" => {
                for name in rule.as_array().unwrap() {
                    let has_it = value.get(name.as_str().unwrap()).is_some();
                    require(has_it || !value.is_object(), &format!("required {name}"));
                }
            }
            other => panic!("{place}: the test does not know the keyword `{other}`"),
        }
    }
    if let (Some(values), Some(items)) = (value.as_array(), schema.get("items")) {
        for one in values {
            check(one, items, &format!("{place}[]"), errors);
        }
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        let place = format!("{place}.{name}");
        if let Some(names) = schema.get("propertyNames") {
            check(&Value::from(name.as_str()), names, &place, errors);
        }
        let named = schema.get("properties").and_then(|properties| properties.get(name));
        match named.or(schema.get("additionalProperties")) {
            Some(schema) => check(field, schema, &place, errors),
            None => errors.push(format!("{place} is not in the schema")),
        }
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("the test does not know the type `{other}`"),
    }
}

fn errors(value: &Value, schema: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    check(value, schema, "", &mut errors);
    errors
}

/// All captures of the repository, at each tap alone and at two together.
#[test]
fn json_follows_its_schema() {
    let schema = schema();
    let mut kinds = BTreeSet::new();
    let mut entries: Vec<_> = fs::read_dir(folder("crates/capture/tests/data")).unwrap().collect();
    entries.sort_by_key(|entry| entry.as_ref().unwrap().path());
    for entry in entries {
        let path = entry.unwrap().path();
        let path = path.to_str().unwrap();
        if !path.ends_with(".pcap.gz") {
            continue;
        }
        let other = path.replace("-responder", "-requester");
        for files in [vec![path], vec!["--truth", path, &other]] {
            let ended = wiremend(&[&["capture", "explain", "--json"], &files[..]].concat());
            let value: Value = serde_json::from_str(&ended.stdout).unwrap();
            assert_eq!(errors(&value, &schema), Vec::<String>::new(), "{files:?}");
            let events = value["events"].as_array().unwrap();
            kinds.extend(events.iter().map(|event| event["kind"].as_str().unwrap().to_owned()));
        }
    }
    assert!(kinds.len() >= 3, "{kinds:?}");
}

/// The check can fail: a field without description, one that lacks, one of another type.
#[test]
fn other_output_does_not_follow_the_schema() {
    let schema = schema();
    let events = &schema["properties"]["events"];
    assert_eq!(errors(&json!([]), events), Vec::<String>::new());
    let found = errors(&json!([{ "kind": "pause", "new": 1, "psn": "7" }]), events);
    for expected in
        ["[].new is not in the schema", "breaks `enum`", "breaks `type`", "breaks `required \"file\"`"]
    {
        assert!(found.iter().any(|error| error.contains(expected)), "{expected}: {found:#?}");
    }
}
