//! Fuzzes what `bodies/path_pattern.rs` says.
#![no_main]

#[path = "../bodies/path_pattern.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
