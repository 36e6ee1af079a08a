//! What a frame costs on a protected link, through the sender and the receiver: `cargo bench -p
//! wiremend-proto --bench link_speed`.

use std::time::Instant;

use wiremend_proto::link::Config;
use wiremend_testkit::LineRateLink;
use wiremend_units::{Bytes, Rate, Span};

/// Many short runs, of which the best counts: others may use this machine.
const FRAMES: u64 = 50_000;
const REPEAT: u32 = 200;

fn main() {
    println!("{:<36} ns per frame", "");
    let never = u64::MAX;
    row("one way", false, never);
    row("one way, one in 1000 lost", false, 1000);
    row("both ways", true, never);
    row("both ways, one in 1000 lost", true, 1000);
    row("both ways, one in 100 lost", true, 100);
}

fn row(name: &str, both_ways: bool, loses_one_in: u64) {
    let config = Config::for_link(Rate::gbps(100), Bytes::new(1518), Span::from_us(5));
    let mut link = LineRateLink::new(config, 20, both_ways, loses_one_in);
    link.deliver(FRAMES);
    let best = (0..REPEAT).map(|_| time(|| link.deliver(FRAMES))).fold(f64::MAX, f64::min);
    println!("{name:<36} {:12.1}", best / FRAMES as f64);
}

#[expect(clippy::disallowed_methods, reason = "what is measured here is the time of this machine")]
fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}
