//! The functions that JavaScript calls, with memory addresses and lengths: no generated glue is needed.
//!
//! JavaScript calls `allocate(length)`, writes a question there, and calls `answer()`. The result is the
//! address of the answer; `answer_length()` is its length. Both texts are UTF-8. JavaScript provides `progress`, which a
//! run calls with the simulated time in nanoseconds and the number of flows that ended, and `panicked`, which gets the
//! text of a panic before the instance traps. A trapped instance cannot be used again.

#![expect(unsafe_code, reason = "memory that JavaScript writes and reads")]

use std::cell::RefCell;

use crate::ask;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    fn progress(simulated_ns: f64, flows: f64);
    fn panicked(text: *const u8, length: usize);
}

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Returns the address at which a question of this length can be written.
#[unsafe(no_mangle)]
extern "C" fn allocate(length: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        question.clear();
        question.resize(length, 0);
        question.as_mut_ptr()
    })
}

/// Answers the question that was written, and returns the address of the answer.
#[unsafe(no_mangle)]
extern "C" fn answer() -> *const u8 {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        // SAFETY: the text lives until the call returns; JavaScript copies it.
        unsafe { panicked(text.as_ptr(), text.len()) };
    }));
    let mut report = |now: &wiremend_sim::Progress| {
        // SAFETY: a call with two numbers.
        unsafe { progress(now.now.as_ps() as f64 / 1e3, now.flows as f64) };
    };
    let text = QUESTION.with_borrow(|question| ask::answer(question, &mut report));
    ANSWER.with_borrow_mut(|answer| {
        *answer = text;
        answer.as_ptr()
    })
}

/// Returns the length of the last answer in bytes.
#[unsafe(no_mangle)]
extern "C" fn answer_length() -> usize {
    ANSWER.with_borrow(String::len)
}
