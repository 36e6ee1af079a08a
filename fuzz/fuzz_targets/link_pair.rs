#![no_main]

#[path = "../draw.rs"]
mod draw;
#[path = "../checks/link_pair.rs"]
mod link_pair;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| link_pair::check(bytes));
