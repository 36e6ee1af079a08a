#![no_main]

#[path = "../draw.rs"]
mod draw;
#[path = "../relay.rs"]
mod relay;
#[path = "../checks/relay_end.rs"]
mod relay_end;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| relay_end::check(bytes));
