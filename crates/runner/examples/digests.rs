//! Prints the digest of each variant of a short run with losses. Debug and optimised builds give the same.
//!
//!     cargo run -p wiremend-runner --example digests

use wiremend_runner::{Input, Request, Runner};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let input = Input::load("tour", &["workload.0.flows=300".parse()?])?;
    let batch = Runner::new().threads(2).run(&Request::new(&input))?;
    for variant in &batch.summary.variants {
        println!("{} {}", variant.digest, variant.name);
    }
    Ok(())
}
