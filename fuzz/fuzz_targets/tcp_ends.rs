#![no_main]

#[path = "../draw.rs"]
mod draw;
#[path = "../checks/tcp_ends.rs"]
mod tcp_ends;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tcp_ends::check(bytes));
