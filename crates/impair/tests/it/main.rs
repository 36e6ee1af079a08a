//! Impairments: rules, scripts and statistics.

mod corpus;
mod faults;
mod rules;
mod statistics;
