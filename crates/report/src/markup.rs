//! Escaping and shortening of text in HTML and SVG.

use std::fmt::{self, Write as _};

/// Escapes text for an element or a quoted attribute. Control characters, which XML forbids, become `�`.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(c)?,
                '\r' => {}
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Displays a coordinate with at most two decimals and no trailing zeros, so that drawings are short and
/// identical on all machines.
#[derive(Clone, Copy)]
pub(crate) struct Coord(pub(crate) f64);

impl fmt::Display for Coord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = crate::human::trimmed(format!("{:.2}", self.0));
        f.write_str(if text == "-0" { "0" } else { &text })
    }
}

/// Shortens `text` to at most `most` characters, with `…` at the end if some are missing.
pub(crate) fn truncate(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Shortens a name to at most `most` characters, with `…` in its middle, because names of variants often
/// differ only at the end.
pub(crate) fn elide_middle(name: &str, most: usize) -> String {
    let count = name.chars().count();
    if count <= most {
        return name.to_owned();
    }
    let tail = most.saturating_sub(1) / 2;
    let head = most.saturating_sub(1) - tail;
    name.chars().take(head).chain(['…']).chain(name.chars().skip(count - tail)).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn shortened_names_still_differ() {
        assert_eq!(elide_middle("go-back-N with dummies=2", 12), "go-bac…ies=2");
        assert_eq!(elide_middle("µ", 1), "µ");
        assert_eq!(elide_middle("abc", 0), "…");
        assert_eq!(truncate("WRITE Middle", 8), "WRITE M…");
    }

    #[test]
    fn markup_in_text_is_escaped() {
        let text = Escaped("<script>alert('x' & \"y\")</script>\u{0}").to_string();
        assert_eq!(text, "&lt;script&gt;alert(&#39;x&#39; &amp; &quot;y&quot;)&lt;/script&gt;\u{fffd}");
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!([1.0, 2.5, -0.001, 3.456].map(|x| Coord(x).to_string()), ["1", "2.5", "0", "3.46"]);
    }

    /// Panics unless every tag is closed in order and every `&` starts an entity.
    pub(crate) fn assert_balanced(markup: &str) {
        let mut open = Vec::new();
        let mut rest = markup;
        while let Some(start) = rest.find('<') {
            check_entities(&rest[..start]);
            let end = rest[start..].find('>').expect("a tag ends") + start;
            let tag = &rest[start + 1..end];
            rest = &rest[end + 1..];
            assert_eq!(tag.matches('"').count() % 2, 0, "quotes in <{tag}>");
            let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap();
            if let Some(closed) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(closed), "closing tag");
            } else if !tag.ends_with('/') && !tag.starts_with('!') && name != "meta" {
                open.push(name);
            }
        }
        check_entities(rest);
        assert!(open.is_empty(), "still open: {open:?}");
    }

    fn check_entities(text: &str) {
        for part in text.split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
            assert!(known.iter().any(|entity| part.starts_with(entity)), "bare & before {part:.20}");
        }
    }
}
