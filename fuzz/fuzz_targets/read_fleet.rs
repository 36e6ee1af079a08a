#![no_main]

#[path = "../checks/read_fleet.rs"]
mod read_fleet;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| read_fleet::check(bytes));
