//! wiremend.
fn main() {}
