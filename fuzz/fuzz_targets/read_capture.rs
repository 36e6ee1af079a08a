#![no_main]

#[path = "../checks/read_capture.rs"]
mod read_capture;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| read_capture::check(bytes));
