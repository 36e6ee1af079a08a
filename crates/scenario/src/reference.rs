//! The reference page of scenario files, generated from the types.

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
use crate::fail::Fail;
use crate::host_delay::HostDelay;
use crate::impair::Impair;
use crate::lossless::Lossless;
use crate::measure::Measure;
use crate::mend::Mend;
use crate::pause::Pause;
use crate::protect::Protect;
use crate::recovery::SelectiveRepeat;
use crate::route::Route;
use crate::scenario::{Engine, Scenario, Series, Stop, VariantTable};
use crate::switch::Switch;
use crate::tcp::Tcp;
use crate::topology::{LinkOverride, Topology};
use crate::transport::Transport;
use crate::tree::KIND;
use crate::trim::Trim;
use crate::workload::Workload;

const OPENING: &str = r#"# Scenario files

<!-- Generated from the doc comments in crates/scenario: edit those, then run
`cargo xtask docs` -->

A scenario is a TOML file that describes a run: a network, its workloads, the impairments of its links, and the variants
to compare. `wiremend list` lists the built-in scenarios, `wiremend show NAME` prints one as a start for your own, and
`wiremend run FILE` runs one. `wiremend schema` prints a JSON schema for editors.

```toml
title = "0.25 % loss on one link"

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
`s`; sizes in `B`, `kB`, `MB`, `GB`, `KiB`, `MiB`, `GiB`. Names of values may be written in other ways: `go-back-n`,
`go_back_n`, `GoBackN` and `gbn` are the same. Fields that are not listed here are errors. Terms are in the
[glossary](../glossary.md).

"#;

/// A page of the reference.
pub struct ReferencePage {
    /// Its file in `docs/reference`.
    pub file: &'static str,
    /// Its text in Markdown.
    pub text: String,
}

/// Files and openings of the pages. Code hosts cut longer pages than these.
const PAGES: [(&str, &str); 3] = [
    ("scenarios.md", OPENING),
    (
        "scenario-switches.md",
        "# Scenario files: topology and switches\n\nBack to [all fields](scenarios.md). Terms are in the \
         [glossary](../glossary.md).\n\n",
    ),
    (
        "scenario-transport.md",
        "# Scenario files: transport\n\nBack to [all fields](scenarios.md). Terms are in the \
         [glossary](../glossary.md).\n\n",
    ),
];
const MAIN: usize = 0;
const SWITCHES: usize = 1;
const TRANSPORT: usize = 2;

type PushSection = fn(&mut String, &str);

/// Sections in their order: page, heading, content.
const SECTIONS: &[(usize, &str, PushSection)] = &[
    (SWITCHES, "[topology]", push_section::<Topology>),
    (SWITCHES, "[[topology.link]]", push_section::<LinkOverride>),
    (SWITCHES, "[switch]", push_section::<Switch>),
    (SWITCHES, "[[switch.buffer]]", push_section::<Buffer>),
    (SWITCHES, "[switch.lossless]", push_section::<Lossless>),
    (SWITCHES, "[switch.ecn]", push_section::<Ecn>),
    (SWITCHES, "[switch.trim]", push_section::<Trim>),
    (SWITCHES, "[switch.watchdog]", push_section::<Watchdog>),
    (SWITCHES, "[switch.demotion]", push_section::<Demotion>),
    (SWITCHES, "[switch.probes]", push_section::<Probes>),
    (SWITCHES, "[switch.loops]", push_section::<Loops>),
    (SWITCHES, "[deadlock]", push_section::<Deadlock>),
    (TRANSPORT, "[transport]", push_section::<Transport>),
    (TRANSPORT, "[transport.selective-repeat]", push_section::<SelectiveRepeat>),
    (TRANSPORT, "[transport.dcp]", push_section::<Dcp>),
    (TRANSPORT, "[transport.tcp]", push_section::<Tcp>),
    (TRANSPORT, "[transport.acceleration]", push_section::<Acceleration>),
    (TRANSPORT, "[transport.host-delay]", push_section::<HostDelay>),
    (TRANSPORT, "[transport.dcqcn]", push_section::<Dcqcn>),
    (TRANSPORT, "[transport.swift]", push_section::<Swift>),
    (MAIN, "[mend]", push_section::<Mend>),
    (MAIN, "[[workload]]", push_section::<Workload>),
    (MAIN, "[[impair]]", push_section::<Impair>),
    (MAIN, "[[fail]]", push_section::<Fail>),
    (MAIN, "[[pause]]", push_section::<Pause>),
    (MAIN, "[[route]]", push_section::<Route>),
    (MAIN, "[[protect]]", push_section::<Protect>),
    (MAIN, "[[variant]]", push_section::<VariantTable>),
    (MAIN, "[stop]", push_section::<Stop>),
    (MAIN, "[measure]", push_section::<Measure>),
    (MAIN, "[series]", push_section::<Series>),
    (MAIN, "[engine]", push_section::<Engine>),
];

/// Returns the pages of the reference.
pub fn reference() -> Vec<ReferencePage> {
    let mut pages = PAGES.map(|(file, opening)| ReferencePage { file, text: opening.to_owned() });
    pages[MAIN].text.push_str("## The file\n\n");
    push_top(&mut pages[MAIN].text, &schema::<Scenario>());
    for (page, heading, push) in SECTIONS {
        push(&mut pages[*page].text, heading);
    }
    for (number, page) in pages.iter_mut().enumerate() {
        page.text = link_sections(number, page.text.trim_end());
        page.text.push('\n');
    }
    pages.into()
}

/// Adds the file to links to sections that are on another page.
fn link_sections(page: usize, text: &str) -> String {
    let mut text = text.to_owned();
    for (other, heading, _) in SECTIONS.iter().filter(|(other, ..)| *other != page) {
        let anchor: String = heading.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect();
        text = text.replace(&format!("](#{anchor})"), &format!("]({}#{anchor})", PAGES[*other].0));
    }
    text
}

fn schema<T: JsonSchema>() -> Json {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn push_section<T: JsonSchema>(page: &mut String, heading: &str) {
    let schema = schema::<T>();
    write!(page, "## {heading}\n\n{}\n\n", wrapped(&prose(&schema))).expect("a string grows");
    push_fields(page, &schema);
    for kind in schema["oneOf"].as_array().into_iter().flatten() {
        let name = kind["properties"][KIND]["const"].as_str().expect("each kind has a name");
        write!(page, "### kind = \"{name}\"\n\n{}\n\n", wrapped(&prose(kind))).expect("a string grows");
        push_fields(page, kind);
    }
}

/// Appends the fields of the file itself; tables among them have their own sections.
fn push_top(page: &mut String, file: &Json) {
    let rows = file["properties"].as_object().into_iter().flatten().map(|(name, field)| {
        let [name_cell, value, default, meaning] = row(name, field, is_required(file, name));
        let value = if value.contains("table") { format!("[{value}](#{name})") } else { value };
        [name_cell, value, default, meaning]
    });
    push_rows(page, rows.collect());
}

/// Appends a table of the fields of an object, or two if some are advanced; nothing if there are none.
fn push_fields(page: &mut String, object: &Json) {
    let (mut common, mut advanced) = (Vec::new(), Vec::new());
    let fields = object["properties"].as_object().into_iter().flatten();
    for (name, field) in fields.filter(|(name, _)| *name != KIND) {
        let rows = if field["x-advanced"] == true { &mut advanced } else { &mut common };
        collect_rows(rows, name, field, is_required(object, name));
    }
    if advanced.is_empty() {
        return push_rows(page, common);
    }
    page.push_str("Common fields:\n\n");
    push_rows(page, common);
    page.push_str("Advanced fields, which most scenarios leave out:\n\n");
    push_rows(page, advanced);
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

/// Appends a row for a field, and one for each of its own fields.
fn collect_rows(rows: &mut Vec<[String; 4]>, path: &str, field: &Json, required: bool) {
    rows.push(row(path, field, required));
    if let Some(object) = value_of(field).1 {
        for (name, inner) in object["properties"].as_object().into_iter().flatten() {
            collect_rows(rows, &format!("{path}[].{name}"), inner, is_required(object, name));
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

/// Returns the values that a field may have, and the schema of its elements if it is a list of tables.
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

/// Returns the names that a field may have, each with its meaning.
fn words(field: &Json) -> Option<Vec<(String, String)>> {
    let alternatives = field["oneOf"].as_array()?;
    let word = |one: &Json| one["const"].is_string().then(|| (one["const"].to_string(), prose(one)));
    alternatives.iter().map(word).collect()
}

/// Returns the meaning of a field and of each of its names, in one cell.
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

/// Fills the lines of paragraphs up to [`WIDTH`]. Code, tables and lists keep their lines.
fn wrapped(text: &str) -> String {
    let mut in_code = false;
    let blocks = text.split("\n\n").map(|block| {
        let is_kept = in_code || block.contains("```") || block.starts_with(['|', '-', '#']);
        in_code ^= block.matches("```").count() % 2 == 1;
        if is_kept { block.to_owned() } else { filled(block) }
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

/// Longest line of prose, in characters. A link to another page grows by the name of its file.
const WIDTH: usize = 96;

fn filled(paragraph: &str) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if column > 0 {
            let fits = column + 1 + length <= WIDTH;
            text.push(if fits { ' ' } else { '\n' });
            column = if fits { column + 1 } else { 0 };
        }
        text.push_str(word);
        column += length;
    }
    text
}
