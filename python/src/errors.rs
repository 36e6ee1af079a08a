//! Errors of the libraries as Python exceptions of one line.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use wiremend_runner::{Error as RunError, ErrorKind};
use wiremend_sweep::Error as SweepError;

create_exception!(wiremend, Error, PyException, "What every error of this package is.");
create_exception!(wiremend, InputError, Error, "An argument, a scenario, a study or a file is wrong.");
create_exception!(wiremend, MachineError, Error, "The machine lacks memory, space or a permission.");

pub(crate) fn of_run(error: RunError) -> PyErr {
    let message = error.to_string();
    match error.kind() {
        ErrorKind::Input => InputError::new_err(message),
        ErrorKind::Environment => MachineError::new_err(message),
        ErrorKind::Interrupted => Error::new_err(message),
    }
}

pub(crate) fn of_sweep(error: SweepError) -> PyErr {
    match error {
        SweepError::Input(message) => InputError::new_err(message),
        SweepError::Environment(message) => MachineError::new_err(message),
        SweepError::Run(error) => of_run(error),
    }
}

/// Refuses results of another version.
pub(crate) fn same_version(what: &str, version: &str) -> PyResult<()> {
    if version == crate::VERSION {
        return Ok(());
    }
    let own = crate::VERSION;
    Err(InputError::new_err(format!(
        "{what}: made by wiremend {version} and this is {own}; install that version, or pass any_version=True"
    )))
}
