//! `VALIDATION.md`: the ledger as a document beside the code.

use std::fmt::Write as _;

use super::{Check, Entry, Ledger, Origin, Table, sentence, spoken_s};

impl Ledger {
    /// The document. Its figures are `figures/NAME.svg`, and the first table has a line `| [ID](#id) | verdict | … |` for
    /// each claim, which programs read too.
    pub fn validation(&self, figures: &str) -> String {
        let mut text = String::from(
            "# What papers claim, measured here\n\n\
             <!-- This page is written by `cargo xtask ledger`. What is changed by hand is lost. -->\n\n\
             Each claim of the ledger is simulated by the program itself, and its verdict computed from what came out: \
             *reproduced*, *differs* for a reason that was measured too, or *not reproduced*. \
             `cargo xtask test` measures all of them again with less effort, and fails where a verdict differs from this page.\n\n",
        );
        text.push_str("| claims | command | effort | version | date | machine | computing time |\n|---|---|---|---|---|---|---|\n");
        for (Origin { command, version, date, machine }, ids, computing_s) in self.origins() {
            let (version, machine) = (cell(version), cell(machine));
            let (ids, effort, time) = (ids.join(" "), &self.effort, spoken_s(computing_s));
            let _ = writeln!(
                text,
                "| {ids} | `{command}` | {effort} | {version} | {date} | {machine} | {time} |"
            );
        }
        let _ = writeln!(text, "\n{}.\n\n| claim | verdict | about |\n|---|---|---|", self.tally());
        for claim in &self.claims {
            let Entry { id, verdict, title, .. } = claim;
            let _ =
                writeln!(text, "| [{id}](#{}) | {} | {} |", id.to_lowercase(), verdict.name(), cell(title));
        }
        for claim in &self.claims {
            write_claim(&mut text, claim, figures);
        }
        text
    }
}

fn write_claim(text: &mut String, claim: &Entry, figures: &str) {
    let Entry { id, title, verdict, source, paper, method, measured, why, .. } = claim;
    let _ = writeln!(
        text,
        "\n<a id=\"{}\"></a>\n\n## {id}: {}\n\n**{} {}.** {}\n",
        id.to_lowercase(),
        prose(title),
        verdict.sign(),
        capitalised(verdict.name()),
        prose(&sentence(why))
    );
    let paragraphs = [("The paper", paper), ("Source", source), ("Method", method), ("Measured", measured)];
    for (heading, paragraph) in paragraphs {
        let _ = writeln!(text, "*{heading}.* {}\n", prose(&sentence(paragraph)));
    }
    for figure in &claim.figures {
        let _ = writeln!(text, "![{}]({figures}/{}.svg)\n", prose(&figure.caption), figure.name);
    }
    write_checks(text, &claim.checks);
    if let Some(table) = &claim.table {
        write_table(text, table);
    }
    if !claim.runs.is_empty() {
        let _ = writeln!(
            text,
            "<details>\n<summary>{}</summary>\n\n```\n{}\n```\n\n</details>",
            claim.effort(),
            claim.runs.join("\n")
        );
    }
}

fn write_checks(text: &mut String, checks: &[Check]) {
    if checks.is_empty() {
        return;
    }
    text.push_str("| | checked | wanted | measured |\n|---|---|---|---|\n");
    for check in checks {
        let sign = if check.holds { "✓" } else { "✗" };
        let printed = if check.as_printed { " (as printed)" } else { "" };
        let [what, wanted, measured] = [&check.what, &check.wanted, &check.measured].map(|text| cell(text));
        let _ = writeln!(text, "| {sign} | {what}{printed} | {wanted} | {measured} |");
    }
    text.push('\n');
}

fn write_table(text: &mut String, table: &Table) {
    let line = |cells: &[String]| cells.iter().map(|text| cell(text)).collect::<Vec<_>>().join(" | ");
    let rule = vec!["---"; table.columns.len()].join("|");
    let _ = writeln!(text, "| {} |\n|{rule}|", line(&table.columns));
    for row in &table.rows {
        let _ = writeln!(text, "| {} |", line(row));
    }
    text.push('\n');
}

/// Text that does not turn into markup.
fn prose(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' => plain.extend(['\\', c]),
            '<' => plain.push_str("&lt;"),
            '&' => plain.push_str("&amp;"),
            c if c.is_control() => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain
}

/// The same in a table.
fn cell(text: &str) -> String {
    prose(text).replace('|', "\\|")
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;

    #[test]
    fn each_claim_has_its_line_its_section_and_its_figure() {
        let text = sample().validation("images/claims");
        for (id, verdict) in [("V1", "reproduced"), ("J8", "differs"), ("X3", "not reproduced")] {
            let anchor = id.to_lowercase();
            assert!(text.contains(&format!("\n| [{id}](#{anchor}) | {verdict} | ")), "{text}");
            assert!(text.contains(&format!("<a id=\"{anchor}\"></a>\n\n## {id}: ")), "{text}");
            assert!(text.contains(&format!("![Timeouts](images/claims/{anchor}.svg)")), "{text}");
        }
        for part in [
            "`wiremend repro --all`",
            "2025-01-31",
            "3 min 03 s",
            "1 min 01 s",
            "wiremend run 'a b' --seed 1",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn text_stays_text() {
        let text = sample().validation("images/claims");
        assert!(!text.contains("<title>") && text.contains("a claim &amp; its &lt;title>"), "{text}");
        assert!(
            text.contains("| ✗ | timeouts \\| of 10⁵ (as printed) | 1562 | &lt;b>1571&lt;/b> |"),
            "{text}"
        );
    }
}
