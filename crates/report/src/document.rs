//! A page of headings, paragraphs, tables and drawings.

use std::fmt::Write as _;

use crate::markup::Escaped;
use crate::page::LAYOUT;
use crate::plot::style::{DRAWING, VARIABLES};

/// One HTML file. It has no script and loads nothing; a content security policy enforces this.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Document {
    /// Title of the page.
    pub title: String,
    /// Line below the title: scenario, seed and version.
    pub origin: String,
    /// Content from top to bottom.
    pub parts: Vec<DocumentPart>,
    /// Command that creates the page.
    pub command: String,
}

/// A part of a [`Document`].
#[derive(Clone, PartialEq, Debug)]
pub enum DocumentPart {
    /// A heading.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A paragraph in the warning colour.
    Warning(String),
    /// A table. All columns but the first hold numbers.
    Table {
        /// Headings of the columns.
        columns: Vec<String>,
        /// Rows with one cell per column.
        rows: Vec<Vec<String>>,
    },
    /// A drawing, as SVG from this crate.
    Drawing(String),
}

impl Document {
    /// The complete page.
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
        let _ = writeln!(html, "<h2>Run it again</h2>\n<pre>{}</pre>", Escaped(&self.command));
        html.push_str("</body>\n</html>\n");
        html
    }
}

impl DocumentPart {
    /// Writes the part, in a page with [`page_style`](crate::page_style).
    pub fn write(&self, html: &mut String) {
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
    fn a_document_is_complete_and_escapes_text() {
        let document = Document {
            title: "<b>Fleet".to_owned(),
            origin: "seed 1".to_owned(),
            parts: vec![
                DocumentPart::Heading("A & B".to_owned()),
                DocumentPart::Text("<script>".to_owned()),
                DocumentPart::Warning("it breaks".to_owned()),
                DocumentPart::Table { columns: vec!["x".to_owned()], rows: vec![vec!["'1'".to_owned()]] },
                DocumentPart::Drawing("<svg></svg>".to_owned()),
            ],
            command: "wiremend fleet run".to_owned(),
        };
        let html = document.html();
        assert_balanced(&html.replace("<!doctype html>", ""));
        assert!(!html.contains("<script") && html.contains("default-src 'none'"));
        assert!(html.contains("A &amp; B") && html.contains("class=\"bad\"") && html.contains("&#39;1&#39;"));
    }
}
