//! The fuzz target of this crate, on its seeds.
#![forbid(unsafe_code)]

#[path = "../../../fuzz/replay.rs"]
mod replay;
#[path = "../../../fuzz/bodies/settings_text.rs"]
mod settings_text;

#[test]
fn settings_texts() {
    replay::replay("settings_text", settings_text::run);
}
