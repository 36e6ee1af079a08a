//! The closed forms against the papers, against dice and against each other.

mod claims;
mod dice;
mod oracle;
mod properties;
