#![no_main]

#[path = "../draw.rs"]
mod draw;
#[path = "../checks/link_end.rs"]
mod link_end;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| link_end::check(bytes));
