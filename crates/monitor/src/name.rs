//! Names of switches, hosts and ports.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A plain name: letters, digits, `.`, `_`, `-` and `/`, at most 64 bytes.
///
/// Names are parts of Redis keys, channels and ACL patterns, so they contain no character with a special
/// meaning there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Name(String);

impl Name {
    /// Maximum length in bytes.
    pub const BYTES_MAX: usize = 64;

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
        if !text.is_empty() && text.len() <= Self::BYTES_MAX && text.chars().all(plain) {
            return Ok(Self(text));
        }
        let shown: String = text.chars().take(Self::BYTES_MAX).collect();
        Err(format!(
            "`{}` is not a valid name: use 1 to {} letters, digits, `.`, `_`, `-` or `/`",
            shown.escape_debug(),
            Self::BYTES_MAX
        ))
    }
}

impl std::str::FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.to_owned().try_into()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A port of a switch or host: one end of a link.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortName {
    /// Switch or host.
    pub node: Name,
    /// Port of the node.
    pub port: Name,
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.node, self.port)
    }
}

impl std::str::FromStr for PortName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (node, port) =
            text.split_once(':').ok_or_else(|| format!("`{}` is not NODE:PORT", text.escape_debug()))?;
        Ok(Self { node: node.parse()?, port: port.parse()? })
    }
}
