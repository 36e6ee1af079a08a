//! Operators: who may act, and under which name.

use std::fs;

/// Operators who act with a token.
#[derive(Clone, Default)]
pub struct Operators {
    /// Name and token.
    tokens: Vec<(String, String)>,
}

impl Operators {
    /// Shortest token. It is a random word, not chosen by a person.
    const TOKEN_BYTES_MIN: usize = 16;

    /// Parses lines `NAME TOKEN`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut tokens: Vec<(String, String)> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let refused = |why: &str| format!("{}: {why}", at + 1);
            let words: Vec<&str> = line.split_whitespace().collect();
            let [name, token] = words[..] else { return Err(refused("expected `NAME TOKEN`")) };
            if !is_plain(name) {
                return Err(refused("a name has at most 64 letters, digits, `.`, `_` and `-`"));
            }
            if token.len() < Self::TOKEN_BYTES_MIN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(refused("a token has at least 16 characters: `openssl rand -hex 24`"));
            }
            tokens.push((name.to_owned(), token.to_owned()));
        }
        if tokens.is_empty() {
            return Err("1: no line `NAME TOKEN`".to_owned());
        }
        Ok(Self { tokens })
    }

    /// Returns whether anybody may act with a token.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Returns the operator with this token.
    pub fn name_of(&self, token: &str) -> Option<&str> {
        let mut found = None;
        // All tokens are compared in full, so that the time does not depend on how much of one is right.
        for (name, known) in &self.tokens {
            let same = known.len() == token.len()
                && known.bytes().zip(token.bytes()).fold(0, |differs, (a, b)| differs | a ^ b) == 0;
            if same {
                found = Some(name.as_str());
            }
        }
        found
    }
}

/// Returns the name of a user, or `uid N`.
pub fn user_name(uid: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid) && is_plain(name)).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| format!("uid {uid}"))
}

fn is_plain(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_known_by_the_whole_token() {
        let operators = Operators::parse("# shift\nalice 0123456789abcdef\nbob fedcba9876543210\n").unwrap();
        assert_eq!(operators.name_of("fedcba9876543210"), Some("bob"));
        for wrong in ["", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF"] {
            assert_eq!(operators.name_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn unusable_tokens_are_refused_with_their_line() {
        for (text, why) in [
            ("", "1: no line"),
            ("alice", "1: expected"),
            ("alice short", "1: a token"),
            ("alice 0123456789abcdef\n<b> 0123456789abcdef", "2: a name"),
        ] {
            let error = Operators::parse(text).err().unwrap();
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn users_have_names() {
        assert_eq!(user_name(0), "root");
        assert_eq!(user_name(4_000_000_000), "uid 4000000000");
    }
}
