//! Fuzzes what `bodies/host_pattern.rs` says.
#![no_main]

#[path = "../bodies/host_pattern.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
