//! The page of a folder: what to compare, the comparison, slow flows, sweeps.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use wiremend_dataplane::http::Request;
use wiremend_measure::{FlowOutcome, Headline, Percentile, Summary, VariantSummary};
use wiremend_report::{DocumentPart, Escaped, Page, Traffic, human};
use wiremend_sweep::headline_title;

use super::folder::{Contents, ResultsFolder};

/// What a reader wants to see.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Selection {
    /// Variants, as `RUN#NUMBER`. None: the first ones.
    variants: Vec<String>,
    /// Numbers of sweeps. None: those of each study.
    numbers: Vec<Headline>,
}

/// A selected variant.
struct Chosen<'a> {
    /// `RUN#NUMBER`.
    key: String,
    run: &'a str,
    summary: &'a Summary,
    variant: &'a VariantSummary,
    /// Its name beside variants of other runs.
    label: String,
}

/// Variants that are compared: more curves cannot be told apart.
const VARIANTS_MAX: usize = 12;
/// Variants whose series are drawn, as in `report.html`.
const SERIES_MAX: usize = 6;
/// Sweeps that are drawn.
const SWEEPS_MAX: usize = 8;

impl Selection {
    pub(crate) fn new(request: &Request) -> Self {
        let known = |key: String| Headline::ALL.into_iter().find(|headline| headline.key() == key);
        let numbers = request.parameters("n").into_iter().filter_map(known).collect();
        Self { variants: request.parameters("v"), numbers }
    }
}

/// The page.
pub(crate) fn results_page(folder: &mut ResultsFolder, selection: &Selection, version: &str) -> String {
    let contents = folder.contents();
    let root = folder.root().display().to_string();
    let mut html = head("Results");
    let (runs, sweeps) = (contents.runs.len(), contents.sweeps.len());
    let _ = writeln!(
        html,
        "<header>\n<h1>Results</h1>\n<p class=\"faint\">{} · {runs} runs, {sweeps} sweeps · wiremend {}. Load the page \
         again to see newer results.</p>\n</header>\n<main>",
        Escaped(&root),
        Escaped(version)
    );
    for (name, why) in &contents.refused {
        let _ = writeln!(html, "<p class=\"bad\">{}: {}</p>", Escaped(name), Escaped(why));
    }
    if runs + sweeps == 0 {
        html.push_str(
            "<p>Nothing to show. <code>wiremend run SCENARIO --out DIR</code> and <code>wiremend sweep STUDY --out DIR\
             </code> store results.</p>\n",
        );
    }
    let (chosen, all) = choose(&contents, selection);
    write_choice(&mut html, &contents, &chosen, selection);
    if all > chosen.len() {
        let shown = chosen.len();
        let _ = writeln!(html, "<p class=\"faint\">The first {shown} of {all} variants are compared.</p>");
    }
    if !chosen.is_empty() {
        let drawn = catch_unwind(AssertUnwindSafe(|| comparison(folder, &chosen)));
        html.push_str(&drawn.unwrap_or_else(|_| {
            "<p class=\"bad\">The selected variants cannot be drawn: a summary.json has impossible numbers.</p>\n".to_owned()
        }));
        write_flows(&mut html, folder, &chosen);
    }
    write_sweeps(&mut html, folder, &contents, selection);
    html.push_str("</main>\n</body>\n</html>\n");
    html
}

/// The first lines of a page, up to its body.
pub(crate) fn head(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{} · wiremend</title>\n\
         <link rel=\"icon\" href=\"/icon.svg\">\n<link rel=\"stylesheet\" href=\"/results.css\">\n</head>\n<body>\n",
        Escaped(title)
    )
}

/// The name of a variant in addresses.
fn key(run: &str, number: usize) -> String {
    format!("{run}#{number}")
}

/// The selected variants, and how many would have been.
fn choose<'a>(contents: &'a Contents, selection: &Selection) -> (Vec<Chosen<'a>>, usize) {
    let all = contents.runs.iter().flat_map(|(run, summary)| {
        summary.variants.iter().enumerate().map(move |(number, variant)| Chosen {
            key: key(run, number),
            run,
            summary,
            variant,
            label: variant.name.clone(),
        })
    });
    let is_chosen = |one: &Chosen<'_>| selection.variants.is_empty() || selection.variants.contains(&one.key);
    let mut chosen: Vec<Chosen<'a>> = all.filter(is_chosen).collect();
    let count = chosen.len();
    chosen.truncate(VARIANTS_MAX);
    if chosen.iter().any(|one| one.run != chosen[0].run) {
        for one in &mut chosen {
            one.label = format!("{}: {}", one.run, one.label);
        }
    }
    (chosen, count)
}

fn write_choice(html: &mut String, contents: &Contents, chosen: &[Chosen<'_>], selection: &Selection) {
    html.push_str("<form action=\"/\" method=\"get\">\n");
    for (run, summary) in &contents.runs {
        let Summary { scenario, seed, seeds, version, variants, .. } = &**summary;
        let seeds = if *seeds > 1 { format!("{seeds} seeds from {seed}") } else { format!("seed {seed}") };
        let _ = writeln!(
            html,
            "<fieldset><legend>{} <span class=\"faint\">scenario {}, {seeds}, wiremend {}</span></legend>",
            Escaped(run),
            Escaped(scenario),
            Escaped(version)
        );
        for (number, variant) in variants.iter().enumerate() {
            let key = key(run, number);
            let is_chosen = chosen.iter().any(|one| one.key == key);
            write_check(html, "v", &key, &variant.name, is_chosen);
        }
        html.push_str("</fieldset>\n");
    }
    if !contents.sweeps.is_empty() {
        html.push_str(
            "<details><summary>Numbers of sweeps</summary>\n<fieldset><legend>Numbers of sweeps</legend>\n",
        );
        for headline in Headline::ALL {
            let is_chosen = selection.numbers.contains(&headline);
            write_check(html, "n", headline.key(), headline_title(headline), is_chosen);
        }
        html.push_str("</fieldset></details>\n");
    }
    if !contents.runs.is_empty() || !contents.sweeps.is_empty() {
        html.push_str("<p><button type=\"submit\">Show</button> <a href=\"/\">Start again</a></p>\n");
    }
    html.push_str("</form>\n");
}

fn write_check(html: &mut String, name: &str, value: &str, label: &str, is_chosen: bool) {
    let (value, label) = (Escaped(value), Escaped(label));
    let checked = if is_chosen { " checked" } else { "" };
    let _ = writeln!(
        html,
        "<label><input type=\"checkbox\" name=\"{name}\" value=\"{value}\"{checked}> {label}</label>"
    );
}

/// Tables and drawings of the selected variants.
fn comparison(folder: &mut ResultsFolder, chosen: &[Chosen<'_>]) -> String {
    let mut html = String::new();
    let (mut traffic, mut refused) = (Vec::new(), Vec::new());
    for one in chosen.iter().take(SERIES_MAX) {
        match folder.series(one.run, one.summary) {
            Ok(series) => traffic.extend(series.get(&one.variant.name).map(|series| {
                let mut series = Traffic::clone(series);
                series.variant.clone_from(&one.label);
                series
            })),
            Err(why) => refused.push((one.run, why)),
        }
    }
    write_refusals(&mut html, refused);
    let variants = chosen.iter().map(|one| VariantSummary { name: one.label.clone(), ..one.variant.clone() });
    let summary = Summary { variants: variants.collect(), ..chosen[0].summary.clone() };
    let page = Page { title: "", sentences: &[], summary: &summary, drawings: &[], traffic: &traffic };
    page.write_results(&mut html);
    if let Some(table) = sizes(&summary.variants) {
        html.push_str("<h2>Size bins</h2>\n");
        table.write(&mut html);
    }
    html
}

fn write_refusal(html: &mut String, run: &str, why: &str) {
    let _ = writeln!(html, "<p class=\"bad\">{}: {}</p>", Escaped(run), Escaped(why));
}

/// Writes a line for each run that cannot be read.
fn write_refusals(html: &mut String, mut refused: Vec<(&str, String)>) {
    refused.dedup();
    for (run, why) in refused {
        write_refusal(html, run, &why);
    }
}

/// Slowdowns by size.
fn sizes(variants: &[VariantSummary]) -> Option<DocumentPart> {
    const PERCENTILES: [Percentile; 3] = [Percentile::P50, Percentile::P99, Percentile::P999];
    let columns = ["variant", "flow size", "flows", "slowdown p50", "p99", "p99.9"].map(str::to_owned);
    let rows: Vec<Vec<String>> = variants
        .iter()
        .flat_map(|variant| {
            variant.slowdown_by_size.iter().map(|bin| {
                let bytes = |bytes: u64| human::bytes(bytes as f64);
                let size = format!("{} to {}", bytes(bin.from_bytes), bytes(bin.below_bytes));
                let carried = |percentile| bin.slowdown.carried(percentile, bin.flows);
                let percentiles = PERCENTILES.map(|one| carried(one).map_or("–".to_owned(), human::factor));
                let first = [variant.name.clone(), size, human::count(bin.flows)];
                first.into_iter().chain(percentiles).collect()
            })
        })
        .collect();
    (!rows.is_empty()).then(|| DocumentPart::Table { columns: columns.to_vec(), rows })
}

fn write_flows(html: &mut String, folder: &mut ResultsFolder, chosen: &[Chosen<'_>]) {
    html.push_str(
        "<h2>Slowest flows</h2>\n<p class=\"faint\">A flow opens as its packets: the run is simulated again up to its \
         end.</p>\n<div class=\"wide\">\n<table>\n<thead><tr><th scope=\"col\">variant</th>",
    );
    for column in ["flow", "seed", "payload", "completion time", "slowdown", "timeouts"] {
        let _ = write!(html, "<th scope=\"col\" class=\"n\">{column}</th>");
    }
    html.push_str("<th scope=\"col\">outcome</th></tr></thead>\n<tbody>\n");
    let mut refused = Vec::new();
    for one in chosen {
        let flows = match folder.slow_flows(one.run) {
            Ok(flows) => flows,
            Err(why) => {
                refused.push((one.run, why));
                continue;
            }
        };
        for flow in flows.get(&one.variant.name).into_iter().flatten() {
            let address = format!("/flow?of={}&seed={}&flow={}", encoded(&one.key), flow.seed, flow.flow);
            let outcome = FlowOutcome::ALL.into_iter().find(|outcome| outcome.key() == flow.outcome);
            let _ = writeln!(
                html,
                "<tr><td>{}</td><td class=\"n\"><a href=\"{}\">flow {}</a></td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
                Escaped(&one.label),
                Escaped(&address),
                flow.flow,
                flow.seed,
                human::bytes(flow.bytes as f64),
                human::time_ns(flow.fct_ns),
                human::factor(flow.slowdown),
                flow.timeouts,
                outcome.map_or("unknown", FlowOutcome::key),
            );
        }
    }
    html.push_str("</tbody>\n</table>\n</div>\n");
    write_refusals(html, refused);
    html.push_str("<form action=\"/flow\" method=\"get\">\n<p><label>Another flow of <select name=\"of\">");
    for one in chosen {
        let _ = write!(html, "<option value=\"{}\">{}</option>", Escaped(&one.key), Escaped(&one.label));
    }
    html.push_str(
        "</select></label> <label>number <input name=\"flow\" inputmode=\"numeric\" pattern=\"[0-9]+\" required size=\"8\">\
         </label> <label>seed <input name=\"seed\" inputmode=\"numeric\" pattern=\"[0-9]*\" size=\"8\"></label> \
         <button type=\"submit\">Open</button></p>\n</form>\n",
    );
}

fn write_sweeps(html: &mut String, folder: &mut ResultsFolder, contents: &Contents, selection: &Selection) {
    for (at, (name, path)) in contents.sweeps.iter().enumerate() {
        let _ = writeln!(html, "<section>\n<h2>Sweep {}</h2>", Escaped(name));
        if at >= SWEEPS_MAX {
            let _ = writeln!(html, "<p>Not drawn; serve this folder alone.</p>\n</section>");
            continue;
        }
        match folder.sweep(path, &selection.numbers) {
            Ok(parts) => parts.iter().for_each(|part| part.write(html)),
            Err(why) => write_refusal(html, name, &why),
        }
        html.push_str("</section>\n");
    }
}

/// Escapes a parameter of an address.
fn encoded(text: &str) -> String {
    let mut all = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => all.push(char::from(byte)),
            other => {
                let _ = write!(all, "%{other:02X}");
            }
        }
    }
    all
}
