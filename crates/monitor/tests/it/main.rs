//! The monitor as a daemon and an operator use it: ports that are read once a second, and links of which the truth is known.

mod acting;
mod corpus;
mod detecting;
mod encrypting;
mod explaining;
mod failing;
mod planning;
mod reading;
mod recording;
mod redis;
mod showing;
mod storing;
mod switch;
mod tree;
mod world;
