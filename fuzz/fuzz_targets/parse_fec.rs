#![no_main]

#[path = "../checks/parse_fec.rs"]
mod parse_fec;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parse_fec::check(bytes));
