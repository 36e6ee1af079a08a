#![no_main]

#[path = "../checks/read_faults.rs"]
mod read_faults;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| read_faults::check(bytes));
