//! The example of a program with Palisade inside does what it says.

#[path = "../examples/embed/session.rs"]
mod session;

use super::{block_on, text};
use palisade_policy::AbsPath;
use palisade_settings::{ManagedPlaces, Places, Trust};
use palisade_tests::Project;
use serde_json::json;
use session::Session;

#[test]
fn the_example_judges_a_line_runs_it_and_tells_what_was_stopped() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("secret", "s");
    let settings = json!({
        "sandbox": { "filesystem": { "denyRead": ["secret"] }, "colour": 1 },
        "permissions": { "deny": ["Bash(curl *)"] },
    });
    project.write(".claude/settings.json", settings.to_string());
    let session = Session::open(places(&project)).expect("good settings");
    assert!(session.remarks().iter().any(|remark| remark.contains("colour")), "{:?}", session.remarks());
    let refused = block_on(session.run("true; curl x")).err().map(|error| error.to_string());
    assert!(refused.as_ref().is_some_and(|said| said.contains("Bash(curl *)")), "{refused:?}");
    assert!(refused.is_some_and(|said| !said.contains("allow it")), "nothing lifts a denial");
    let asked = block_on(session.run("rm -rf ~")).err().map(|error| error.to_string());
    assert!(asked.is_some_and(|said| said.contains("home directory")));
    // That only an untrusted project has rules does not switch approvals off for what reads.
    let outcome = block_on(session.run("echo out; cat secret")).expect("it runs");
    assert_eq!((text(&outcome.stdout.bytes).as_str(), outcome.status), ("out\n", 1));
    let stopped: Vec<String> = outcome.sandbox.violations.iter().map(ToString::to_string).collect();
    assert!(stopped.len() == 1 && stopped[0].contains("/secret"), "{stopped:?}");
}

/// What was allowed since it runs inside does not run where the sandbox cannot, whatever the settings say.
#[test]
fn the_example_runs_nothing_outside() {
    let project = Project::new();
    let managed = json!({ "sandbox": { "bwrapPath": "/no/such/bwrap", "failIfUnavailable": false } });
    std::fs::write(project.outside().join("managed-settings.json"), managed.to_string()).expect("own file");
    let owner = nix::unistd::geteuid().as_raw();
    let places = Places {
        managed: ManagedPlaces { directories: vec![path(project.outside())], owner },
        ..places(&project)
    };
    let ran = Session::open(places).map(|session| block_on(session.run("touch ran")));
    let refused =
        ran.and_then(|ran| ran.map(|outcome| format!("{outcome:?}"))).map_err(|error| error.to_string());
    assert!(refused.as_ref().is_err_and(|said| said.contains("/no/such/bwrap")), "{refused:?}");
    assert!(!project.root().join("ran").exists());
}

fn places(project: &Project) -> Places {
    Places {
        managed: ManagedPlaces { directories: Vec::new(), owner: 0 },
        root: path(project.root()),
        trust: Trust::Untrusted,
        home: Some(path(project.home())),
        account_home: None,
        config_dir: None,
        working_directory: path(project.root()),
    }
}

fn path(path: std::path::PathBuf) -> AbsPath {
    AbsPath::try_from(path.as_path()).expect("absolute")
}
