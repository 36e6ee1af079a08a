//! A scenario that is written inside a study.

use toml::Table;

/// Returns the text of the table `scenario` of a study as a scenario of its own, in which everything keeps its line
/// and column: errors then point into the study.
pub(super) fn extract(text: &str, scenario: &Table) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        if let Some(header) = header(start) {
            inside = header == "scenario" || header.starts_with("scenario.");
            if inside && header != "scenario" {
                kept.push_str(&line.replacen("scenario.", "         ", 1));
                continue;
            }
            blank(&mut kept, line);
        } else if inside {
            kept.push_str(line);
        } else {
            blank(&mut kept, line);
        }
    }
    // A line of a text or a list may look like a header.
    let is_same = kept.parse::<Table>().is_ok_and(|found| found == *scenario);
    if is_same { kept } else { toml::to_string(scenario).expect("a table is TOML") }
}

/// Returns the name in `[name]` or `[[name]]`.
fn header(line: &str) -> Option<&str> {
    let line = line.split('#').next().unwrap_or_default().trim_end();
    let inner = line.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
    let name = inner.or_else(|| line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')))?.trim();
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    (is_name && !name.is_empty()).then_some(name)
}

fn blank(kept: &mut String, line: &str) {
    if line.ends_with('\n') {
        kept.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_stay() {
        let text = "name = \"x\"\n[scenario]\ntitle = \"t\"\n  [[scenario.workload]] # one\nkind = \"flows\"\n[[axis]]\npath = \"a\"\n";
        let whole: Table = text.parse().unwrap();
        let kept = extract(text, whole["scenario"].as_table().unwrap());
        assert_eq!(kept, "\n\ntitle = \"t\"\n  [[         workload]] # one\nkind = \"flows\"\n\n\n");
    }

    #[test]
    fn what_cannot_be_cut_out_is_written_anew() {
        let text = "name = \"x\"\nscenario = { title = \"t\" }\n";
        let whole: Table = text.parse().unwrap();
        assert_eq!(extract(text, whole["scenario"].as_table().unwrap()), "title = \"t\"\n");
        let text = "[scenario]\nabout = \"\"\"\n[axis]\n\"\"\"\n";
        let whole: Table = text.parse().unwrap();
        let kept = extract(text, whole["scenario"].as_table().unwrap());
        assert_eq!(kept.parse::<Table>().unwrap()["about"].as_str(), Some("[axis]\n"));
    }
}
