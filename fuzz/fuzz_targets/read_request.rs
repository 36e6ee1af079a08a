#![no_main]

#[path = "../checks/read_request.rs"]
mod read_request;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| read_request::check(bytes));
