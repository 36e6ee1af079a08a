//! `report.html`: one page that describes a run.

use std::fmt::Write as _;

use wiremend_measure::{EffectiveScenario, Origin, Percentile, Summary, VariantSummary};

use crate::comparison::{self, Column};
use crate::link_costs;
use crate::markup::Escaped;
use crate::plot::style::{DRAWING, VARIABLES};
use crate::plot::{Curve, Drawing, Line, Plot, Unit, figures};
use crate::sentences::sentences;
use crate::traffic::{self, Traffic};

/// Content of a report.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Title of the page.
    pub title: &'a str,
    /// Summary in a few sentences.
    pub sentences: &'a [String],
    /// Results of all variants.
    pub summary: &'a Summary,
    /// Drawings of single runs.
    pub drawings: &'a [Drawing],
    /// Links and flows of each variant.
    pub traffic: &'a [Traffic],
}

/// Most variants whose series are drawn.
const SERIES_MAX: usize = 6;

pub(crate) const LAYOUT: &str = "\
body{margin:0 auto;max-width:1200px;padding:24px 20px 48px;background:var(--ground);color:var(--ink);\
font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif}\
h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:36px 0 10px}.faint{color:var(--faint);font-size:14px}\
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums}\
th,td{padding:7px 8px;text-align:left;border-bottom:1px solid var(--grid);vertical-align:top}\
th:first-child,td:first-child{padding-left:0}td.n{white-space:nowrap}td.t{min-width:9em}\
th{font-weight:600}th.n{max-width:6em}th[title]{cursor:help}.n{text-align:right}td:first-child{font-weight:600}\
figure{margin:20px 0;overflow-x:auto}figure svg{width:100%;max-width:920px;height:auto}td.l{white-space:nowrap}\
.s{display:none}\
@media (max-width:640px){body{padding:16px 12px 40px}h1{font-size:22px}td.l .bad{display:block;font-weight:400}\
.wide th:first-child,.wide td:first-child{position:sticky;left:0;background:var(--ground);padding-right:10px}.w{display:none}.s{display:block}figure.s{margin:14px -4px}}\
@media print{.w{display:block}.s{display:none}}.bad{color:var(--bad)}\
pre{overflow-x:auto;padding:14px;border:1px solid var(--grid);border-radius:6px;\
font:13px/1.45 ui-monospace,'SF Mono',Consolas,'Liberation Mono',monospace}summary{cursor:pointer;margin:8px 0}";

impl Page<'_> {
    /// The complete page. It has no script and loads nothing; a content security policy enforces this.
    pub fn html(&self) -> String {
        let mut html = String::new();
        let title = Escaped(self.title);
        let _ = write!(
            html,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>{title} · wiremend</title>\n<style>{VARIABLES}{LAYOUT}{DRAWING}</style>\n</head>\n<body>\n"
        );
        self.write_head(&mut html);
        self.write_results(&mut html);
        self.write_origin(&mut html);
        html.push_str("</body>\n</html>\n");
        html
    }

    /// The tables and drawings, as part of a page with [`page_style`].
    pub fn write_results(&self, html: &mut String) {
        write_table(html, &self.summary.variants);
        link_costs::write(html, self.traffic);
        self.write_figures(html);
    }

    fn write_head(&self, html: &mut String) {
        let Summary { scenario, seed, seeds, version, .. } = self.summary;
        let seeds = match seeds {
            0 | 1 => format!("seed {seed}"),
            n => format!("{n} seeds from {seed}"),
        };
        let _ = writeln!(html, "<header>\n<h1>{}</h1>", Escaped(self.title));
        let (scenario, version) = (Escaped(scenario), Escaped(version));
        let _ = writeln!(
            html,
            "<p class=\"faint\">scenario {scenario} · {seeds} · wiremend {version}</p>\n</header>"
        );
        for sentence in self.sentences {
            let _ = writeln!(html, "<p>{}</p>", Escaped(sentence));
        }
    }

    fn write_figures(&self, html: &mut String) {
        let variants = &self.summary.variants;
        let finished = variants.iter().any(|variant| variant.fct_ns.is_some());
        let mut drawings = Vec::new();
        if finished || self.drawings.is_empty() {
            drawings.push(figures::fct_distribution(variants).drawing());
            drawings.push(figures::fct_tail(variants).drawing());
            let by_size = [(Percentile::P50, "median"), (Percentile::P99, "p99")]
                .map(|(percentile, name)| figures::slowdown_by_size(variants, percentile, name));
            drawings.extend(by_size.iter().flatten().map(Plot::drawing));
            if variants.iter().any(|variant| variant.timeouts.total() > 0) {
                drawings.push(figures::timeout_causes(variants).drawing());
            }
        }
        drawings.extend(self.completed().map(|plot| plot.drawing()));
        html.push_str("<h2>Plots</h2>\n");
        for drawing in self.drawings.iter().chain(&drawings) {
            write_drawing(html, drawing);
        }
        let series: Vec<Plot> = self.traffic.iter().take(SERIES_MAX).flat_map(Traffic::plots).collect();
        if !series.is_empty() {
            html.push_str("<h2>Over time, first seed</h2>\n");
            for plot in &series {
                write_drawing(html, &plot.drawing());
            }
            if self.traffic.len() > SERIES_MAX {
                let _ = writeln!(
                    html,
                    "<p class=\"faint\">Drawn are the first {SERIES_MAX} variants; series.parquet has all.</p>"
                );
            }
        }
    }

    /// Payload of completed flows of each variant over time.
    fn completed(&self) -> Option<Plot> {
        let curve = |traffic: &Traffic| Curve {
            name: traffic.variant.clone(),
            points: traffic.completed.clone(),
            line: Line::StepAfter,
        };
        let curves: Vec<_> =
            self.traffic.iter().map(curve).filter(|curve| !curve.points.is_empty()).collect();
        let has_some = !curves.is_empty();
        let (title, what) = ("Payload delivered over time", "payload of completed flows");
        let mut plot = traffic::over_time(title, what, Unit::Bytes, Line::StepAfter, curves);
        "simulated time of the first seed, until 99 % was delivered".clone_into(&mut plot.x.label);
        has_some.then_some(plot)
    }

    fn write_origin(&self, html: &mut String) {
        let Origin { command, overrides, threads, machine, scenario, variants, files } = &self.summary.origin;
        let _ = writeln!(html, "<h2>How it was made</h2>\n<pre>{}</pre>", Escaped(command));
        let plural = if *threads == 1 { "" } else { "s" };
        let (version, machine) = (Escaped(&self.summary.version), Escaped(machine));
        let _ = writeln!(html, "<p>wiremend {version} with {threads} thread{plural} on {machine}.</p>");
        html.push_str(
            "<p class=\"faint\">The same version, seed and scenario give the same digests. <code>wiremend rerun DIR\
             </code> repeats the run from the files of this directory and compares them.</p>\n<pre>",
        );
        for variant in &self.summary.variants {
            let _ = writeln!(html, "{}  {}", Escaped(&variant.digest), Escaped(&variant.name));
        }
        html.push_str("</pre>\n");
        if !overrides.is_empty() {
            let _ = writeln!(html, "<p>Overrides:</p>\n<pre>{}</pre>", Escaped(&overrides.join("\n")));
        }
        for file in files {
            let (name, copy, hash) = (Escaped(&file.name), Escaped(&file.copy), Escaped(&file.sha256));
            let _ = writeln!(html, "<p>File {name}, copied to {copy}: SHA-256 {hash}</p>");
        }
        write_details(html, "The scenario file", scenario);
        for made in variants {
            let EffectiveScenario { variant, seed, sha256, scenario } = made;
            let title = format!("Every value of \"{variant}\", first seed {seed}, SHA-256 {sha256}");
            write_details(html, &title, scenario);
        }
    }
}

/// The styles of pages and their drawings.
pub fn page_style() -> String {
    [VARIABLES, LAYOUT, DRAWING].concat()
}

/// Sentences, table and completion times of variants, as part of a page with styles of its own.
pub fn comparison_html(variants: &[VariantSummary]) -> String {
    let mut html = String::new();
    for sentence in sentences(variants) {
        let _ = writeln!(html, "<p>{}</p>", Escaped(&sentence));
    }
    write_columns(&mut html, &comparison::columns(variants), variants.len());
    for line in comparison::failures(variants) {
        let _ = writeln!(html, "<p class=\"bad\">{}</p>", Escaped(&line));
    }
    if variants.iter().any(|variant| variant.finished > 1) {
        write_drawing(&mut html, &figures::fct_tail(variants).drawing());
    }
    html
}

/// A page shows one of both drawings; the other is hidden by its style.
fn write_drawing(html: &mut String, drawing: &Drawing) {
    let Drawing { wide, narrow } = drawing;
    let _ = writeln!(html, "<figure class=\"w\">\n{wide}</figure>\n<figure class=\"s\">\n{narrow}</figure>");
}

fn write_details(html: &mut String, title: &str, text: &str) {
    let (title, text) = (Escaped(title), Escaped(text));
    let _ = writeln!(html, "<details>\n<summary>{title}</summary>\n<pre>{text}</pre>\n</details>");
}

/// Most rows of the table of seeds on a page; `summary.json` has all.
const SEED_ROWS_MAX: usize = 2000;
/// Most groups of collectives on a page; `summary.json` has all.
const GROUPS_MAX: usize = 1024;

fn write_table(html: &mut String, variants: &[VariantSummary]) {
    html.push_str("<h2>Variants</h2>\n");
    write_columns(html, &comparison::columns(variants), variants.len());
    for line in comparison::failures(variants) {
        let _ = writeln!(html, "<p class=\"bad\">{}</p>", Escaped(&line));
    }
    for line in comparison::notes(variants) {
        let _ = writeln!(html, "<p>Note: {}</p>", Escaped(&line));
    }
    let _ = writeln!(html, "<p>{}</p>", Escaped(&comparison::interval_note(variants)));
    html.push_str(
        "<p class=\"faint\">Flow completion time: from the post to the requester's last completion. Only finished flows \
         count.</p>\n<details>\n<summary>More numbers</summary>\n",
    );
    write_columns(html, &comparison::more_columns(variants), variants.len());
    html.push_str("</details>\n");
    if variants.iter().any(|variant| variant.seeds.len() > 1) {
        html.push_str("<details>\n<summary>Each seed</summary>\n");
        let columns = comparison::seed_columns(variants);
        let rows = columns[0].cells.len();
        write_columns(html, &columns, rows.min(SEED_ROWS_MAX));
        if rows > SEED_ROWS_MAX {
            let more = rows - SEED_ROWS_MAX;
            let _ = writeln!(html, "<p class=\"faint\">and {more} more rows; summary.json has all</p>");
        }
        html.push_str("</details>\n");
    }
    let groups = comparison::groups(variants);
    if !groups.is_empty() {
        html.push_str("<details>\n<summary>Job completion time of each group</summary>\n<table>\n");
        for [whose, times] in groups.iter().take(GROUPS_MAX) {
            let _ = writeln!(html, "<tr><td>{}</td><td>{}</td></tr>", Escaped(whose), Escaped(times));
        }
        html.push_str("</table>\n</details>\n");
    }
}

fn write_columns(html: &mut String, columns: &[Column], rows: usize) {
    html.push_str("<div class=\"wide\">\n<table>\n<thead><tr>");
    for column in columns {
        let class = if column.is_number { " class=\"n\"" } else { "" };
        let (meaning, heading) = (Escaped(column.meaning), Escaped(column.heading));
        let _ = write!(html, "<th scope=\"col\"{class} title=\"{meaning}\">{heading}</th>");
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in 0..rows {
        html.push_str("<tr>");
        for column in columns {
            let class = if column.is_number { "n" } else { "t" };
            let _ = write!(html, "<td class=\"{class}\">{}</td>", Escaped(&column.cells[row]));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n</div>\n");
}

#[cfg(test)]
mod tests {
    use wiremend_measure::{FlowSample, LaneFlows, LaneRow, Metric, SeriesRow};

    use super::*;
    use crate::markup::tests::assert_balanced;
    use crate::sample;

    fn page(scenario: &str, title: &str) -> String {
        let mut summary = sample::summary();
        summary.origin.scenario = scenario.to_owned();
        let sentences = ["Corruption is rare & <expensive>.".to_owned()];
        Page { title, sentences: &sentences, summary: &summary, drawings: &[], traffic: &[] }.html()
    }

    #[test]
    fn a_page_is_complete_and_loads_nothing() {
        let html = page("[topology]\nkind = \"pair\"\n", "Tour");
        assert_balanced(&html.replace("<!doctype html>", ""));
        assert_eq!(html.matches("<svg").count(), 2 * 5);
        // The SVG namespace is the only address in the page.
        assert_eq!(html.replace("http://www.w3.org/2000/svg", "").matches("://").count(), 0);
        assert!(!html.contains("<script") && html.contains("default-src 'none'"));
        for text in [
            "seed 1",
            "wiremend 0.1.0",
            "wiremend run &#39;tour&#39;",
            "kind = &quot;pair&quot;",
            "2 threads on a machine",
            "transport.retry=3",
            "k = 4",
            "cafe",
        ] {
            assert!(html.contains(text), "{text}");
        }
    }

    fn traffic(variant: &str) -> Traffic {
        let mut traffic = Traffic::new(variant);
        traffic.name_lanes((0..40).map(|lane| format!("<s{lane}>")));
        for lane in 0..40 {
            let flows = LaneFlows { count: 5, lost_ps: u64::from(lane % 20) * 1_000_000, timeouts: 1 };
            let is_corrupting = lane == 19;
            for _seed in 0..2 {
                traffic.add_lane(&LaneRow { lane, is_corrupting, flows: Some(flows), ..LaneRow::default() });
            }
        }
        for time in 1..=5_000_u64 {
            for lane in 0..40 {
                for metric in [Metric::QueueBytes, Metric::TxBytes] {
                    let value = time % 100 + u64::from(lane);
                    traffic.add_sample(&SeriesRow { time_ps: time * 1_000, entity: lane, metric, value });
                }
            }
            traffic.add_flow_sample(
                1_000,
                &FlowSample {
                    time_ps: time * 1_000,
                    flow: time % 3,
                    span_ps: 3_000,
                    sent_bytes: 100,
                    retransmitted_bytes: 0,
                    rate_bps: Some(time * 1_000),
                    window_bytes: None,
                },
            );
        }
        traffic.completed = (0..200).map(|step| (f64::from(step), f64::from(step) * 1e6)).collect();
        traffic
    }

    /// Of many links those that cost most appear, and long series stay small.
    #[test]
    fn links_are_ranked_and_series_are_drawn() {
        let summary = sample::summary();
        let traffic = [traffic("a & b"), traffic("c")];
        let html =
            Page { title: "t", sentences: &[], summary: &summary, drawings: &[], traffic: &traffic }.html();
        assert_balanced(&html.replace("<!doctype html>", ""));
        let names: Vec<_> = html.matches("&lt;s").collect();
        let first =
            html.find("<td class=\"l\">&lt;s19&gt; <span class=\"bad\">corrupting</span></td>").unwrap();
        let second = html.find("<td class=\"l\">&lt;s39&gt;</td>").unwrap();
        assert!(first < second && names.len() >= 16, "{names:?}");
        assert!(html.contains(">38 ms<") || html.contains(">38 µs<"), "both seeds count");
        assert!(!html.contains("<td class=\"l\">&lt;s0&gt;</td>"), "it cost nothing");
        for title in [
            "Payload delivered over time",
            "Longest queues, a &amp; b",
            "Busiest links, c",
            "Throughput of flows, c",
            "Rate of flows, c",
            "Slowdown by size, median",
            "Slowdown by size, p99",
        ] {
            // A wide drawing and a narrow one.
            assert_eq!(html.matches(&format!("aria-label=\"{title}. ")).count(), 2, "{title}");
        }
        assert!(!html.contains("Window of flows"), "the flows have none");
        assert!(html.len() < 700_000, "{}", html.len());
    }

    #[test]
    fn markup_in_texts_is_escaped() {
        let html = page("</pre><script>alert(1)</script>\u{1b}[2J", "<img src=x onerror=alert(1)>");
        assert!(!html.contains("<script") && !html.contains("<img") && !html.contains('\u{1b}'));
        assert!(html.contains("&lt;/pre&gt;&lt;script&gt;alert(1)"));
        assert_balanced(&html.replace("<!doctype html>", ""));
    }

    #[test]
    fn equal_summaries_give_equal_bytes() {
        assert_eq!(page("x", "y"), page("x", "y"));
    }
}
