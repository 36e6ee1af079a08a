#![no_main]

#[path = "../checks/read_flows.rs"]
mod read_flows;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| read_flows::check(bytes));
