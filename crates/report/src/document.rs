//! A page that is made of sentences, tables and drawings, in any order.

use std::fmt::Write as _;

use crate::markup::Escaped;
use crate::page::LAYOUT;
use crate::plot::style::{DRAWING, VARIABLES};

/// One HTML file. It loads nothing and runs nothing, and says so to the browser.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Document {
    /// The title, for people.
    pub title: String,
    /// Where it comes from, in a line.
    pub origin: String,
    /// What it tells, from the top.
    pub parts: Vec<Part>,
    /// The command that makes it again.
    pub command: String,
}

/// A part of a [`Document`].
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// A heading.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A paragraph that asks for attention.
    Warning(String),
    /// A table; all but the first column are numbers.
    Table {
        /// What its columns are.
        columns: Vec<String>,
        /// Its rows, each with a cell for every column.
        rows: Vec<Vec<String>>,
    },
    /// A drawing, as SVG of this crate.
    Drawing(String),
}

impl Document {
    /// The whole page.
    pub fn html(&self) -> String {
        let title = Escaped(&self.title);
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>{title} · wiremend</title>\n<style>{VARIABLES}{LAYOUT}{DRAWING}</style>\n</head>\n<body>\n\
             <header>\n<h1>{title}</h1>\n<p class=\"faint\">{}</p>\n</header>\n",
            Escaped(&self.origin)
        );
        for part in &self.parts {
            part.write(&mut html);
        }
        let _ = writeln!(html, "<h2>Make it again</h2>\n<pre>{}</pre>", Escaped(&self.command));
        html.push_str("</body>\n</html>\n");
        html
    }
}

impl Part {
    fn write(&self, html: &mut String) {
        let _ = match self {
            Self::Heading(text) => writeln!(html, "<h2>{}</h2>", Escaped(text)),
            Self::Text(text) => writeln!(html, "<p>{}</p>", Escaped(text)),
            Self::Warning(text) => writeln!(html, "<p class=\"bad\">{}</p>", Escaped(text)),
            Self::Drawing(svg) => writeln!(html, "<figure>\n{svg}</figure>"),
            Self::Table { columns, rows } => {
                write_table(html, columns, rows);
                Ok(())
            }
        };
    }
}

fn write_table(html: &mut String, columns: &[String], rows: &[Vec<String>]) {
    html.push_str("<div class=\"wide\">\n<table>\n<thead><tr>");
    let class = |place: usize| if place == 0 { "t" } else { "n" };
    for (place, column) in columns.iter().enumerate() {
        let _ = write!(html, "<th scope=\"col\" class=\"{}\">{}</th>", class(place), Escaped(column));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        html.push_str("<tr>");
        for (place, cell) in row.iter().enumerate() {
            let _ = write!(html, "<td class=\"{}\">{}</td>", class(place), Escaped(cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n</div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::tests::assert_balanced;

    #[test]
    fn a_document_is_whole_and_text_stays_text() {
        let document = Document {
            title: "<b>Fleet".to_owned(),
            origin: "seed 1".to_owned(),
            parts: vec![
                Part::Heading("A & B".to_owned()),
                Part::Text("<script>".to_owned()),
                Part::Warning("it breaks".to_owned()),
                Part::Table { columns: vec!["x".to_owned()], rows: vec![vec!["'1'".to_owned()]] },
                Part::Drawing("<svg></svg>".to_owned()),
            ],
            command: "wiremend fleet run".to_owned(),
        };
        let html = document.html();
        assert_balanced(&html.replace("<!doctype html>", ""));
        assert!(!html.contains("<script") && html.contains("default-src 'none'"));
        assert!(html.contains("A &amp; B") && html.contains("class=\"bad\"") && html.contains("&#39;1&#39;"));
    }
}
