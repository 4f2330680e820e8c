//! Texts made to hurt: whatever they hold, an answer, without a panic and in time linear in their size.

use crate::fixture::Fixture;
use palisade_settings::{Extra, MAX_BYTES};
use proptest::prelude::*;

/// Loads `text`; the answer does not matter.
fn load(text: &str) {
    let mut fixture = Fixture::new();
    fixture.extras.push(Extra::Json(text.into()));
    let printed = fixture.print();
    assert!(!printed.contains('\x1b'), "an escape sequence reached the message for {text:?}");
}

/// As much as is let in, of patterns that bring down parsers that work quadratically.
#[test]
fn large_texts() {
    for (before, repeated, after) in [
        ("", "[", ""),
        ("{\"sandbox\": ", "{\"a\":", ""),
        ("{\"sandbox\": {\"filesystem\": {\"denyRead\": [", "\"a\",", "]}}}"),
        ("{\"sandbox\": {\"network\": {\"deniedDomains\": [", "\"a\",", "]}}}"),
        ("{\"sandbox\": {\"excludedCommands\": [", "\"\",", "]}}"),
        ("{\"sandbox\": {\"enabled\": \"", "\\n", "\"}}"),
        ("{\"permissions\": {\"deny\": [", "\"a\",", "]}}"),
        ("{\"a\": [", "[],", "]}"),
        ("{\"a\": [", "[],", "x"),
        ("{\"a\": ", "1", "}"),
        ("{\"a\": ", "/**/", "1}"),
        ("{", "\n", "}"),
        ("{", "/*", ""),
        ("{", "//\n", "}"),
        ("{'", "\\\n", "': 1, '': 2}"),
        ("{\"sandbox\": {\"", "k", "\": 1}}"),
        ("{a", "\\u0061", ": 1}"),
        ("{\"a\": [", "'\\x41',", "]}"),
    ] {
        let room = MAX_BYTES as usize - before.len() - after.len();
        load(&format!("{before}{}{after}", repeated.repeat(room / repeated.len())));
    }
    let keys: String = (0..100_000).map(|n| format!("\"key{n}\":{n},")).collect();
    load(&format!("{{\"sandbox\": {{{keys}}}}}"));
}

proptest! {
    #[test]
    fn any_text(text in "\\PC{0,200}") {
        load(&text);
    }

    #[test]
    fn any_settings_like_text(text in "[\\[\\]{},:\"'/*\\\\ \n\r\u{2028}a0-9x.eEINt+-]{0,60}") {
        load(&text);
        load(&format!("{{\"sandbox\": {text}}}"));
        load(&format!("{{\"sandbox\": {{\"filesystem\": {{\"denyRead\": [{text}]}}}}}}"));
    }

    #[test]
    fn any_entry(text in any::<String>(), list in 0..5usize) {
        let key = ["network/deniedDomains", "filesystem/denyRead", "credentials/files", "credentials/envVars", "network/x"][list];
        let (section, key) = key.split_once('/').expect("two words");
        load(&serde_json::json!({"sandbox": {section: {key: [text]}, "excludedCommands": [text]}}).to_string());
        load(&serde_json::json!({"sandbox": {section: {text: {key: 1}}}}).to_string());
    }
}
