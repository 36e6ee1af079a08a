//! The closed forms against the papers, against a random simulation and against each other.

mod claims;
mod monte_carlo;
mod oracle;
mod properties;
