//! The detector as a daemon uses it: ports that are read once a second, and links of which the truth is known.

mod detecting;
mod reading;
