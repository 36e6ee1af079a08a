#![no_main]

#[path = "../checks/parse_frame.rs"]
mod parse_frame;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parse_frame::check(bytes));
