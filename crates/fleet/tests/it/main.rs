//! Integration tests of traces, policies, plans and simulated years.

mod corpus;
mod full_year;
mod optimizer;
mod plan;
mod reference_simulator;
mod small;
mod traces;
mod weighted;
