//! The ledger as Markdown: an index, and a page for each claim.

use std::fmt::Write as _;

use super::{Check, ClaimResult, Ledger, Origin, Statement, Table, Verdict, sentence, time_text};
use crate::terminal::wrap;

/// Characters in a line of text; tables are exempt.
const WIDTH: usize = 120;

const NOTICE: &str = "<!-- Written by `cargo xtask ledger`. Edits by hand are overwritten. -->";

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
        let claims = self.stated(statements).map(|(statement, claim)| Page {
            name: file_name(statement.id),
            text: self.claim_page(statement, claim),
        });
        std::iter::once(index).chain(claims).collect()
    }

    fn index(&self, statements: &[Statement]) -> String {
        let mut text = format!("# Claims of papers, measured\n\n{NOTICE}\n\n");
        write_paragraph(
            &mut text,
            "`wiremend repro` simulates what a paper claims and compares the result with the paper. Each page lists the checks: a \
             measured value and its criterion. A claim is *reproduced* if all checks hold. It *differs* if only checks against \
             numbers printed in the paper miss, and other checks measure the reason. It is *not reproduced* if any other check \
             misses. `cargo xtask test` repeats all claims with less effort and fails if a verdict differs from `ledger.json`. Terms are in the [glossary](../glossary.md).",
        );
        text.push_str("| verdict | claims |\n|---|---|\n");
        for verdict in Verdict::ALL {
            let _ = writeln!(text, "| {} {} | {} |", verdict.sign(), verdict.name(), self.count(verdict));
        }
        text.push_str("\n| claim | verdict | title | paper |\n|---|---|---|---|\n");
        for (Statement { id, title, source, .. }, claim) in self.stated(statements) {
            let (verdict, title, paper) = (claim.verdict.name(), cell(title), cell(source.name));
            let _ = writeln!(text, "| [{id}]({}) | {verdict} | {title} | {paper} |", file_name(id));
        }
        text.push_str("\n## Measurements\n\n");
        text.push_str("| claims | command | effort | version | date | machine | computing time |\n");
        text.push_str("|---|---|---|---|---|---|---|\n");
        for (origin, ids, computing_s) in self.origins() {
            let _ = writeln!(text, "| {} | {} |", ids.join(" "), self.origin_cells(origin, computing_s));
        }
        text
    }

    fn claim_page(&self, statement: &Statement, claim: &ClaimResult) -> String {
        let Statement { id, title, source, paper, method } = statement;
        let mut text = format!(
            "# {id}: {}\n\n{NOTICE}\n\n[All claims](README.md) · [Glossary](../glossary.md)\n\n",
            prose(title)
        );
        let verdict = claim.verdict;
        let why = prose(&sentence(&claim.why));
        write_paragraph(&mut text, &format!("**{} {}.** {why}", verdict.sign(), capitalised(verdict.name())));
        text.push_str("## Paper\n\n");
        write_paragraph(&mut text, &prose(&sentence(paper)));
        write_paragraph(&mut text, &format!("Source: {}", prose(&sentence(&source.to_string()))));
        text.push_str("## Method\n\n");
        write_paragraph(&mut text, &prose(&sentence(method)));
        text.push_str("## Result\n\n");
        write_paragraph(&mut text, &prose(&sentence(&claim.measured)));
        for figure in &claim.figures {
            let _ = writeln!(text, "![{}]({}/{}.svg)\n", prose(&figure.caption), Self::FIGURES, figure.name);
        }
        if let Some(table) = &claim.table {
            write_table(&mut text, table);
        }
        write_checks(&mut text, &claim.checks);
        let _ = writeln!(
            text,
            "## Measure again\n\n\
             ```sh\nwiremend repro {id}             # as below\nwiremend repro {id} --quick     # less simulated time, fewer points\n\
             wiremend repro {id} --commands  # prints the commands of the runs\n```\n\n\
             | command | effort | version | date | machine | computing time |\n|---|---|---|---|---|---|\n| {} |",
            self.origin_cells(&claim.origin, claim.computing_s)
        );
        text
    }

    fn origin_cells(&self, origin: &Origin, computing_s: f64) -> String {
        let Origin { command, version, date, machine } = origin;
        let (version, machine, time) = (cell(version), cell(machine), time_text(computing_s));
        format!("`{command}` | {} | {version} | {date} | {machine} | {time}", self.effort)
    }
}

fn file_name(id: &str) -> String {
    format!("{}.md", id.to_lowercase())
}

fn write_checks(text: &mut String, checks: &[Check]) {
    text.push_str("## Checks\n\n");
    if checks.iter().any(|check| check.as_printed) {
        write_paragraph(text, "\"as printed\": the criterion is a number of the paper; ≠ marks a miss.");
    }
    text.push_str("| | check | criterion | measured |\n|---|---|---|---|\n");
    for check in checks {
        let printed = if check.as_printed { " (as printed)" } else { "" };
        let [what, wanted, measured] = [&check.what, &check.wanted, &check.measured].map(|text| cell(text));
        let _ = writeln!(text, "| {} | {what}{printed} | {wanted} | {measured} |", check.sign());
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
        assert_eq!(names, ["README.md", "v1.md", "j8.md", "x3.md"]);
        let index = &pages[0].text;
        for (page, (id, verdict)) in
            pages[1..].iter().zip([("V1", "reproduced"), ("J8", "differs"), ("X3", "not reproduced")])
        {
            let Page { name, text } = page;
            assert!(index.contains(&format!("\n| [{id}]({name}) | {verdict} | ")), "{index}");
            assert!(index.contains("| 1 |\n") && index.contains(" | Author 2022 |\n"), "{index}");
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
        let text = &pages[2].text;
        assert!(
            text.contains("| ≠ | timeouts \\| of 10⁵ (as printed) | 1562 | &lt;b>1571&lt;/b> |"),
            "{text}"
        );
        assert!(text.contains("Reproduced if | and \\* are kept.\n"), "{text}");
        let escaped = ["12. May", "3) b", "- a", "+ 1", "#2", "12.5 ms", "1e-3"].map(line_start_escaped);
        assert_eq!(escaped, ["12\\. May", "3\\) b", "\\- a", "\\+ 1", "\\#2", "12.5 ms", "1e-3"]);
    }

    #[test]
    fn lines_of_text_are_short() {
        let mut text = String::new();
        write_paragraph(&mut text, &"word ".repeat(100));
        assert!(text.lines().all(|line| line.len() <= WIDTH) && text.lines().count() == 6, "{text}");
    }
}
