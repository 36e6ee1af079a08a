//! Colours, dash patterns and fonts, for light and dark mode.

/// Colours after Okabe and Ito that also differ in brightness, for colour-blind readers: first for a light
/// background, then for a dark one. `bad` marks errors, `hint` marks notable events.
pub(crate) const VARIABLES: &str = "\
:root{color-scheme:light dark;--ground:#fff;--ink:#1b1f24;--faint:#667;--grid:#dfe2e8;--bad:#c62828;--hint:#b35900;\
--c0:#0067a5;--c1:#d1480b;--c2:#0b8a5f;--c3:#8e3b8a;--c4:#b07c00;--c5:#3c3f46}\
@media (prefers-color-scheme:dark){:root{--ground:#14171c;--ink:#e6e9ef;--faint:#98a1b0;--grid:#313844;--bad:#ff6b62;\
--hint:#ffb454;--c0:#5db8f5;--c1:#ff8f5a;--c2:#3fd6a3;--c3:#e08fdc;--c4:#f0c541;--c5:#c3c9d4}}";

/// Styles of drawings besides the variables.
pub(crate) const DRAWING: &str = "\
.fig{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif;fill:var(--ink)}\
.fig .title{font-size:16px;font-weight:600}.fig .note{fill:var(--faint);font-size:12px}\
.fig .grid{stroke:var(--grid);stroke-width:1;fill:none}.fig .axis{stroke:var(--faint);stroke-width:1;fill:none}\
.fig .curve{fill:none;stroke-width:2;stroke-linejoin:round}\
.fig .mark{stroke:var(--ground);stroke-width:1}.fig .halo{paint-order:stroke;stroke:var(--ground);stroke-width:3px;\
stroke-linejoin:round}.fig .ground{fill:var(--ground)}";

/// Dash patterns; the first is a solid line.
const DASHES: [&str; 6] = ["", "7 3", "2 3", "9 3 2 3", "5 2 1 2 1 2", "12 4"];

/// Colour of the `i`-th curve.
pub(crate) fn colour(i: usize) -> String {
    format!("var(--c{})", i % DASHES.len())
}

/// Dash pattern of the `i`-th curve. When colours repeat, the patterns are shifted, so that 36 curves differ.
pub(crate) fn dashes(i: usize) -> &'static str {
    DASHES[(i + i / DASHES.len()) % DASHES.len()]
}

/// The styles that drawings need in a page.
pub fn style() -> String {
    [VARIABLES, DRAWING].concat()
}

/// Makes a drawing a file: adds its styles and a background.
pub fn standalone(drawing: &str) -> String {
    let (tag, content) = drawing.split_once('>').expect("a drawing starts with its tag");
    format!(
        "{tag}>\n<style>{VARIABLES}{DRAWING}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>{content}"
    )
}

/// Approximate width of `text` in a proportional font of `size`; SVG cannot measure text.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | '|' | '\'' | ' ' | '\u{202f}' => 0.3,
        'm' | 'w' | 'M' | 'W' | '…' | '—' => 0.85,
        c if c.is_ascii_uppercase() => 0.67,
        c if c.is_ascii() => 0.56,
        _ => 0.75,
    };
    text.chars().map(em).sum::<f64>() * size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_six_curves_differ() {
        let looks: std::collections::BTreeSet<_> = (0..36).map(|i| (colour(i), dashes(i))).collect();
        assert_eq!(looks.len(), 36);
    }
}
