//! Why a connection cannot work.

/// Why a configuration cannot work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadConfig(&'static str);

impl BadConfig {
    pub(crate) const fn because(why: &'static str) -> Self {
        Self(why)
    }
}

impl std::fmt::Display for BadConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for BadConfig {}
