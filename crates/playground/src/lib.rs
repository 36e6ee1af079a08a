//! The simulator in a web page.
//!
//! A page asks a [`Question`] in JSON and gets an answer in JSON: the scenarios of the library, the variants of one,
//! the results of a variant, or one of its flows packet by packet. The engine, its results and its digests are those
//! of `wiremend run` and `wiremend trace`. A run has one thread and no clock, and reads only files of the library.
//!
//! ```
//! let answer = wiremend_playground::answer(br#"{"ask":"run","scenario":"nak","variant":0}"#, &mut |_| ());
//! assert!(answer.contains(r#""digest":"#), "{answer}");
//! let answer = wiremend_playground::answer(br#"{"ask":"run","scenario":"nack","variant":0}"#, &mut |_| ());
//! assert!(answer.contains("did you mean `nak`?"), "{answer}");
//! ```
//!
//! `cargo xtask playground` compiles the crate to WebAssembly, with a bare interface: see `abi.rs`. It is no part of
//! the program `wiremend`.

#[cfg(target_arch = "wasm32")]
mod abi;
mod ask;
mod library_files;
mod simulate;

pub use ask::{Question, answer};
