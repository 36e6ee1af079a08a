//! The ledger as Markdown: an index, and a page for each claim.

use std::fmt::Write as _;

use super::{ClaimResult, Ledger, Origin, Statement, Table, Verdict, sentence, time_text};
use crate::terminal::wrap;

/// Characters in a line of text; tables are exempt.
const WIDTH: usize = 120;

const NOTICE: &str = "<!-- Written by `cargo xtask ledger`. Edits by hand are overwritten. -->";

/// File of the changelog of criteria.
const CRITERIA: &str = "criteria.md";

const RULES: &str = "`wiremend repro` simulates what a paper claims and compares the result with the paper. Each page lists \
                     the checks: a measured value and its band. One function computes the verdict from them. A claim is \
                     *reproduced* if every printed figure is within its band. It is *corrected* if figures that miss are \
                     wrong or outside the paper's own assumptions: an exact derivation gives another value, and the \
                     measurement agrees with it. It is *explained* if with a named cause applied the printed figures come \
                     out, and the cause has fewer free values than figures. Otherwise it is *not reproduced*. A reason in \
                     words changes no verdict. Criteria have versions; [their changes](criteria.md) are listed with \
                     reasons. `cargo xtask test` repeats all claims with less effort and fails if a verdict differs from \
                     `ledger.json`. Terms are in the [glossary](../glossary.md).";

/// A Markdown file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// Name of the file: `README.md` for the index, `j1.md` for claim J1.
    pub name: String,
    /// Content of the file.
    pub text: String,
}

impl Ledger {
    /// Renders the index and a page for each claim, in this order. Figures are expected as `images/NAME.svg`
    /// beside them.
    pub fn pages(&self, statements: &[Statement]) -> Vec<Page> {
        let index = Page { name: "README.md".to_owned(), text: self.index(statements) };
        let criteria = Page { name: CRITERIA.to_owned(), text: criteria_page(statements) };
        let claims = self.stated(statements).map(|(statement, claim)| Page {
            name: file_name(statement.id),
            text: claim_page(statement, claim),
        });
        [index, criteria].into_iter().chain(claims).collect()
    }

    fn index(&self, statements: &[Statement]) -> String {
        let mut text = format!("# Claims of papers, measured\n\n{NOTICE}\n\n");
        write_paragraph(&mut text, RULES);
        text.push_str("| claims of papers | judged in full |\n|---|---|\n");
        let judged = |is_own: bool, is_full: bool| {
            let wanted = move |(statement, claim): &(&Statement, &ClaimResult)| {
                statement.is_own == is_own && claim.is_judged_in_full(statement) == is_full
            };
            self.stated(statements).filter(wanted).map(|(_, claim)| claim.verdict())
        };
        for verdict in Verdict::ALL {
            let count = judged(false, true).filter(|of| *of == verdict).count();
            let _ = writeln!(text, "| {} {} | {count} |", verdict.sign(), verdict.name());
        }
        let _ = writeln!(
            text,
            "| not yet judged in full by their criteria | {} |\n",
            judged(false, false).count()
        );
        text.push_str("| own questions | |\n|---|---|\n");
        let own: Vec<_> = judged(true, true).collect();
        let expected = own.iter().filter(|of| **of == Verdict::Reproduced).count();
        let _ = writeln!(
            text,
            "| ✓ as expected | {expected} |\n| ✗ not as expected | {} |",
            own.len() - expected
        );
        let _ =
            writeln!(text, "| not yet judged in full by their criteria | {} |", judged(true, false).count());
        text.push_str("\n| claim | verdict | title | paper | criteria |\n|---|---|---|---|---|\n");
        for (statement, claim) in self.stated(statements) {
            let Statement { id, title, source, .. } = statement;
            let (verdict, title, paper) = (verdict_text(statement, claim), cell(title), cell(source.name));
            let version = match statement.version() {
                1 => "1".to_owned(),
                version => format!("[{version}]({CRITERIA}#{})", id.to_lowercase()),
            };
            let _ =
                writeln!(text, "| [{id}]({}) | {verdict} | {title} | {paper} | {version} |", file_name(id));
        }
        text.push_str("\n## Measurements\n\n");
        text.push_str("| claims | command | effort | version | date | machine | computing time |\n");
        text.push_str("|---|---|---|---|---|---|---|\n");
        for (origin, ids, computing_s) in self.origins() {
            let _ = writeln!(text, "| {} | {} |", ids.join(" "), origin_cells(origin, computing_s));
        }
        text
    }
}

/// The page of a claim.
fn claim_page(statement: &Statement, claim: &ClaimResult) -> String {
    let Statement { id, title, source, paper, method, note, .. } = statement;
    let mut text = format!(
        "# {id}: {}\n\n{NOTICE}\n\n[All claims](README.md) · [Criteria](criteria.md) · [Glossary](../glossary.md)\n\n",
        prose(title)
    );
    let verdict = format!("{} {}", claim.verdict().sign(), capitalised(&verdict_text(statement, claim)));
    write_paragraph(&mut text, &format!("**{verdict}.** {}", prose(&sentence(&claim.why()))));
    if !note.is_empty() {
        write_paragraph(&mut text, &prose(&sentence(note)));
    }
    text.push_str("## Paper\n\n");
    write_paragraph(&mut text, &prose(&sentence(paper)));
    write_paragraph(&mut text, &format!("Source: {}", prose(&sentence(&source.to_string()))));
    text.push_str("## Method\n\n");
    write_paragraph(&mut text, &prose(&sentence(method)));
    text.push_str("## Result\n\n");
    for figure in &claim.figures {
        let _ = writeln!(text, "![{}]({}/{}.svg)\n", prose(&figure.caption), Ledger::FIGURES, figure.name);
    }
    if let Some(table) = &claim.table {
        write_table(&mut text, table);
    }
    write_checks(&mut text, claim);
    write_causes(&mut text, claim);
    let _ = writeln!(
        text,
        "## Measure again\n\n\
         ```sh\nwiremend repro {id}             # as below\nwiremend repro {id} --quick     # less simulated time, fewer points\n\
         wiremend repro {id} --commands  # prints the commands of the runs\n```\n\n\
         | command | effort | version | date | machine | computing time |\n|---|---|---|---|---|---|\n| {} |",
        origin_cells(&claim.origin, claim.computing_s)
    );
    text
}

/// The changelog of criteria.
fn criteria_page(statements: &[Statement]) -> String {
    let mut text = format!(
        "# Changes of criteria\n\n{NOTICE}\n\n[All claims](README.md) · [Glossary](../glossary.md)\n\n"
    );
    write_paragraph(
        &mut text,
        "Criteria are set before a claim is measured in full. Each change after that is listed here with its reason, \
         and makes a new version. Claims that are not listed have their first criteria, version 1.",
    );
    for statement in statements.iter().filter(|statement| !statement.revisions.is_empty()) {
        let _ = writeln!(text, "## {}\n\n{}.\n", statement.id, prose(&capitalised(statement.title)));
        text.push_str("| version | from | to | reason |\n|---|---|---|---|\n");
        for (place, revision) in statement.revisions.iter().enumerate() {
            let [from, to, why] = [revision.from, revision.to, revision.why].map(cell);
            let _ = writeln!(text, "| {} | {from} | {to} | {why} |", place + 2);
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The verdict, and whether it is final.
fn verdict_text(statement: &Statement, claim: &ClaimResult) -> String {
    let name = statement.verdict_name(claim.verdict());
    if claim.is_judged_in_full(statement) {
        return name.to_owned();
    }
    let version = statement.version();
    if claim.criteria == version {
        format!("{name} with {} effort, not yet judged in full", claim.origin.effort)
    } else {
        format!("{name} by criteria {}, not yet judged by criteria {version}", claim.criteria)
    }
}

fn origin_cells(origin: &Origin, computing_s: f64) -> String {
    let Origin { effort, command, version, date, machine } = origin;
    let (version, machine, time) = (cell(version), cell(machine), time_text(computing_s));
    format!("`{command}` | {effort} | {version} | {date} | {machine} | {time}")
}

fn file_name(id: &str) -> String {
    format!("{}.md", id.to_lowercase())
}

fn write_checks(text: &mut String, claim: &ClaimResult) {
    text.push_str("## Checks\n\n");
    if claim.checks.iter().any(|check| check.printed) {
        write_paragraph(text, "\"as printed\": the criterion is a figure of the paper; ≠ marks a miss.");
    }
    text.push_str("| | check | criterion | measured |\n|---|---|---|---|\n");
    for check in &claim.checks {
        let printed = if check.printed { " (as printed)" } else { "" };
        let [what, wanted, measured] =
            [check.what.clone(), check.wanted(), check.measured_text()].map(|text| cell(&text));
        let _ = writeln!(text, "| {} | {what}{printed} | {wanted} | {measured} |", check.sign());
    }
    text.push('\n');
}

/// Derivations of printed figures that miss, and causes of differences.
fn write_causes(text: &mut String, claim: &ClaimResult) {
    let mark = |counts| if counts { "✓" } else { "✗" };
    let misses: Vec<_> = claim
        .corrections
        .iter()
        .filter_map(|of| Some((of, claim.checks.get(of.check).filter(|check| !check.holds())?)))
        .collect();
    if !misses.is_empty() {
        text.push_str("## Exact derivations of printed figures\n\n");
        write_paragraph(
            text,
            "A derivation counts (✓) if it is outside the band of the printed figure, and the measurement agrees with it.",
        );
        text.push_str("| | figure | exact | measured | cause |\n|---|---|---|---|---|\n");
        for (of, check) in misses {
            let [what, exact, measured, cause] =
                [check.what.clone(), of.band.text(check.unit), check.measured_text(), of.cause.clone()]
                    .map(|text| cell(&text));
            let sign = mark(of.counts(&claim.checks));
            let _ = writeln!(text, "| {sign} | {what} | {exact} | {measured} | {cause} |");
        }
        text.push('\n');
    }
    for of in &claim.explanations {
        text.push_str("## A cause of differences, applied\n\n");
        let (sign, cause, figures) =
            (mark(of.counts(&claim.checks)), prose(&sentence(&of.cause)), of.figures.len());
        write_paragraph(
            text,
            &format!(
                "{sign} {} Free values: {}; figures: {figures}. A cause counts (✓) if it has fewer free values than \
                 figures, and brings all of them into their bands.",
                capitalised(&cause),
                of.free_values
            ),
        );
        text.push_str("| | figure | printed | with the cause |\n|---|---|---|---|\n");
        for (place, applied) in &of.figures {
            let Some(check) = claim.checks.get(*place) else { continue };
            let [what, wanted, applied_text] =
                [check.what.clone(), check.wanted(), applied.text(check.unit, &check.band)]
                    .map(|text| cell(&text));
            let sign = mark(check.band.holds(applied));
            let _ = writeln!(text, "| {sign} | {what} | {wanted} | {applied_text} |");
        }
        text.push('\n');
    }
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

/// Writes Markdown in lines of at most [`WIDTH`] characters, and an empty line.
fn write_paragraph(text: &mut String, markdown: &str) {
    for line in wrap(markdown, WIDTH - 1).lines() {
        let _ = writeln!(text, "{}", line_start_escaped(line));
    }
    text.push('\n');
}

/// Escapes a first word that would start a list, heading, quote or rule.
fn line_start_escaped(line: &str) -> String {
    let word = line.split(' ').next().unwrap_or_default();
    let digits = word.trim_end_matches(['.', ')']);
    if !digits.is_empty() && digits.len() < word.len() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let (number, rest) = line.split_at(digits.len());
        return format!("{number}\\{rest}");
    }
    let is_block = word.starts_with(['-', '+', '#', '>', '=', '~', '|']);
    if is_block { format!("\\{line}") } else { line.to_owned() }
}

/// Escapes characters that Markdown would take for markup.
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

/// Escapes the text of a table cell.
fn cell(text: &str) -> String {
    prose(text).replace('|', "\\|")
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{STATEMENTS, sample};
    use super::*;

    #[test]
    fn every_claim_has_a_line_in_the_index_and_a_page() {
        let pages = sample().pages(&STATEMENTS);
        let names: Vec<_> = pages.iter().map(|page| page.name.as_str()).collect();
        assert_eq!(names, ["README.md", "criteria.md", "v1.md", "j8.md", "x3.md", "w4.md"]);
        let index = &pages[0].text;
        for (page, (id, verdict)) in
            pages[2..].iter().zip([("V1", "reproduced"), ("J8", "corrected"), ("X3", "not reproduced")])
        {
            let Page { name, text } = page;
            assert!(index.contains(&format!("\n| [{id}]({name}) | {verdict} | ")), "{index}");
            assert!(index.contains("| 1 |\n") && index.contains(" | Author 2022 | 1 |\n"), "{index}");
            let image = format!("![Timeouts](images/{}.svg)", id.to_lowercase());
            for part in [&*image, "wiremend repro", "| `wiremend repro --all` | full | 0.1.0 (abc) |"] {
                assert!(text.contains(part), "{part} in {text}");
            }
            assert!(text.starts_with(&format!("# {id}: a claim &amp; its &lt;title>\n")), "{text}");
            assert!(text.contains("Source: Author, Title, Venue 2022, section 1.\n"), "{text}");
        }
    }

    #[test]
    fn text_does_not_become_markup() {
        let pages = sample().pages(&STATEMENTS);
        let text = &pages[3].text;
        assert!(
            text.contains("| ≠ | timeouts \\| of 10⁵ (as printed) | 1562 | 1750 (1592…1919) |"),
            "{text}"
        );
        assert!(text.contains("Two hosts, | and \\*.\n"), "{text}");
        assert!(
            text.contains("| ✓ | timeouts \\| of 10⁵ | 1660 | 1750 (1592…1919) | &lt;b>lost ACKs |"),
            "{text}"
        );
        let text = &pages[4].text;
        assert!(text.contains("✗ A fit. Free values: 1; figures: 1. A cause counts"), "{text}");
        assert!(text.contains("| ✓ | timeouts \\| of 10⁵ | 1562 | 1562 ("), "{text}");
        let escaped = ["12. May", "3) b", "- a", "+ 1", "#2", "12.5 ms", "1e-3"].map(line_start_escaped);
        assert_eq!(escaped, ["12\\. May", "3\\) b", "\\- a", "\\+ 1", "\\#2", "12.5 ms", "1e-3"]);
    }

    #[test]
    fn the_index_counts_papers_and_own_questions_apart_and_names_open_claims() {
        let mut ledger = sample();
        let index = |ledger: &Ledger| ledger.pages(&STATEMENTS)[0].text.clone();
        let text = index(&ledger);
        for line in
            ["| ✓ reproduced | 1 |", "| ! corrected | 1 |", "| ≠ explained | 0 |", "| ✗ not reproduced | 1 |"]
        {
            assert!(text.contains(line), "{line} in {text}");
        }
        // The criteria of W4 changed after it was measured.
        assert!(
            text.contains("| ✓ as expected | 0 |\n| ✗ not as expected | 0 |\n| not yet judged"),
            "{text}"
        );
        assert!(text.contains("as expected by criteria 1, not yet judged by criteria 2"), "{text}");
        assert!(text.contains("| [2](criteria.md#w4) |"), "{text}");
        ledger.claims[3].criteria = 2;
        assert!(index(&ledger).contains("| ✓ as expected | 1 |"));
        ledger.claims[0].origin.effort = "quick".to_owned();
        let text = index(&ledger);
        assert!(
            text.contains("| ✓ reproduced | 0 |") && text.contains("reproduced with quick effort, not yet"),
            "{text}"
        );
        let criteria = &ledger.pages(&STATEMENTS)[1].text;
        assert!(criteria.contains("## W4\n") && !criteria.contains("## V1"), "{criteria}");
        assert!(criteria.contains("| 2 | within 1 % | within 2 % | a typing error |"), "{criteria}");
    }

    #[test]
    fn lines_of_text_are_short() {
        let mut text = String::new();
        write_paragraph(&mut text, &"word ".repeat(100));
        assert!(text.lines().all(|line| line.len() <= WIDTH) && text.lines().count() == 6, "{text}");
    }
}
