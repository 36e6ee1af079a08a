//! Lines of comma separated values, as all files of this project have them.

/// One value of a line, without the blanks around it.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Where it starts, in characters from 1.
    pub column: usize,
    /// What it says.
    pub text: &'a str,
}

/// The values of a line.
pub fn fields(line: &str) -> impl Iterator<Item = Field<'_>> {
    let mut next_column = 1;
    line.split(',').map(move |raw| {
        let blanks = raw.chars().take_while(|c| c.is_whitespace()).count();
        let field = Field { column: next_column + blanks, text: raw.trim() };
        next_column += raw.chars().count() + 1;
        field
    })
}

/// Whether a line says nothing: blank, or a comment.
pub fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// Whether a line names its columns just so.
pub fn is_header(line: &str, columns: &[&str]) -> bool {
    fields(line).map(|field| field.text).eq(columns.iter().copied())
}

/// A piece of someone's file, short and harmless enough for a message.
pub fn shown(text: &str) -> String {
    const CHARS_MAX: usize = 48;
    let mut short: String = text.chars().take(CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short.escape_debug().to_string()
}
