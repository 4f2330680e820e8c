//! Names in an administrator's directories that belong to no settings file, but look as though they did: what he wrote
//! there would get lost without a word.
//!
//! It judges names alone. Whoever can put files there is the administrator, so nothing here is an attacker's.

use crate::meant::look;

/// As much of a name is looked at.
const LONGEST: usize = 300;
/// What programs leave beside a file while it is open, or copied to where it has parts.
const LEFT_BY_PROGRAMS: [&str; 2] = [".#", "._"];

/// Whether a drop-in was meant, which is read only if its name ends with `.json` and is not hidden.
pub(crate) fn is_like_drop_in(name: &[u8]) -> bool {
    let name = plain(name);
    [".json", ".json5", ".jsonc"].iter().any(|end| name.as_ref().is_some_and(|name| name.ends_with(end)))
}

/// Whether the main file was meant, or the directory of drop-ins.
pub(crate) fn is_like_main(name: &[u8]) -> bool {
    let slips = |name: &str, other: &str| strsim::osa_distance(name, other);
    plain(name).is_some_and(|name| {
        let name = name.replace([' ', '_'], "-");
        slips(&name, "managed-settings.json") <= 2
            || slips(&name, "managed-settings.d") <= 1
            || slips(&name, "settings.json") <= 1
    })
}

/// A name in small letters as it looks, without what hides it; `None` for one that a program left.
fn plain(name: &[u8]) -> Option<String> {
    let name = String::from_utf8_lossy(name);
    let is_left = name.ends_with('~') || LEFT_BY_PROGRAMS.iter().any(|start| name.starts_with(start));
    let name = look(&name, LONGEST).to_lowercase();
    (!is_left).then(|| name.trim().trim_start_matches('.').into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_for_a_drop_in() {
        for name in ["A.JSON", "a.json5", "a.jsonc", ".a.json", "a.json ", "a.jsоn", "a.json\u{200b}"] {
            assert!(is_like_drop_in(name.as_bytes()), "{name}");
        }
        for name in
            ["README", "a.json.bak", "a.json~", ".a.json.swp", ".#a.json", "._a.json", "a.yaml", "json", ""]
        {
            assert!(!is_like_drop_in(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn what_was_meant_for_the_main_file() {
        for name in [
            "managed-settings.JSON",
            "managed_settings.json",
            ".managed-settings.json",
            "managed-setting.json",
            "manged-settings.json5",
            "managed-settings.D",
            "managed-setting.d",
            "settings.json",
        ] {
            assert!(is_like_main(name.as_bytes()), "{name}");
        }
        for name in [
            "managed-mcp.json",
            "managed-settings.json.bak",
            "managed-settings.json~",
            "managed-settings.old",
            "CLAUDE.md",
            "d",
        ] {
            assert!(!is_like_main(name.as_bytes()), "{name}");
        }
    }
}
