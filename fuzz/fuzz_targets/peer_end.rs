#![no_main]

#[path = "../draw.rs"]
mod draw;
#[path = "../checks/peer_end.rs"]
mod peer_end;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| peer_end::check(bytes));
