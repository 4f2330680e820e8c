//! Fuzzes what `bodies/judge.rs` says.
#![no_main]

#[path = "../bodies/judge.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
