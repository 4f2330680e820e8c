//! This project itself, worked on inside: its history by git, its crates by cargo. `cargo xtask integration --long`
//! prepares a bundle of it and a copy of all that it depends on, so that no network is needed.

use super::{GIT, Twins};
use palisade_tests::{Project, Tools};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The folder that has been prepared.
fn prepared() -> PathBuf {
    let folder = std::env::var_os("PALISADE_REPOSITORY");
    folder.expect("these tests run by `cargo xtask integration --long`").into()
}

fn clone_into(root: &Path) {
    let mut clone = Command::new("sh");
    clone.args(["-c", "git clone -q \"$0\" . 2> /dev/null && git checkout -q -B main"]);
    clone.arg(prepared().join("repository.bundle")).current_dir(root);
    assert!(clone.status().expect("sh starts").success());
}

/// Equal work on equal history ends in equal commits.
#[test]
#[ignore = "takes minutes: cargo xtask integration --long"]
fn git_works_on_this_repository() {
    let Some(twins) = Twins::new() else { return };
    let twins = twins.set(&GIT);
    clone_into(&twins.inside.root());
    clone_into(&twins.outside.root());
    for line in [
        "git status; git log --stat --oneline | sha256sum; git log --follow -p -- README.md | sha256sum",
        "git blame Cargo.toml; git grep -c forbid -- '*.rs'; git shortlog -sn HEAD; git describe --always",
        "git checkout -q -b work HEAD~9 && echo work > work && git add work && git commit -q -m work && git rebase -q main",
        "git checkout -q -b side HEAD~5 && sed -i 1s/^/x/ README.md && git commit -q -a -m side && git merge -q -m merged work",
        "git revert --no-edit HEAD~1 > /dev/null; git cherry-pick work~2 2>&1 | tail -1; git cherry-pick --abort; git status --short",
        "git format-patch -q -3 -o patches main && git checkout -q main~3 && git am -q patches/* && git rev-parse HEAD; rm -r patches",
        "git bisect start -q main main~30 && git bisect run sh -c 'test $(git ls-files | wc -l) -lt 200' | tail -1; git bisect reset -q",
        "git checkout -q work; echo x >> README.md; git stash -q; git worktree add -q trees/side side && git -C trees/side log -1 --format=%H",
        "git -C trees/side commit -q --allow-empty -m there && git stash pop -q && git diff --stat && git checkout -q README.md",
        "git gc -q && git repack -adq && git fsck --full 2> /dev/null && git count-objects -v | grep -E '^(count|packs)'",
        "git clone -q . copy && git -C copy log -1 --format=%H && git bundle create -q all --all && git bundle verify -q all && rm -rf copy all",
        "git status --short; git for-each-ref --format='%(objectname) %(refname)'; git archive HEAD | sha256sum",
    ] {
        twins.same(line);
    }
    assert_eq!(twins.inside.tree(), twins.outside.tree());
    let there =
        twins.same_and_well("git rev-parse work main side && git -C trees/side rev-parse --abbrev-ref HEAD");
    assert_eq!(there.lines().last(), Some("side"));
}

/// A line for cargo in a clone, with the toolchain that the tests are given and without the network.
#[track_caller]
fn cargo(project: &Project, line: &str) -> String {
    let toolchain = Tools::here().toolchain.join("bin").into_os_string();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(toolchain.into()).chain(std::env::split_paths(&path)));
    let run = project
        .run()
        .within(Duration::from_secs(1_800))
        .env("PATH", path.expect("no colon in it"))
        .env("CARGO_HOME", project.root().join(".cargo-home"))
        .line(format!("unset RUSTC RUSTC_WRAPPER RUSTFLAGS RUSTUP_TOOLCHAIN CARGO CARGO_TARGET_DIR; {line}"));
    assert_eq!(run.status, 0, "{line}: {run:#?}");
    run.stdout
}

#[test]
#[ignore = "takes minutes: cargo xtask integration --long"]
fn cargo_builds_and_tests_this_workspace() {
    let Some(project) = Project::where_it_works() else { return };
    clone_into(&project.root());
    let copied = prepared().join("vendor");
    project.write(
        ".cargo-home/config.toml",
        format!(
            "[source.crates-io]\nreplace-with = \"copied\"\n[source.copied]\ndirectory = \"{}\"\n",
            copied.display()
        ),
    );
    let version =
        cargo(&project, "cargo build --offline --locked -p palisade-cli && target/debug/palisade --version");
    assert!(version.starts_with("palisade "), "{version}");
    // The program that was built inside knows that it is confined already, or confines once more; it never pretends.
    let probed = project.line("target/debug/palisade probe; echo $?").ok();
    assert!(probed.stdout.ends_with("\n0\n") || probed.stdout.ends_with("125\n"), "{probed:#?}");
    let crates = "-p palisade-policy -p palisade-seatbelt -p palisade-proxy";
    let tests = format!("cargo test --offline --locked {crates} --lib --tests");
    let listed = cargo(&project, &format!("{tests} -- --list")).lines().filter(is_a_test).count();
    let said = cargo(&project, &format!("{tests} 2>&1"));
    let passed = said.lines().filter(|line| line.starts_with("test ") && line.ends_with(" ... ok")).count();
    let left_out =
        said.lines().filter(|line| line.starts_with("test ") && line.contains(" ... ignored")).count();
    assert!(passed > 100 && passed + left_out == listed, "{passed} and {left_out} of {listed}: {said}");
    let clean = "git status --porcelain --untracked-files=no && git diff HEAD --stat";
    assert_eq!(project.line(clean).ok().stdout, "", "nothing of the project has been changed");
}

fn is_a_test(line: &&str) -> bool {
    line.ends_with(": test")
}
