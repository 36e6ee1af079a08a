#![no_main]

#[path = "../checks/read_records.rs"]
mod read_records;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| read_records::check(bytes));
