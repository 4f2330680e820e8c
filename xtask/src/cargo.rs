//! Calling cargo: building programs and finding where they were put, asking for metadata, and leaving its
//! environment behind.

use crate::failure::{Context, Failure, Result};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The cargo that runs this task, or the one on the search path.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// The top of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Runs one step of a task, shown as the line that a person would type.
pub(crate) fn step(command: &mut Command) -> Result<()> {
    let text = line(command);
    eprintln!("xtask: $ {text}");
    let status = command.status().cannot(format_args!("run `{text}`"))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{text}` failed ({status})"))) }
}

/// Runs `cargo build` with `arguments` and answers where the executables of these targets were put, wherever that is:
/// `CARGO_TARGET_DIR` and the settings of cargo are its own affair.
pub(crate) fn build<const N: usize>(arguments: &[&str], targets: [&str; N]) -> Result<[PathBuf; N]> {
    let mut command = cargo();
    command.arg("build").args(arguments);
    let text = line(&command);
    eprintln!("xtask: $ {text}");
    let output = command
        .arg("--message-format=json-render-diagnostics")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .cannot(format_args!("run `{text}`"))?;
    if !output.status.success() {
        return Err(Failure::new(format!("`{text}` failed")));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let mut executables = targets.map(|_| PathBuf::new());
    for (target, path) in targets.iter().zip(&mut executables) {
        *path = executable(&messages, target)
            .ok_or_else(|| Failure::new(format!("`{text}` made no executable called {target}")))?;
    }
    Ok(executables)
}

/// What `cargo metadata` says with `arguments`.
pub(crate) fn metadata(arguments: &[&str]) -> Result<Value> {
    let mut command = cargo();
    command.args(["metadata", "--format-version=1", "--quiet"]).args(arguments);
    let output =
        command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().cannot("run cargo metadata")?;
    if !output.status.success() {
        return Err(Failure::new("`cargo metadata` failed"));
    }
    serde_json::from_slice(&output.stdout).cannot("read what cargo metadata printed")
}

/// The folder that builds go to.
pub(crate) fn target_folder() -> Result<PathBuf> {
    let metadata = metadata(&["--no-deps"])?;
    metadata["target_directory"]
        .as_str()
        .map(PathBuf::from)
        .ok_or_else(|| Failure::new("cargo names no target folder"))
}

/// Takes out of `command`'s environment what `cargo run` put there for this task, so that a program sees the
/// environment that its caller has.
pub(crate) fn leave(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if is_cargos_own(&name) {
            command.env_remove(name);
        }
    }
    match std::env::var_os("LD_LIBRARY_PATH").and_then(|path| without_build_folders(&path)) {
        Some(path) => command.env("LD_LIBRARY_PATH", path),
        None => command.env_remove("LD_LIBRARY_PATH"),
    }
}

fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().display().to_string();
    let arguments = command.get_args().map(|argument| argument.display().to_string());
    std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn executable(messages: &str, target: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact" && message["target"]["name"] == target)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

fn is_cargos_own(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix))
        || ["CARGO", "CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "RUST_RECURSION_COUNT"]
            .contains(&&*name)
}

/// `path` without the folders of the build and of the toolchain; `None` when nothing is left.
fn without_build_folders(path: &OsString) -> Option<OsString> {
    let build = std::env::current_exe().ok()?.parent()?.to_owned();
    let kept: Vec<PathBuf> = std::env::split_paths(path)
        .filter(|folder| !folder.starts_with(&build) && !folder.join("rustlib").is_dir())
        .filter(|folder| !folder.components().any(|component| component.as_os_str() == "rustlib"))
        .collect();
    if kept.is_empty() { None } else { std::env::join_paths(kept).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_found_among_other_messages() {
        let messages = r#"
{"reason":"compiler-artifact","target":{"name":"palisade","kind":["lib"]},"executable":null}
not json
{"reason":"compiler-artifact","target":{"name":"palisade","kind":["bin"]},"executable":"/t/release/palisade"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages, "palisade"), Some("/t/release/palisade".into()));
        assert_eq!(executable(messages, "other"), None);
    }

    #[test]
    fn only_cargos_own_variables_are_taken_out() {
        for (name, own) in [
            ("CARGO", true),
            ("CARGO_PKG_NAME", true),
            ("CARGO_MANIFEST_DIR", true),
            ("CARGO_HOME", false),
            ("CARGO_TARGET_DIR", false),
            ("RUSTUP_TOOLCHAIN", false),
            ("PATH", false),
        ] {
            assert_eq!(is_cargos_own(name.as_ref()), own, "{name}");
        }
    }

    #[test]
    fn folders_of_the_build_leave_the_library_path() {
        let build = std::env::current_exe().expect("this test").parent().expect("a folder").to_owned();
        let path =
            std::env::join_paths([build.join("deps"), "/opt/mine".into(), "/x/lib/rustlib/t/lib".into()]);
        assert_eq!(without_build_folders(&path.expect("no colons")), Some("/opt/mine".into()));
        assert_eq!(without_build_folders(&build.into()), None);
    }
}
