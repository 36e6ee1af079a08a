#![no_main]

#[path = "../draw.rs"]
mod draw;
#[path = "../relay.rs"]
mod relay;
#[path = "../checks/relay_pair.rs"]
mod relay_pair;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| relay_pair::check(bytes));
