//! Prints digest, packet-hops and name of each variant of a short run with losses, or of a scenario with other
//! values. Debug and optimised builds print the same.
//!
//!     cargo run -p wiremend-runner --example digests [SCENARIO [PATH=VALUE…]]

use wiremend_runner::{Input, Request, Runner};

#[expect(clippy::disallowed_methods, reason = "a program reads its arguments")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (scenario, values, threads) = match args.split_first() {
        None => ("tour", &["workload.0.flows=300".to_owned()][..], 2),
        Some((scenario, values)) => (&**scenario, values, 1),
    };
    let values = values.iter().map(|value| value.parse()).collect::<Result<Vec<_>, _>>()?;
    let input = Input::load(scenario, &values)?;
    let batch = Runner::new().threads(threads).run(&Request::new(&input))?;
    for variant in &batch.summary.variants {
        println!("{} {} {}", variant.digest, variant.packet_hops, variant.name);
    }
    Ok(())
}
