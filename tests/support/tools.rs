//! The programs that the tests run.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The programs that the tests run, from the variables that `cargo xtask test` sets.
#[derive(Debug)]
pub struct Tools {
    /// `palisade` itself.
    pub palisade: PathBuf,
    /// The attempt helper, linked dynamically.
    pub attempt: PathBuf,
    /// The attempt helper, linked statically.
    pub attempt_static: PathBuf,
    /// A Rust toolchain (a sysroot with `bin`) that whoever runs the tests can read.
    pub toolchain: PathBuf,
}

impl Tools {
    /// The programs.
    ///
    /// # Panics
    /// When a variable is missing: run the tests by `cargo xtask test` or `cargo xtask integration`.
    pub fn here() -> &'static Tools {
        static TOOLS: OnceLock<Tools> = OnceLock::new();
        TOOLS.get_or_init(|| {
            let path = |name: &str| match std::env::var_os(name) {
                Some(value) => PathBuf::from(value),
                None => panic!("{name} is not set; run these tests by `cargo xtask integration`"),
            };
            Tools {
                palisade: path("PALISADE_PROGRAM"),
                attempt: path("PALISADE_ATTEMPT"),
                attempt_static: path("PALISADE_ATTEMPT_STATIC"),
                toolchain: path("PALISADE_TOOLCHAIN"),
            }
        })
    }
}

/// The program `name` on the search path, for tests of what not every machine has.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Whether the sandbox runs on this machine. Where it does not, the test is skipped with a word, unless
/// `SANDBOX_MUST_WORK` is set: then it fails.
pub fn works_here() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| {
        let probe = Command::new(&Tools::here().palisade).arg("probe").output().expect("palisade starts");
        let works = probe.status.success();
        let said = String::from_utf8_lossy(&probe.stderr).into_owned();
        assert!(
            works || std::env::var_os("SANDBOX_MUST_WORK").is_none(),
            "the sandbox must work here: {said}"
        );
        if !works {
            eprintln!("SKIPPED: {said}");
        }
        works
    })
}
