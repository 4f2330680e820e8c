//! Fuzzes what `bodies/shell_line.rs` says.
#![no_main]

#[path = "../bodies/shell_line.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
