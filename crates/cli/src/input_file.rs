//! Configuration files.

use std::fs;
use std::path::Path;

use crate::failure::Failure;

/// Maximum length of a configuration file.
pub(crate) const CONFIG_BYTES_MAX: u64 = 16 << 20;

/// Reads a text file of limited length.
pub(crate) fn read(path: &Path, bytes_max: u64) -> Result<String, Failure> {
    let shown = path.display();
    let refused = |why: &dyn std::fmt::Display| Failure::Input(format!("{shown}: {why}"));
    let length = fs::metadata(path).map_err(|error| refused(&error))?.len();
    if length > bytes_max {
        return Err(refused(&format!("longer than {bytes_max} bytes")));
    }
    fs::read_to_string(path).map_err(|error| refused(&error))
}
