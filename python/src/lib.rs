//! The Python package `wiremend`: its compiled module `wiremend._native`.
//!
//! The functions here take plain values and are called only by the Python files beside, which check and document the
//! arguments. Results leave as [`Table`](table::Table)s.

mod errors;
mod interruptible;
mod model;
mod run;
mod sweep;
mod table;

use pyo3::prelude::*;

/// Version of the program, with the commit. Equal to that of the command line of the same commit.
pub(crate) const VERSION: &str = env!("WIREMEND_VERSION");

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", VERSION)?;
    module.add("Error", py.get_type::<errors::Error>())?;
    module.add("InputError", py.get_type::<errors::InputError>())?;
    module.add("MachineError", py.get_type::<errors::MachineError>())?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::rerun, module)?)?;
    module.add_function(wrap_pyfunction!(run::scenarios, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::collect, module)?)?;
    module.add_function(wrap_pyfunction!(model::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(model::tune, module)?)?;
    Ok(())
}
