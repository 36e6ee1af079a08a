//! Traces, policies, plans and years of fabrics.

mod corpus;
mod optimizer;
mod plan;
mod reference;
mod small;
mod traces;
mod year;
