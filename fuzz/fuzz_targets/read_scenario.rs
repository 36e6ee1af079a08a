#![no_main]

#[path = "../checks/read_scenario.rs"]
mod read_scenario;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| read_scenario::check(bytes));
