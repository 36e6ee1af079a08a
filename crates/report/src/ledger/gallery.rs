//! `gallery.html`: all claims with their figures in one HTML file.

use std::fmt::Write as _;

use super::{Check, ClaimResult, Ledger, Statement, Table, Verdict, sentence, time_text};
use crate::markup::Escaped;
use crate::plot::style::{DRAWING, VARIABLES};

const LAYOUT: &str = "\
body{margin:0 auto;max-width:1000px;padding:24px 20px 64px;background:var(--ground);color:var(--ink);\
font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif}\
h1{font-size:26px;margin:0 0 4px}h2{font-size:20px;margin:0;display:inline}a{color:inherit}\
.faint{color:var(--faint);font-size:14px}.warn{border:1px solid var(--hint);border-radius:6px;padding:10px 14px}\
nav{display:flex;flex-wrap:wrap;gap:6px;margin:18px 0 8px}\
nav a,.verdict{border:1px solid currentColor;border-radius:6px;padding:2px 9px;text-decoration:none;font-size:14px;\
font-weight:600;white-space:nowrap}nav a:hover{background:var(--grid)}\
.good{color:var(--c2)}.note{color:var(--hint)}.bad{color:var(--bad)}\
section{border-top:1px solid var(--grid);margin-top:36px;padding-top:24px}\
.head{display:flex;flex-wrap:wrap;align-items:baseline;gap:6px 14px}.head+.faint{margin-top:2px}\
dl{display:grid;grid-template-columns:6.5em 1fr;gap:8px 14px}dt{color:var(--faint)}dd{margin:0}\
@media (max-width:640px){dl{grid-template-columns:1fr;gap:2px}dd{margin-bottom:8px}}\
.wide{overflow-x:auto;margin:16px 0}table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}\
th,td{padding:5px 18px 5px 0;text-align:left;border-bottom:1px solid var(--grid);vertical-align:top}th{font-weight:600}\
td.sign{width:1em;padding-right:8px;font-weight:600}\
figure{margin:20px 0;overflow-x:auto}figure svg{width:100%;max-width:860px;height:auto}";

impl Ledger {
    /// Renders the HTML file. It has no scripts and loads nothing; its content security policy forbids both.
    pub fn gallery(&self, statements: &[Statement]) -> String {
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>Claims, measured · wiremend</title>\n<style>{VARIABLES}{LAYOUT}{DRAWING}</style>\n</head>\n<body>\n"
        );
        self.write_head(&mut html, statements);
        for (statement, claim) in self.stated(statements) {
            write_claim(&mut html, statement, claim);
        }
        html.push_str("</body>\n</html>\n");
        html
    }

    fn write_head(&self, html: &mut String, statements: &[Statement]) {
        let Self { command, effort, version, date, machine, .. } = self;
        let _ = writeln!(
            html,
            "<header>\n<h1>Claims of papers, measured</h1>\n<p>{}.</p>\n\
             <p class=\"faint\"><code>{}</code> · {} effort · {} · {} · wiremend {} · {} of computing</p>",
            Escaped(&self.tally()),
            Escaped(command),
            Escaped(effort),
            Escaped(date),
            Escaped(machine),
            Escaped(version),
            time_text(self.computing_s)
        );
        if !self.changed.is_empty() {
            let _ = writeln!(
                html,
                "<p class=\"warn\">All scenarios were changed: <code>{}</code>. These results do not apply to \
                 the papers.</p>",
                Escaped(&self.changed.join(", "))
            );
        }
        html.push_str("</header>\n<nav aria-label=\"Claims\">\n");
        for (statement, claim) in self.stated(statements) {
            let verdict = claim.verdict();
            let (class, sign, name) = (class(verdict), verdict.sign(), statement.verdict_name(verdict));
            let (id, title) = (Escaped(&claim.id), Escaped(statement.title));
            let _ = writeln!(
                html,
                "<a class=\"{class}\" href=\"#{id}\" title=\"{title}: {name}\">{id} {sign}</a>"
            );
        }
        html.push_str("</nav>\n");
    }
}

fn write_claim(html: &mut String, statement: &Statement, claim: &ClaimResult) {
    let source = statement.source.to_string();
    let (id, title, source) = (Escaped(statement.id), Escaped(statement.title), Escaped(&source));
    let (verdict, why) = (claim.verdict(), claim.why());
    let (class, sign, name) = (class(verdict), verdict.sign(), statement.verdict_name(verdict));
    let _ = writeln!(
        html,
        "<section id=\"{id}\">\n<div class=\"head\"><h2>{id} {title}</h2><span class=\"verdict {class}\">{sign} {name}</span>\
         </div>\n<p class=\"faint\">{source}</p>\n<dl>"
    );
    let texts: [(&str, &str); 4] =
        [("Paper", statement.paper), ("Why", &why), ("Method", statement.method), ("Note", statement.note)];
    for (heading, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        let _ = writeln!(html, "<dt>{heading}</dt><dd>{}</dd>", Escaped(&sentence(text)));
    }
    html.push_str("</dl>\n");
    for figure in &claim.figures {
        let _ = writeln!(html, "<figure>\n{}</figure>", figure.svg);
    }
    write_checks(html, &claim.checks);
    if let Some(table) = &claim.table {
        write_table(html, table);
    }
    let _ = writeln!(
        html,
        "<p class=\"faint\"><code>wiremend repro {id} --commands</code> prints the commands of its runs ({} of computing).</p>\n\
         </section>",
        time_text(claim.computing_s)
    );
}

fn write_checks(html: &mut String, checks: &[Check]) {
    if checks.is_empty() {
        return;
    }
    html.push_str(
        "<div class=\"wide\">\n<table>\n<thead><tr><th></th><th scope=\"col\">Check</th><th scope=\"col\">Criterion</th>\
         <th scope=\"col\">Measured</th></tr></thead>\n<tbody>\n",
    );
    for check in checks {
        let class = match (check.holds(), check.printed) {
            (true, _) => "good",
            (false, true) => "note",
            (false, false) => "bad",
        };
        let sign = check.sign();
        let printed = if check.printed { " <span class=\"faint\">as printed</span>" } else { "" };
        let (wanted, measured) = (check.wanted(), check.measured_text());
        let [what, wanted, measured] = [&check.what, &wanted, &measured].map(|text| Escaped(text));
        let _ = writeln!(
            html,
            "<tr><td class=\"sign {class}\">{sign}</td><td>{what}{printed}</td><td>{wanted}</td><td>{measured}</td></tr>"
        );
    }
    html.push_str("</tbody>\n</table>\n</div>\n");
}

fn write_table(html: &mut String, table: &Table) {
    html.push_str("<div class=\"wide\">\n<table>\n<thead><tr>");
    for column in &table.columns {
        let _ = write!(html, "<th scope=\"col\">{}</th>", Escaped(column));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        html.push_str("<tr>");
        for text in row {
            let _ = write!(html, "<td>{}</td>", Escaped(text));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n</div>\n");
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "good",
        Verdict::Corrected | Verdict::Explained => "note",
        Verdict::NotReproduced => "bad",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{STATEMENTS, sample};
    use crate::markup::tests::assert_balanced;

    #[test]
    fn the_gallery_is_well_formed_and_loads_nothing() {
        let html = sample().gallery(&STATEMENTS);
        assert_balanced(&html.replace("<!doctype html>", ""));
        assert_eq!(html.matches("<svg").count(), 4);
        assert_eq!(html.replace("http://www.w3.org/2000/svg", "").matches("://").count(), 0);
        assert!(!html.contains("<script") && html.contains("default-src 'none'") && !html.contains("<b>"));
        for part in [
            "V1 ✓",
            "J8 !",
            "X3 ✗",
            "verdict bad\">✗ not reproduced",
            "✓ as expected",
            "3 min 03 s of computing",
        ] {
            assert!(html.contains(part), "{part}");
        }
        assert!(!html.contains("class=\"warn\""));
    }

    #[test]
    fn changed_values_are_shown_before_the_claims() {
        let mut ledger = sample();
        ledger.changed = vec!["transport.recovery=go-back-0".to_owned()];
        let html = ledger.gallery(&STATEMENTS);
        let shown = html.find("transport.recovery=go-back-0").expect("the change is shown");
        assert!(shown < html.find("<section").unwrap());
    }
}
