//! The JSON schema of scenario files, for editors that complete and check TOML.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value as Json};

use crate::scenario::Scenario;
use crate::tree::KIND;

/// The JSON schema of a scenario file, in draft 7, which editors of TOML files read.
pub fn schema_json() -> String {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<Scenario>().to_value();
    schema["title"] = "wiremend scenario".into();
    merge_kinds(&mut schema);
    serde_json::to_string_pretty(&schema).expect("a schema is JSON")
}

/// Gives each kind of a table the fields that all kinds share, so that a field of another kind is refused: draft 7 cannot
/// say that of alternatives beside common fields.
fn merge_kinds(schema: &mut Json) {
    match schema {
        Json::Array(items) => items.iter_mut().for_each(merge_kinds),
        Json::Object(object) => {
            object.values_mut().for_each(merge_kinds);
            let kinds = object.get("oneOf").and_then(Json::as_array);
            if kinds.is_some_and(|kinds| kinds.iter().all(|kind| kind["properties"][KIND].is_object())) {
                merge_kinds_of(object);
            }
        }
        _ => {}
    }
}

fn merge_kinds_of(table: &mut Map<String, Json>) {
    let common = table.remove("properties").unwrap_or_default();
    let required = table.remove("required").unwrap_or_default();
    table.remove("additionalProperties");
    let kinds = table.get_mut("oneOf").and_then(Json::as_array_mut);
    for kind in kinds.into_iter().flatten() {
        kind["title"] = kind["properties"][KIND]["const"].clone();
        kind["additionalProperties"] = false.into();
        if let (Some(own), Some(common)) = (kind["properties"].as_object_mut(), common.as_object()) {
            // A field that is `true` belongs to one of the kinds.
            own.extend(common.clone().into_iter().filter(|(_, field)| field.is_object()));
        }
        if let (Some(own), Some(common)) = (kind["required"].as_array_mut(), required.as_array()) {
            own.extend(common.iter().cloned());
        }
    }
}
