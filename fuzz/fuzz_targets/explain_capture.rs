#![no_main]

#[path = "../checks/explain_capture.rs"]
mod explain_capture;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| explain_capture::check(bytes));
