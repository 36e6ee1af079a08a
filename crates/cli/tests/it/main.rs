//! The real binary, as people and scripts use it.

mod bad_input;
mod captures;
mod check;
mod claims;
mod decode;
mod model;
mod program;
mod runs;
mod traces;
mod tune;
