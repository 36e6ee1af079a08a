//! Lines of comma-separated values, shared by all CSV formats of this project.

/// One value of a line, without surrounding blanks.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Column of its first character, from 1.
    pub column: usize,
    /// The value.
    pub text: &'a str,
}

/// Splits a line into values.
pub fn fields(line: &str) -> impl Iterator<Item = Field<'_>> {
    let mut next_column = 1;
    line.split(',').map(move |raw| {
        let blanks = raw.chars().take_while(|c| c.is_whitespace()).count();
        let field = Field { column: next_column + blanks, text: raw.trim() };
        next_column += raw.chars().count() + 1;
        field
    })
}

/// Returns whether a line is blank or a comment.
pub fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// Returns whether a line consists of exactly these column names.
pub fn is_header(line: &str, columns: &[&str]) -> bool {
    fields(line).map(|field| field.text).eq(columns.iter().copied())
}

/// Shortens and escapes a piece of a file for a message.
pub fn excerpt(text: &str) -> String {
    const CHARS_MAX: usize = 48;
    let mut short: String = text.chars().take(CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short.escape_debug().to_string()
}
