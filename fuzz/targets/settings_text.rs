//! Fuzzes what `bodies/settings_text.rs` says.
#![no_main]

#[path = "../bodies/settings_text.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
