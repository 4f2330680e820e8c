//! The house rules: what must hold of the source as a whole and that neither the compiler nor clippy can see.
//!
//! `cargo xtask lint` lists every breach, and each rule is a test of this crate. A rule that clippy knows
//! stands in the lints of the workspace or in a `clippy.toml`, not here.

mod crates;
mod licence;
mod source;

use crate::failure::Result;

/// Every breach of every rule, one line each.
pub(crate) fn complaints() -> Result<Vec<String>> {
    let sources = source::all()?;
    Ok([
        crates::dependencies()?,
        crates::unsafe_code()?,
        crates::clippy_files()?,
        crates::guide()?,
        source::openings(&sources),
        source::purity(&sources),
        source::placeholders(&sources),
        source::lengths(&sources),
        licence::dependencies()?,
    ]
    .concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn holds(complaints: Result<Vec<String>>) {
        let complaints = complaints.expect("the workspace can be read");
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    }

    fn sources() -> Vec<source::Source> {
        source::all().expect("the workspace can be read")
    }

    #[test]
    fn crates_depend_on_what_the_table_allows() {
        holds(crates::dependencies());
    }

    #[test]
    fn unsafe_code_stays_in_its_modules() {
        holds(crates::unsafe_code());
    }

    #[test]
    fn stricter_clippy_files_keep_the_common_bans() {
        holds(crates::clippy_files());
    }

    #[test]
    fn the_guide_has_a_place_for_every_crate() {
        holds(crates::guide());
    }

    #[test]
    fn every_file_says_what_it_is_for() {
        holds(Ok(source::openings(&sources())));
    }

    #[test]
    fn pure_code_does_no_io() {
        holds(Ok(source::purity(&sources())));
    }

    #[test]
    fn nothing_is_left_to_do() {
        holds(Ok(source::placeholders(&sources())));
    }

    #[test]
    fn no_file_is_too_long() {
        holds(Ok(source::lengths(&sources())));
    }

    #[test]
    fn every_licence_allows_ours() {
        holds(licence::dependencies());
    }
}
