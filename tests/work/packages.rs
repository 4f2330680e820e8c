//! Packages from wherever the machine's package managers get theirs: only the hosts that they name themselves are
//! allowed, and without leave nothing comes. `cargo xtask integration --long` runs these, since they need the network.

use palisade_tests::{Palisade, Project};
use serde_json::json;
use std::process::Command;

/// What a shell line prints outside.
#[track_caller]
fn outside(project: &Project, line: &str) -> String {
    let mut command = Command::new("bash");
    command.args(["-ec", line]).current_dir(project.root()).env("HOME", project.home());
    let output = command.output().expect("there is a bash");
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The host of an URL.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', ':']).next().unwrap_or_default()
}

fn allowing(project: &Project, hosts: &[&str]) -> Palisade {
    project.run().sandbox(json!({ "network": { "allowedDomains": hosts } }))
}

#[test]
#[ignore = "needs the network: cargo xtask integration --long"]
fn npm_installs_from_its_registry() {
    let Some(project) = Project::where_it_works() else { return };
    let registry = outside(&project, "npm config get registry");
    project
        .write("package.json", r#"{ "name": "app", "version": "1.0.0", "dependencies": { "ms": "2.1.3" } }"#);
    let quiet = "export npm_config_cache=$PWD/.npm npm_config_update_notifier=false npm_config_audit=false npm_config_fund=false";
    let lock =
        format!("{quiet}; npm install --package-lock-only 2>&1 | tail -1; grep -c sha512- package-lock.json");
    let install = format!(
        "{quiet} npm_config_fetch_retries=0; rm -rf .npm; npm ci > log 2>&1; echo $?; node -p 'require(\"ms\")(\"2h\")' 2> /dev/null"
    );
    let locked = allowing(&project, &[host(&registry)]).line(&lock);
    assert!(locked.stdout.ends_with("\n1\n"), "{locked:#?}");
    let refused = project.line(&install);
    assert_eq!(refused.stdout, "1\n", "{refused:#?}");
    assert!(refused.json.to_string().contains(host(&registry)), "the report names the host: {refused:#?}");
    let installed = allowing(&project, &[host(&registry)]).line(&install).ok();
    assert_eq!(installed.stdout, "0\n7200000\n", "{installed:#?}");
}

#[test]
#[ignore = "needs the network: cargo xtask integration --long"]
fn pip_installs_from_its_index() {
    let Some(project) = Project::where_it_works() else { return };
    outside(&project, "python3 -m venv venv");
    // What pip was told, else what it has built in: pages on one host, files on another.
    let hosts = outside(
        &project,
        "venv/bin/pip config get global.index-url 2> /dev/null || venv/bin/python -c '
from pip._internal.models.index import PyPI
print(PyPI.simple_url, PyPI.file_storage_domain)'",
    );
    let hosts: Vec<&str> = hosts.split_whitespace().map(host).collect();
    let install = "export PIP_CACHE_DIR=$PWD/.pip PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_RETRIES=0; \
                   venv/bin/pip install --no-input -q iniconfig==2.0.0 > log 2>&1; echo $?; \
                   venv/bin/python -c 'import iniconfig; print(iniconfig.__file__)' 2> /dev/null";
    let refused = project.line(install);
    assert_eq!(refused.stdout, "1\n", "{refused:#?}");
    let installed = allowing(&project, &hosts).line(install).ok();
    let (status, file) = installed.stdout.split_once('\n').expect("two lines");
    assert!(status == "0" && file.contains("/venv/lib/"), "{installed:#?} {}", project.read("log"));
}
