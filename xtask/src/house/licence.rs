//! The licences of everything that palisade is built from must allow MIT OR Apache-2.0.
//!
//! It reads what packages declare about themselves, not their texts.

use crate::cargo::metadata;
use crate::failure::Result;
use serde_json::Value;

/// Licences (and exceptions) that ask for no more than ours do: attribution, at most.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// The platforms whose dependencies count.
const PLATFORMS: [&str; 2] =
    ["--filter-platform=x86_64-unknown-linux-gnu", "--filter-platform=aarch64-apple-darwin"];

/// Packages whose licence does not allow ours, or is not declared.
pub(super) fn dependencies() -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for platform in PLATFORMS {
        let metadata = metadata(&[platform])?;
        complaints.extend(metadata["packages"].as_array().into_iter().flatten().filter_map(complaint));
    }
    complaints.sort();
    complaints.dedup();
    Ok(complaints)
}

fn complaint(package: &Value) -> Option<String> {
    let name = package["name"].as_str().unwrap_or_default();
    match package["license"].as_str() {
        Some(expression) if allows(expression) => None,
        Some(expression) => {
            Some(format!("{name}: its licence {expression} is not on the list of those that fit ours"))
        }
        None => Some(format!("{name}: declares no licence")),
    }
}

/// Whether an SPDX expression can be met with allowed licences alone. `A/B` is the old spelling of `A OR B`.
fn allows(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any_of(&mut rest) && rest.is_empty()
}

fn any_of(words: &mut &[&str]) -> bool {
    let mut met = all_of(words);
    while take(words, "OR") {
        met |= all_of(words);
    }
    met
}

fn all_of(words: &mut &[&str]) -> bool {
    let mut met = one(words);
    while take(words, "AND") {
        met &= one(words);
    }
    met
}

fn one(words: &mut &[&str]) -> bool {
    if take(words, "(") {
        let met = any_of(words);
        return take(words, ")") && met;
    }
    let Some((name, rest)) = words.split_first() else { return false };
    *words = rest;
    if take(words, "WITH") {
        let Some((exception, rest)) = words.split_first() else { return false };
        *words = rest;
        return ALLOWED.contains(&format!("{name} WITH {exception}").as_str());
    }
    ALLOWED.contains(name)
}

fn take(words: &mut &[&str], word: &str) -> bool {
    match words.split_first() {
        Some((first, rest)) if *first == word => {
            *words = rest;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        for (expression, allowed) in [
            ("MIT", true),
            ("MIT OR Apache-2.0", true),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0 AND MIT", false),
            ("(MIT OR GPL-2.0) AND Unicode-3.0", true),
            ("(MIT OR GPL-2.0) AND GPL-2.0", false),
            ("MIT AND (GPL-2.0 OR ISC)", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0 WITH Other-exception", false),
            ("MIT MIT", false),
            ("(MIT", false),
            ("", false),
        ] {
            assert_eq!(allows(expression), allowed, "{expression}");
        }
    }
}
