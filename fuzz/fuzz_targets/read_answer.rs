#![no_main]

#[path = "../checks/read_answer.rs"]
mod read_answer;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| read_answer::check(bytes));
