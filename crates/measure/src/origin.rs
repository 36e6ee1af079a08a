//! How results were made.

use serde::{Deserialize, Serialize};

/// How the results of a run were made: enough to repeat it from its own files.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The command that repeats the run where its scenario is known by name.
    pub command: String,
    /// Overrides of the scenario, `PATH=VALUE`.
    pub overrides: Vec<String>,
    /// Threads of the run. Results do not depend on them.
    pub threads: u64,
    /// Cores, processor and operating system. Results do not depend on them.
    pub machine: String,
    /// Text of the scenario file as it was given.
    pub scenario: String,
    /// What each variant ran.
    pub variants: Vec<EffectiveScenario>,
    /// Files that the scenario names and that the program does not ship.
    pub files: Vec<InputFile>,
}

/// The scenario of one variant with every value: after overrides, and with defaults written out.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct EffectiveScenario {
    /// Name of the variant.
    pub variant: String,
    /// Its first seed.
    pub seed: u64,
    /// SHA-256 of the text.
    pub sha256: String,
    /// The text, as TOML.
    pub scenario: String,
}

/// A flow list, size table or fault list that a run read.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct InputFile {
    /// Its name in the scenario.
    pub name: String,
    /// Its copy in the output directory.
    pub copy: String,
    /// SHA-256 of its content.
    pub sha256: String,
}
