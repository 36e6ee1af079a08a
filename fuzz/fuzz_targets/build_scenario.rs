#![no_main]

#[path = "../checks/build_scenario.rs"]
mod build_scenario;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| build_scenario::check(bytes));
