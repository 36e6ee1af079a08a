#![no_main]

#[path = "../draw.rs"]
mod draw;
#[path = "../checks/fec_end.rs"]
mod fec_end;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fec_end::check(bytes));
