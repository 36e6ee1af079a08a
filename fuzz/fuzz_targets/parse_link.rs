#![no_main]

#[path = "../checks/parse_link.rs"]
mod parse_link;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parse_link::check(bytes));
