//! Lines of comma separated values.

/// One value of a line, without the blanks around it.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    /// Where it starts, in characters from 1.
    pub(crate) column: usize,
    pub(crate) text: &'a str,
}

/// The values of a line.
pub(crate) fn fields(line: &str) -> impl Iterator<Item = Field<'_>> {
    let mut next_column = 1;
    line.split(',').map(move |raw| {
        let blanks = raw.chars().take_while(|c| c.is_whitespace()).count();
        let field = Field { column: next_column + blanks, text: raw.trim() };
        next_column += raw.chars().count() + 1;
        field
    })
}

/// Whether a line says nothing: blank, or a comment.
pub(crate) fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// Whether a line names its columns just so.
pub(crate) fn is_header(line: &str, columns: &[&str]) -> bool {
    fields(line).map(|field| field.text).eq(columns.iter().copied())
}

/// A piece of someone's file, short and harmless enough for a message.
pub(crate) fn shown(text: &str) -> String {
    const CHARS_MAX: usize = 24;
    let mut short: String = text.chars().take(CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short.escape_debug().to_string()
}
