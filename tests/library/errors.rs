//! Each error has a word for programs, and after each nothing has run and nothing is left.

use super::{argv, block_on, paths, run, sandbox, shell};
use palisade::{Command, Error, Options, Request, Sandbox};
use palisade_policy::{AbsPath, FileSets, Origin, Policy, ProgramRule};
use palisade_tests::Project;
use std::path::PathBuf;

#[track_caller]
fn assert_refused(project: &Project, policy: Policy, request: Request, code: &str, said: &str) {
    let before = project.tree();
    let error = block_on(sandbox(policy).run(request)).expect_err(said);
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(said), "{error}");
    assert_eq!(project.tree(), before, "nothing ran, nothing is left");
}

#[test]
fn roots_and_working_directories_that_cannot_be() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("file", "");
    let rooted = |root: PathBuf| Request { root, ..shell(&project, "touch ran") };
    let starting =
        |directory: PathBuf| Request { working_directory: Some(directory), ..shell(&project, "touch ran") };
    for (request, said) in [
        (rooted("/".into()), "whole file system"),
        (rooted("/../".into()), "whole file system"),
        (rooted(project.root().join("missing")), "No such file or directory"),
        (rooted(project.root().join("file")), "not a directory"),
        (starting(project.root().join("missing")), "the working directory"),
        (starting(project.root().join("file")), "not a directory"),
    ] {
        assert_refused(&project, Policy::default(), request, "SANDBOX_DIRECTORY", said);
    }
}

#[test]
fn programs_that_cannot_be_run() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("plain", "no program");
    for (words, code, said) in [
        (&[][..], "PROGRAM_NOT_FOUND", "not found"),
        (&[""], "PROGRAM_NOT_FOUND", "not found"),
        (&["no-such-program", "x"], "PROGRAM_NOT_FOUND", "no-such-program"),
        (&["./missing"], "PROGRAM_NOT_FOUND", "./missing"),
        (&["./plain"], "PROGRAM_NOT_EXECUTABLE", "./plain"),
        (&["/etc"], "PROGRAM_NOT_EXECUTABLE", "/etc"),
        (&["tr\0ue"], "COMMAND_INVALID", "NUL"),
        (&["echo", "a\0b"], "COMMAND_INVALID", "NUL"),
    ] {
        assert_refused(&project, Policy::default(), argv(&project, words.iter().copied()), code, said);
    }
    let line = Request::new(Command::Shell("touch ran\0".into()), project.root());
    assert_refused(&project, Policy::default(), line, "COMMAND_INVALID", "NUL");
}

#[test]
fn rules_that_cannot_be_enforced() {
    let Some(project) = Project::where_it_works() else { return };
    let denying = |text: &str| Policy {
        files: FileSets { deny_write: paths(&project, "denyWrite", &[text]), ..FileSets::default() },
        ..Policy::default()
    };
    let request = || shell(&project, "touch ran");
    assert_refused(&project, denying("*.conf"), request(), "SANDBOX_UNENFORCEABLE", "*.conf");
}

/// A command that can write bubblewrap decides what the next one is confined by.
#[test]
fn a_bubblewrap_that_a_command_could_replace_is_not_used() {
    let Some(project) = Project::where_it_works() else { return };
    let (bwrap, _) = palisade::probe(&Policy::default()).bubblewrap.expect("it works here");
    let directory = bwrap.parent().expect("a directory").to_string();
    let opened = Policy {
        files: FileSets { allow_write: paths(&project, "allowWrite", &[&directory]), ..FileSets::default() },
        ..Policy::default()
    };
    let refused = |options| {
        let sandbox = Sandbox::create(options).expect("what a rule opens does not make it unavailable");
        let error = block_on(sandbox.run(shell(&project, "touch ran"))).expect_err("bubblewrap is writable");
        assert_eq!(error.code(), "SANDBOX_UNENFORCEABLE", "{error}");
        assert_eq!(project.tree(), [""; 0], "nothing ran");
    };
    refused(Options { policy: opened, ..Options::default() });
    refused(Options { roots: vec![directory.clone().into()], ..Options::default() });
    let request = Request { root: directory.into(), ..shell(&project, "true") };
    assert_refused(&project, Policy::default(), request, "SANDBOX_UNENFORCEABLE", "bubblewrap");
}

#[test]
fn the_bubblewrap_that_an_administrator_names_is_the_one_that_is_used() {
    let Some(project) = Project::where_it_works() else { return };
    let (bwrap, _) = palisade::probe(&Policy::default()).bubblewrap.expect("it works here");
    let named = |path: &str| Policy {
        bwrap: Some(ProgramRule {
            path: AbsPath::new(path).expect("absolute"),
            origin: Origin::flag("bwrapPath", path),
        }),
        ..Policy::default()
    };
    assert_eq!(run(&project, named(&bwrap.to_string()), "exit 3").status, 3);
    let other = shell(&project, "true");
    let says = "/usr/bin/true is not bubblewrap";
    assert_refused(&project, named("/usr/bin/true"), other, "SANDBOX_UNAVAILABLE", says);
    let planted = project.write("bwrap", "").display().to_string();
    for path in ["/none/such/bwrap", &planted] {
        match Sandbox::create(Options { policy: named(path), ..Options::default() }) {
            Err(error @ Error::Unavailable(_)) => {
                let said = error.to_string();
                assert!(said.contains(path) && said.contains("bwrapPath"), "{said}");
            }
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("{path} is used"),
        }
    }
}
