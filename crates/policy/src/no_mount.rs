//! Why the sandbox cannot hold a rule about writing on Linux, where it would have to be a mount, in words and with what to
//! write instead. What the rule means is read elsewhere; here it is only spoken of.

/// Longer names are not repeated.
const LONGEST: usize = 80;

/// Why no mount stands for `text`, a rule about editing (`Edit(.env)`) or a path of a write list (`*.lock`) that was found
/// to have wildcards. Completes "`text` …".
pub fn why_no_mount(text: &str) -> String {
    const ONE_PATH: &str = "on Linux a write rule of the sandbox names one path";
    match of_any_depth(text) {
        Some((tool, path, name)) => format!(
            "means every {name}, at any depth, and {ONE_PATH}; write \"{tool}(./{path})\" for the one of the working \
             directory"
        ),
        None => format!(
            "has a wildcard, and {ONE_PATH} (a trailing /** is fine), since files that do not exist yet could match; \
             name the directory or the files{}",
            if text.contains('[') { BRACKET } else { "" }
        ),
    }
}

/// For names that only look like wildcards.
const BRACKET: &str = ", with \\[ and \\] for brackets of their names";

/// The tool, the path and the name in it, of a rule about one name at any depth.
fn of_any_depth(text: &str) -> Option<(&str, &str, &str)> {
    let (tool, path) = text.strip_suffix(')')?.split_once('(')?;
    let is_spoken_of = |c: char| !c.is_control() && !matches!(c, '"' | '\\');
    let is_rule = tool.bytes().all(|b| b.is_ascii_alphabetic());
    let is_plain = is_rule && path.len() <= LONGEST && path.chars().all(is_spoken_of);
    let name = path.trim_end_matches('/');
    let name = name.strip_suffix("/**").map_or(name, |name| name.trim_end_matches('/'));
    // Then the wildcards that were found are the depth's.
    let is_name = !name.is_empty() && !name.contains(['/', '*', '?', '[']);
    (is_plain && is_name).then_some((tool, path, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_gets_the_remedy_that_fits() {
        for (text, means, write) in [
            ("Edit(.env)", "every .env,", Some("Edit(./.env)")),
            ("Edit(src/**)", "every src,", Some("Edit(./src/**)")),
            ("Edit(src/)", "every src,", Some("Edit(./src/)")),
            ("Write(a b)", "every a b,", Some("Write(./a b)")),
            ("Edit(*.lock)", "has a wildcard", None),
            ("Edit(a/*/b)", "has a wildcard", None),
            ("Edit(**/x)", "has a wildcard", None),
            ("Edit(s*/**)", "has a wildcard", None),
            ("**/x", "has a wildcard", None),
            ("*.(lock)", "has a wildcard", None),
            ("app/[id]", r"or the files, with \[ and \] for brackets", None),
        ] {
            let said = why_no_mount(text);
            assert!(said.contains(means), "{text}: {said}");
            assert_eq!(write.is_some(), said.contains("for the one of"), "{text}: {said}");
            assert!(
                write.is_none_or(|write| said.contains(&format!("write {write:?} for"))),
                "{text}: {said}"
            );
        }
        let long = "x".repeat(1000);
        assert!(why_no_mount(&format!("Edit({long})")).len() < 300);
    }
}
