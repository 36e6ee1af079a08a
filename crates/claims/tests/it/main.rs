//! What other crates conclude, held against simulations.

mod histories;
