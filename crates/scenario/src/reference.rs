//! The reference page of scenario files, made from the types.

use std::fmt::Write;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value as Json;

use crate::acceleration::Acceleration;
use crate::buffer::Buffer;
use crate::congestion::{Dcqcn, Swift};
use crate::dcp::Dcp;
use crate::deadlock::{Deadlock, Demotion, Loops, Probes, Watchdog};
use crate::ecn::Ecn;
use crate::impair::Impair;
use crate::lossless::Lossless;
use crate::mend::Mend;
use crate::pause::Pause;
use crate::protect::Protect;
use crate::recovery::SelectiveRepeat;
use crate::route::Route;
use crate::scenario::{Engine, Scenario, Series, Stop, VariantTable};
use crate::switch::Switch;
use crate::tcp::Tcp;
use crate::topology::{Topology, Unlike};
use crate::transport::Transport;
use crate::trim::Trim;
use crate::workload::Workload;

const OPENING: &str = r#"# Scenario files

<!-- Made from the doc comments in crates/scenario: edit those, then
cargo run -p wiremend-scenario --example reference > docs/scenarios.md -->

A scenario is a TOML file that says what a run is: a network, what its hosts do, what goes wrong on its links, and the
versions of all this that one run compares. `wiremend list` names the scenarios that come with the program,
`wiremend show NAME` prints one to copy, and `wiremend run FILE` runs one.

```toml
title = "a quarter percent of loss on one link"

[topology]
kind = "pair"
rate = "100Gbps"
delay = "1us"

[[workload]]
kind = "stream"
message = "1MB"
count = 100

[[impair]]
kind = "frames"
links = "h0-tor"
rate = "1/400"

[[variant]]
name = "go-back-n"

[[variant]]
name = "go-back-0"
set = { "transport.recovery" = "go-back-0" }
```

Quantities are texts with a unit: rates in `bps`, `kbps`, `Mbps`, `Gbps`, `Tbps`; times in `ps`, `ns`, `us`, `ms`,
`s`; sizes in `B`, `kB`, `MB`, `GB`, `KiB`, `MiB`, `GiB`. A field that is not listed here is refused.

"#;

/// The reference page, in Markdown.
pub fn reference() -> String {
    let mut page = OPENING.to_owned();
    page.push_str("## The file\n\n");
    push_top(&mut page, &schema::<Scenario>());
    push_section::<Topology>(&mut page, "[topology]");
    push_section::<Unlike>(&mut page, "[[topology.link]]");
    push_section::<Switch>(&mut page, "[switch]");
    push_section::<Buffer>(&mut page, "[[switch.buffer]]");
    push_section::<Lossless>(&mut page, "[switch.lossless]");
    push_section::<Ecn>(&mut page, "[switch.ecn]");
    push_section::<Trim>(&mut page, "[switch.trim]");
    push_section::<Watchdog>(&mut page, "[switch.watchdog]");
    push_section::<Demotion>(&mut page, "[switch.demotion]");
    push_section::<Probes>(&mut page, "[switch.probes]");
    push_section::<Loops>(&mut page, "[switch.loops]");
    push_section::<Deadlock>(&mut page, "[deadlock]");
    push_section::<Transport>(&mut page, "[transport]");
    push_section::<SelectiveRepeat>(&mut page, "[transport.selective-repeat]");
    push_section::<Dcp>(&mut page, "[transport.dcp]");
    push_section::<Tcp>(&mut page, "[transport.tcp]");
    push_section::<Acceleration>(&mut page, "[transport.acceleration]");
    push_section::<Dcqcn>(&mut page, "[transport.dcqcn]");
    push_section::<Swift>(&mut page, "[transport.swift]");
    push_section::<Mend>(&mut page, "[mend]");
    push_section::<Workload>(&mut page, "[[workload]]");
    push_section::<Impair>(&mut page, "[[impair]]");
    push_section::<Pause>(&mut page, "[[pause]]");
    push_section::<Route>(&mut page, "[[route]]");
    push_section::<Protect>(&mut page, "[[protect]]");
    push_section::<VariantTable>(&mut page, "[[variant]]");
    push_section::<Stop>(&mut page, "[stop]");
    push_section::<Series>(&mut page, "[series]");
    push_section::<Engine>(&mut page, "[engine]");
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// The JSON schema of a scenario file, for editors that complete and check TOML.
pub fn schema_json() -> String {
    serde_json::to_string_pretty(&schemars::schema_for!(Scenario)).expect("a schema is JSON")
}

fn schema<T: JsonSchema>() -> Json {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn push_section<T: JsonSchema>(page: &mut String, heading: &str) {
    let schema = schema::<T>();
    write!(page, "## {heading}\n\n{}\n\n", prose(&schema)).expect("a string grows");
    push_fields(page, &schema);
    for kind in schema["oneOf"].as_array().into_iter().flatten() {
        let name = kind["properties"]["kind"]["const"].as_str().expect("each kind has a name");
        write!(page, "### kind = \"{name}\"\n\n{}\n\n", prose(kind)).expect("a string grows");
        push_fields(page, kind);
    }
}

/// The fields of the file itself; those that are tables have sections of their own.
fn push_top(page: &mut String, file: &Json) {
    let rows = file["properties"].as_object().into_iter().flatten().map(|(name, field)| {
        let [name_cell, value, default, meaning] = row(name, field, is_required(file, name));
        let value = if value.contains("table") { format!("[{value}](#{name})") } else { value };
        [name_cell, value, default, meaning]
    });
    push_rows(page, rows.collect());
}

/// A table of the fields of an object; nothing if there are none.
fn push_fields(page: &mut String, object: &Json) {
    let mut rows = Vec::new();
    collect_rows(&mut rows, "", object);
    push_rows(page, rows);
}

fn push_rows(page: &mut String, rows: Vec<[String; 4]>) {
    if rows.is_empty() {
        return;
    }
    page.push_str("| field | value | default | meaning |\n|---|---|---|---|\n");
    for row in rows {
        writeln!(page, "| {} |", row.map(|cell| cell.replace('|', "\\|")).join(" | "))
            .expect("a string grows");
    }
    page.push('\n');
}

fn collect_rows(rows: &mut Vec<[String; 4]>, above: &str, object: &Json) {
    let fields = object["properties"].as_object().into_iter().flatten();
    for (name, field) in fields.filter(|(name, _)| *name != "kind") {
        let path = format!("{above}{name}");
        rows.push(row(&path, field, is_required(object, name)));
        if let Some(inner) = value_of(field).1 {
            collect_rows(rows, &format!("{path}[]."), inner);
        }
    }
}

fn row(path: &str, field: &Json, required: bool) -> [String; 4] {
    let default = match &field["default"] {
        _ if required => "required".to_owned(),
        Json::Null | Json::Object(_) | Json::Array(_) => "–".to_owned(),
        default => format!("`{default}`"),
    };
    [format!("`{path}`"), value_of(field).0, default, meaning(field)]
}

fn is_required(object: &Json, field: &str) -> bool {
    object["required"].as_array().is_some_and(|required| required.contains(&Json::from(field)))
}

/// What a field may be, and the fields of its own that it has if it is a list of tables.
fn value_of(field: &Json) -> (String, Option<&Json>) {
    if let Some(alternatives) = field["anyOf"].as_array() {
        let some = alternatives.iter().find(|one| one["type"] != "null").unwrap_or(&Json::Null);
        return value_of(some);
    }
    if let Some(title) = field["title"].as_str().filter(|_| field["type"] != "object") {
        return (title.to_owned(), None);
    }
    if let Some(words) = words(field) {
        let words: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        return (words.join(", "), None);
    }
    match field["type"].as_str() {
        Some("boolean") => ("`true` or `false`".to_owned(), None),
        Some("string") => ("text".to_owned(), None),
        Some("array") if field["items"]["type"] == "object" => {
            ("list of tables".to_owned(), Some(&field["items"]))
        }
        Some("array") => (format!("list; each {}", value_of(&field["items"]).0), None),
        _ => ("table".to_owned(), None),
    }
}

/// The words that a field may be, each with its meaning.
fn words(field: &Json) -> Option<Vec<(String, String)>> {
    let alternatives = field["oneOf"].as_array()?;
    let word = |one: &Json| one["const"].is_string().then(|| (one["const"].to_string(), prose(one)));
    alternatives.iter().map(word).collect()
}

/// What a field is for, and what each of its words means, in one cell.
fn meaning(field: &Json) -> String {
    let mut cell = prose(field).replace('\n', " ");
    let optional = field["anyOf"].as_array().and_then(|alternatives| alternatives.iter().find_map(words));
    for (word, meaning) in words(field).or(optional).into_iter().flatten() {
        write!(cell, "<br>`{word}`: {}", meaning.replace('\n', " ")).expect("a string grows");
    }
    cell
}

fn prose(schema: &Json) -> String {
    schema["description"].as_str().unwrap_or_default().trim().to_owned()
}
