//! The error for an invalid configuration of a connection.

/// The reason why a configuration is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadConfig(&'static str);

impl BadConfig {
    pub(crate) const fn new(reason: &'static str) -> Self {
        Self(reason)
    }
}

impl std::fmt::Display for BadConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for BadConfig {}
