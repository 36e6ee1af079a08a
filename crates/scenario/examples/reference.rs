//! Prints the reference page: `cargo run -p wiremend-scenario --example reference > docs/scenarios.md`.

fn main() {
    print!("{}", wiremend_scenario::reference());
}
