//! Finds what this machine lacks for running or testing Palisade, and installs it by apt-get or dnf.
//!
//! It says what is missing, why it is needed and which commands it is about to run, and uses sudo only when
//! the caller is not root. It changes no setting of the machine: whether the kernel lets a sandbox be built
//! is for `palisade probe` to find out. Where nothing is missing it costs a few quick looks.

use crate::failure::{Context, Failure, Result};
use crate::machine::{Reach, ask, is_root, program, programs};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// What the machine is to be ready for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Building palisade and running commands in the sandbox.
    Run,
    /// That, and every test.
    Test,
}

/// `cargo xtask setup [run|test]`.
pub(crate) fn setup(arguments: &[OsString]) -> Result<ExitCode> {
    let purpose = match arguments {
        [] => Purpose::Test,
        [word] if word == "test" => Purpose::Test,
        [word] if word == "run" => Purpose::Run,
        _ => return Err(Failure::usage("setup takes one word at most, `run` or `test`")),
    };
    ensure(purpose)?;
    eprintln!("xtask: this machine has everything that is needed");
    Ok(ExitCode::SUCCESS)
}

/// Installs what is missing for `purpose`, and fails unless all of it is there in the end.
pub(crate) fn ensure(purpose: Purpose) -> Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(()); // Nothing is launched elsewhere yet, and the pure crates need only Rust.
    }
    let missing = missing(purpose);
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("xtask: this machine lacks\n{}", list(&missing));
    install(&missing)?;
    let still = self::missing(purpose);
    if still.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "after the installation this machine still lacks\n{}The packages of this system may be too old for it.",
        list(&still)
    )))
}

/// Something that must be on the machine.
struct Need {
    name: &'static str,
    why: &'static str,
    apt: &'static [&'static str],
    dnf: &'static [&'static str],
    purpose: Purpose,
    is_met: fn(Reach) -> bool,
}

const NEEDS: &[Need] = &[
    Need {
        name: "a C linker",
        why: "Rust links programs with it",
        apt: &["gcc", "libc6-dev"],
        dnf: &["gcc"],
        purpose: Purpose::Run,
        is_met: |_| linker().is_some(),
    },
    Need {
        name: "bubblewrap 0.8.0 or newer",
        why: "it builds the sandbox; older ones cannot forbid nested user namespaces",
        apt: &["bubblewrap"],
        dnf: &["bubblewrap"],
        purpose: Purpose::Run,
        is_met: has_bubblewrap,
    },
    Need {
        name: "libseccomp's development files",
        why: "the filter of system calls is made with it",
        apt: &["libseccomp-dev"],
        dnf: &["libseccomp-devel"],
        purpose: Purpose::Run,
        is_met: |_| links_with("libseccomp.so"),
    },
    Need {
        name: "the static C library",
        why: "a test tries system calls from a static program",
        apt: &["libc6-dev"],
        dnf: &["glibc-static"],
        purpose: Purpose::Test,
        is_met: |_| links_with("libc.a"),
    },
    Need {
        name: "socat",
        why: "tests try it as the bridge out of the sandbox",
        apt: &["socat"],
        dnf: &["socat"],
        purpose: Purpose::Test,
        is_met: |reach| program("socat", reach).is_some(),
    },
    Need {
        name: "zsh",
        why: "tests read the errors that it prints, and its here-documents need a temporary file",
        apt: &["zsh"],
        dnf: &["zsh"],
        purpose: Purpose::Test,
        is_met: |reach| program("zsh", reach).is_some(),
    },
    Need {
        name: "git",
        why: "tests commit and clone in the sandbox",
        apt: &["git"],
        dnf: &["git"],
        purpose: Purpose::Test,
        is_met: |reach| program("git", reach).is_some(),
    },
    Need {
        name: "curl",
        why: "tests speak HTTP and SOCKS with it",
        apt: &["curl"],
        dnf: &["curl"],
        purpose: Purpose::Test,
        is_met: |reach| program("curl", reach).is_some(),
    },
    Need {
        name: "python3 with venv and pytest",
        why: "tests run tests of Python in a virtual environment",
        apt: &["python3", "python3-venv", "python3-pytest"],
        dnf: &["python3", "python3-pytest"],
        purpose: Purpose::Test,
        is_met: has_python_with_pytest,
    },
    Need {
        name: "node and npm",
        why: "tests run a script of a package",
        apt: &["nodejs", "npm"],
        dnf: &["nodejs", "npm"],
        purpose: Purpose::Test,
        is_met: |reach| program("node", reach).is_some() && program("npm", reach).is_some(),
    },
    Need {
        name: "make",
        why: "tests build with several jobs",
        apt: &["make"],
        dnf: &["make"],
        purpose: Purpose::Test,
        is_met: |reach| program("make", reach).is_some(),
    },
    Need {
        name: "strace",
        why: "tests trace programs in the sandbox",
        apt: &["strace"],
        dnf: &["strace"],
        purpose: Purpose::Test,
        is_met: |reach| program("strace", reach).is_some(),
    },
    Need {
        name: "bash's headers",
        why: "tests ask bash's own parser what is in a line",
        apt: &["bash-builtins"],
        dnf: &["bash-devel"],
        purpose: Purpose::Test,
        is_met: |_| Path::new("/usr/include/bash/builtins.h").is_file(),
    },
    Need {
        name: "setpriv",
        why: "root runs the tests once more as an ordinary user with it",
        apt: &["util-linux"],
        dnf: &["util-linux"],
        purpose: Purpose::Test,
        is_met: |reach| !is_root() || program("setpriv", reach).is_some(),
    },
];

fn missing(purpose: Purpose) -> Vec<&'static Need> {
    // Root tests as an ordinary user as well, who must be able to use the same programs.
    let reach = if purpose == Purpose::Test && is_root() { Reach::Everyone } else { Reach::Caller };
    let wanted = |need: &&Need| need.purpose == Purpose::Run || purpose == Purpose::Test;
    NEEDS.iter().filter(wanted).filter(|need| !(need.is_met)(reach)).collect()
}

fn list(needs: &[&Need]) -> String {
    needs.iter().map(|need| format!("  {} ({})\n", need.name, need.why)).collect()
}

fn linker() -> Option<std::path::PathBuf> {
    ["cc", "gcc", "clang"].iter().find_map(|name| program(name, Reach::Caller))
}

/// Whether the linker finds this file of a library. It answers with a path, or with the bare name when there
/// is none.
fn links_with(file: &str) -> bool {
    let Some(linker) = linker() else { return false };
    ask(Command::new(linker).arg(format!("-print-file-name={file}")))
        .is_ok_and(|(_, path)| path.contains('/'))
}

fn has_bubblewrap(reach: Reach) -> bool {
    let Some(bwrap) = program("bwrap", reach) else { return false };
    ask(Command::new(bwrap).arg("--version"))
        .is_ok_and(|(_, text)| version(&text).is_some_and(|version| version >= [0, 8, 0]))
}

/// The three numbers of `bubblewrap 0.8.0`.
fn version(text: &str) -> Option<[u32; 3]> {
    let mut numbers = text.strip_prefix("bubblewrap ")?.split('.').map(|number| number.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next().flatten().unwrap_or(0)])
}

/// The first python3 makes the environments; any may have pytest, which a person's own often lacks.
fn has_python_with_pytest(reach: Reach) -> bool {
    let imports = |python: &Path, modules: &str| {
        ask(Command::new(python).args(["-I", "-c", &format!("import {modules}")]))
            .is_ok_and(|(succeeded, _)| succeeded)
    };
    program("python3", reach).is_some_and(|python| imports(&python, "ensurepip, venv"))
        && programs("python3", reach).any(|python| imports(&python, "pytest, venv"))
}

/// A package manager: what brings its lists up to date, and what installs.
struct Installer {
    program: &'static str,
    refresh: Option<&'static [&'static str]>,
    install: &'static [&'static str],
    packages: fn(&Need) -> &'static [&'static str],
}

/// A second apt-get may be at work (a fresh machine upgrades itself): wait for it rather than fail.
const APT_LOCK: &str = "DPkg::Lock::Timeout=300";

const APT: Installer = Installer {
    program: "apt-get",
    refresh: Some(&["-o", APT_LOCK, "update"]),
    install: &["-o", APT_LOCK, "install", "--yes", "--no-install-recommends"],
    packages: |need| need.apt,
};

const DNF: Installer = Installer {
    program: "dnf",
    refresh: None, // dnf refreshes its lists itself when they have expired.
    install: &["install", "--assumeyes", "--setopt=install_weak_deps=False"],
    packages: |need| need.dnf,
};

/// How a command comes by root's rights.
#[derive(Debug, Clone, Copy)]
enum Rights {
    Root,
    Sudo,
    /// Nobody is there to type a password.
    SudoWithoutAsking,
}

impl Rights {
    fn words(self) -> &'static [&'static str] {
        match self {
            Rights::Root => &[],
            Rights::Sudo => &["sudo"],
            Rights::SudoWithoutAsking => &["sudo", "--non-interactive"],
        }
    }
}

fn install(needs: &[&Need]) -> Result<()> {
    let installer =
        [APT, DNF].into_iter().find(|installer| program(installer.program, Reach::Caller).is_some());
    let Some(installer) = installer else {
        return Err(Failure::new(format!(
            "there is neither apt-get nor dnf here. Please install the above by hand; on Debian that would be\n  {}",
            install_line(&APT, needs, Rights::Sudo).join(" ")
        )));
    };
    let rights = rights().ok_or_else(|| {
        let line = install_line(&installer, needs, Rights::Root).join(" ");
        Failure::new(format!(
            "installing needs root, and there is no sudo here. Please run as root\n  {line}"
        ))
    })?;
    if let Some(line) = refresh_line(&installer, rights) {
        // Old lists may still do, so only the installation itself decides.
        if let Err(failure) = carry_out(&line) {
            eprintln!("xtask: {failure}; going on with the lists that are there");
        }
    }
    carry_out(&install_line(&installer, needs, rights))
}

fn rights() -> Option<Rights> {
    if is_root() {
        return Some(Rights::Root);
    }
    program("sudo", Reach::Caller)?;
    Some(if io::stdin().is_terminal() { Rights::Sudo } else { Rights::SudoWithoutAsking })
}

fn refresh_line(installer: &Installer, rights: Rights) -> Option<Vec<&'static str>> {
    let refresh = installer.refresh?;
    Some([rights.words(), &[installer.program], refresh].concat())
}

fn install_line(installer: &Installer, needs: &[&Need], rights: Rights) -> Vec<&'static str> {
    // Packages that ask questions must not wait for an answer; sudo drops the variables that it is not
    // handed.
    let environment: &[&str] =
        if installer.program == "apt-get" { &["env", "DEBIAN_FRONTEND=noninteractive"] } else { &[] };
    let mut line = [rights.words(), environment, &[installer.program], installer.install].concat();
    for package in needs.iter().flat_map(|need| (installer.packages)(need)) {
        if !line.contains(package) {
            line.push(package);
        }
    }
    line
}

fn carry_out(line: &[&str]) -> Result<()> {
    let text = line.join(" ");
    eprintln!("xtask: $ {text}");
    // Standard output stays free for the command that `cargo xtask run` is about to run.
    let status = Command::new(line[0])
        .args(&line[1..])
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .cannot(format_args!("run `{text}`"))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{text}` failed ({status})"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(names: &[&str]) -> Vec<&'static Need> {
        NEEDS.iter().filter(|need| names.contains(&need.name)).collect()
    }

    #[test]
    fn versions_compare_by_number() {
        for (text, enough) in [
            ("bubblewrap 0.8.0", true),
            ("bubblewrap 0.11.0", true),
            ("bubblewrap 1.0", true),
            ("bubblewrap 0.6.2", false),
            ("bubblewrap", false),
            ("", false),
        ] {
            assert_eq!(version(text).is_some_and(|version| version >= [0, 8, 0]), enough, "{text:?}");
        }
    }

    #[test]
    fn every_package_is_named_once_whatever_needs_it() {
        let line =
            install_line(&APT, &needs(&["a C linker", "the static C library"]), Rights::Root).join(" ");
        assert_eq!(
            line,
            "env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install --yes \
             --no-install-recommends gcc libc6-dev"
        );
    }

    #[test]
    fn sudo_stands_first_and_only_where_it_is_needed() {
        let needs = needs(&["bubblewrap 0.8.0 or newer"]);
        let line = |rights| install_line(&DNF, &needs, rights).join(" ");
        let install = "dnf install --assumeyes --setopt=install_weak_deps=False bubblewrap";
        assert_eq!(line(Rights::Root), install);
        assert_eq!(line(Rights::Sudo), format!("sudo {install}"));
        assert_eq!(line(Rights::SudoWithoutAsking), format!("sudo --non-interactive {install}"));
        assert_eq!(refresh_line(&DNF, Rights::Root), None);
    }

    #[test]
    fn running_needs_less_than_testing() {
        let count = |purpose| NEEDS.iter().filter(|need| need.purpose == purpose).count();
        assert!(count(Purpose::Run) > 0 && count(Purpose::Test) > 0);
        assert!(NEEDS.iter().all(|need| !need.apt.is_empty() && !need.dnf.is_empty()));
    }
}
