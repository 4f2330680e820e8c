//! Runs the body of a fuzz target on its seeds, with the stable compiler. For tests to include.

use std::fs;
use std::path::Path;

/// Runs `body` on each seed of `target`, and on each beginning of one.
#[allow(clippy::disallowed_methods, reason = "also in tests of crates that do no I/O, seeds are files")]
pub(crate) fn replay(target: &str, body: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let seed = fs::read(entry.expect("a listed seed").path()).expect("a seed that can be read");
        (0..=seed.len()).for_each(|end| body(&seed[..end]));
        count += 1;
    }
    assert!(count > 0, "{} holds no seeds", folder.display());
}
