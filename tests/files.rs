//! What a command can read and write.

use palisade_tests::{Project, works_here};

#[test]
fn the_root_is_writable_and_nothing_else_is() {
    if !works_here() {
        return;
    }
    let project = Project::new();
    let outside = project.outside();
    let run = project.line(&format!(
        "echo in > in; echo out > {0}/f; touch \"$HOME/f\"; mkdir {0}/d; ln -s {0} link; echo via > link/g",
        outside.display()
    ));
    assert_ne!(run.status, 0, "{run:?}");
    assert_eq!(project.read("in"), "in\n");
    assert!(run.stderr.contains("Read-only file system"), "{run:?}");
    for empty in [outside, project.home()] {
        assert_eq!(std::fs::read_dir(empty).expect("exists").count(), 0);
    }
}
