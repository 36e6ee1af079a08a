//! The Prometheus text exposition format 0.0.4.

use std::fmt::{self, Write as _};

/// Builds a page of metrics: the header of a family, then its rows.
#[derive(Clone, Debug, Default)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// Creates an empty page.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes the header of a family: a counter if its name ends in `_total`, else a gauge.
    pub fn family(&mut self, name: &str, help: &str) {
        self.header(name, if name.ends_with("_total") { "counter" } else { "gauge" }, help);
    }

    /// Writes the header of a histogram.
    pub fn histogram(&mut self, name: &str, help: &str) {
        self.header(name, "histogram", help);
    }

    fn header(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Writes a row of the last family.
    pub fn row(&mut self, name: &str, labels: &[(&str, &str)], value: impl fmt::Display) {
        self.text.push_str(name);
        for (at, (key, value)) in labels.iter().enumerate() {
            self.text.push(if at == 0 { '{' } else { ',' });
            let _ = write!(self.text, "{key}=\"{}\"", Escaped(value));
        }
        let _ = writeln!(self.text, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    /// Writes a family with one row.
    pub fn one(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: impl fmt::Display) {
        self.family(name, help);
        self.row(name, labels, value);
    }

    /// Returns the page.
    pub fn finish(self) -> String {
        self.text
    }
}

struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '\\' => f.write_str(r"\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str(r"\n")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_follow_their_family() {
        let mut page = Exposition::new();
        page.one("a_total", "All of a.", &[], 3);
        page.family("b_ratio", "A share.");
        page.row("b_ratio", &[("device", "e\"0\\\n"), ("to", "x")], 1e-9);
        assert_eq!(
            page.finish(),
            "# HELP a_total All of a.\n# TYPE a_total counter\na_total 3\n\
             # HELP b_ratio A share.\n# TYPE b_ratio gauge\nb_ratio{device=\"e\\\"0\\\\\\n\",to=\"x\"} 0.000000001\n"
        );
    }
}
