//! Scenario files as users write them, good and bad.

mod any_text;
mod bad_input;
mod bad_network;
mod corpus;
mod library;
mod lossy;
mod overrides;
mod refusal;
mod routes;
mod schema;
mod spelling;
mod tcp;
