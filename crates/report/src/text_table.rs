//! A table of text: the first column is left-aligned, the others are right-aligned.

use std::fmt::Write as _;

use crate::terminal::Terminal;

const GAP: &str = "  ";
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// Formats rows under headings. Each row has one cell per heading.
pub fn text_table(headings: &[&str], rows: &[Vec<String>], terminal: Terminal) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([headings[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &[&str]| {
        let padded = cells.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        padded.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    };
    let rule = widths.iter().map(|&width| "─".repeat(width)).collect::<Vec<_>>().join(GAP);
    let mut text = String::new();
    let _ = writeln!(text, "{}", paint(&line(headings), BOLD, terminal));
    let _ = writeln!(text, "{}", paint(&rule, DIM, terminal));
    for row in rows {
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        let _ = writeln!(text, "{}", line(&cells));
    }
    text
}

fn paint(text: &str, colour: &str, terminal: Terminal) -> String {
    if terminal.colour { format!("{colour}{text}{PLAIN}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [vec!["twice".to_owned(), "1e-3".to_owned()], vec!["µ".to_owned(), "12".to_owned()]];
        let text = text_table(&["cause", "per flow"], &rows, Terminal { width: 80, colour: false });
        assert_eq!(text, "cause  per flow\n─────  ────────\ntwice      1e-3\nµ            12\n");
    }
}
