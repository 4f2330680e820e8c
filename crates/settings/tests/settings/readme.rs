//! The settings that the README shows are good ones.

use crate::fixture::with;

#[test]
fn what_the_readme_shows_can_be_written() {
    let readme = include_str!("../../../../README.md");
    let shown: Vec<&str> =
        readme.split("```json5\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let files = ["/project/.claude/settings.json", "/etc/claude-code/managed-settings.json"];
    assert_eq!(shown.len(), files.len(), "one for a project, one for an administrator");
    for (file, text) in files.into_iter().zip(shown) {
        let loaded = with(&[(file, text)]).load().unwrap_or_else(|error| panic!("{error}"));
        assert!(loaded.warnings.is_empty() && loaded.dropped.is_empty(), "{:?}", loaded.warnings);
        assert!(loaded.in_force().iter().any(|value| value.origin.is_some()), "{text}");
    }
}
