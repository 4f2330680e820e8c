//! Rules that name thousands of files: the command starts, everything denied is denied, and everything else is as it
//! was.

use palisade_tests::{Project, Run, Tools};
use serde_json::json;

/// Files made by `name` for each number below `count`.
fn make(project: &Project, count: usize, name: impl Fn(usize) -> String) {
    for index in 0..count {
        project.write(name(index), "s3cret");
    }
}

/// A rule on the read list of `project`, as the settings have it.
fn reading(deny: &[&str], allow: &[&str]) -> serde_json::Value {
    json!({ "filesystem": { "denyRead": deny, "allowRead": allow } })
}

#[track_caller]
fn assert_says(run: Run, said: &str) {
    let run = run.ok();
    assert_eq!(run.stdout.trim(), said, "{run:#?}");
}

/// How many files below `.` whose names match can be read.
fn count_readable(pattern: &str) -> String {
    format!("find . -name '{pattern}' -type f -exec cat {{}} + 2>/dev/null | grep -o s3cret | wc -l")
}

#[test]
fn ten_thousand_hidden_files_in_one_directory() {
    let Some(project) = Project::where_it_works() else { return };
    make(&project, 10_000, |index| format!("data/{index}.key"));
    project.write("data/open", "s3cret");
    let run = |line: &str| project.run().sandbox(reading(&["data/*.key"], &[])).line(line);
    assert_says(run(&count_readable("*")), "1");
    assert_says(run("echo new > data/new && cat data/new && rm data/new"), "new");
    assert_says(run("mv data moved 2>/dev/null || rm data/77.key 2>/dev/null || echo stays"), "stays");
    assert_eq!(project.read("data/77.key"), "s3cret");
}

#[test]
fn five_thousand_matches_scattered_over_as_many_directories() {
    let Some(project) = Project::where_it_works() else { return };
    make(&project, 5_000, |index| format!("{}/{index}/.env", index % 50));
    make(&project, 50, |index| format!("{index}/open"));
    let run = |line: &str| project.run().sandbox(reading(&["**/.env"], &[])).line(line);
    assert_says(run(&count_readable("*")), "50");
    assert_says(
        run("mv 3/53 3/x 2>/dev/null || mv 3 x 2>/dev/null || echo pinned; touch 3/53/new"),
        "pinned",
    );
    assert!(project.root().join("3/53/new").is_file());
}

#[test]
fn thousands_of_files_to_be_seen_in_a_hidden_directory() {
    let Some(project) = Project::where_it_works() else { return };
    make(&project, 4_000, |index| format!("private/{}/{index}.md", index % 20));
    make(&project, 100, |index| format!("private/{}/key{index}", index % 20));
    let run = |line: &str| project.run().sandbox(reading(&["private"], &["private/**/*.md"])).line(line);
    assert_says(
        run("cat private/7/7.md private/0/3980.md && ls private/7 2>/dev/null || echo unlisted"),
        "s3crets3cretunlisted",
    );
    assert_says(
        run(
            "cat private/7/key7 private/key 2>/dev/null || touch private/7/7.md private/new private/7/new 2>/dev/null || echo shut",
        ),
        "shut",
    );
    assert_says(
        run("chmod 777 private private/7 2>/dev/null; ls private private/7 2>/dev/null || echo unlisted"),
        "unlisted",
    );
}

#[test]
fn thousands_of_write_denied_files() {
    let Some(project) = Project::where_it_works() else { return };
    make(&project, 2_000, |index| format!("d{}/{index}", index % 100));
    let denied: Vec<String> = (0..2_000).map(|index| format!("d{}/{index}", index % 100)).collect();
    let run = |line: &str| project.run().sandbox(json!({ "filesystem": { "denyWrite": denied } })).line(line);
    let attempt = Tools::here().attempt.display();
    assert_says(run(&format!("find . -type f -exec {attempt} --write {{}} +")), "");
    assert_says(
        run("touch d7/new && cat d7/7 d99/1999 && mv d7 x 2>/dev/null || echo pinned"),
        "s3crets3cretpinned",
    );
}

/// Each has protected files of its own in the main repository.
#[test]
fn three_hundred_linked_worktrees() {
    let Some(project) = Project::where_it_works() else { return };
    let git = |words: &str| {
        let status = std::process::Command::new("sh")
            .args(["-c", &format!("{words} >/dev/null 2>&1")])
            .current_dir(project.root())
            .env("HOME", project.home())
            .status();
        assert!(status.expect("sh starts").success(), "{words}");
    };
    git("git init -q main && cd main && git -c user.name=n -c user.email=e commit -q --allow-empty -m one");
    git(
        "cd main && for i in $(seq 300); do git worktree add -q --detach --no-checkout ../w$i || exit 1; done",
    );
    let denied: Vec<String> = (1..=300)
        .flat_map(|index| ["commondir", "gitdir"].map(|name| format!("main/.git/worktrees/w{index}/{name}")))
        .collect();
    let run = |line: &str| project.run().sandbox(json!({ "filesystem": { "denyWrite": denied } })).line(line);
    let commit = "cd w300 && git -c user.name=n -c user.email=e commit -q --allow-empty -m two && git log --oneline | wc -l";
    assert_says(run(commit), "2");
    assert_says(run("echo x > main/.git/worktrees/w300/commondir 2>/dev/null || echo denied"), "denied");
    // The main repository, and one of its worktrees, each as the root and without a rule.
    let commit = "git -c user.name=n -c user.email=e commit -q --allow-empty -m two && git log --oneline | wc -l
                  cd \"$(git rev-parse --git-common-dir)/worktrees/w7\" && echo x > commondir 2>/dev/null || echo protected";
    for root in ["main", "w9"] {
        assert_says(project.run().directory(project.root().join(root)).line(commit), "2\nprotected");
    }
}

#[test]
fn a_root_with_two_hundred_thousand_files() {
    let Some(project) = Project::where_it_works() else { return };
    // Other names of one file are cheaper to make than files, and ext4 takes 65,000 of them.
    for directory in 0..200 {
        let first = project.write(format!("{directory}/f0"), "open");
        let name = |file| first.with_file_name(format!("f{file}"));
        (1..1_000).for_each(|file| std::fs::hard_link(&first, name(file)).expect("own directory"));
    }
    std::fs::write(project.root().join("199/last.pem"), "s3cret").expect("own directory");
    let run = project.run().sandbox(reading(&["**/*.pem"], &[])).line("cat 199/last.pem; cat 199/f999");
    let run = run.ok();
    assert!(run.stdout == "open" && run.stderr.contains("Permission denied"), "{run:#?}");
}

/// What is mounted inside the root when the command starts stays as it is: writable, or not.
#[test]
fn what_the_host_has_mounted_in_the_root_comes_along() {
    let Some(project) = Project::where_it_works() else { return };
    make(&project, 100, |index| format!("data/{index}.key"));
    for directory in ["open", "shut", "kept"] {
        std::fs::create_dir(project.root().join(directory)).expect("own directory");
    }
    let settings = json!({ "sandbox": { "filesystem": {
        "denyRead": ["data/*.key", "open/hidden"], "denyWrite": ["kept"]
    } } });
    let inside = "touch open/new && touch open/hidden 2>/dev/null; touch shut/new 2>/dev/null; touch kept/new 2>/dev/null; \
                  cat open/hidden kept/file data/7.key 2>/dev/null; ls open shut kept | tr '\\n' ' '";
    let script = format!(
        "set -e
         for d in open shut kept; do mount -t tmpfs none $d; done
         echo s3cret > open/hidden; echo kept > kept/file; touch shut/file
         mount -o remount,ro,bind shut
         exec setpriv --inh-caps=-all --ambient-caps=-all '{}' run --settings \"$0\" -c \"$1\"",
        Tools::here().palisade.display()
    );
    let mut command = std::process::Command::new("unshare");
    command
        .args([
            "--user",
            "--map-current-user",
            "--keep-caps",
            "--mount",
            "sh",
            "-c",
            &script,
            &settings.to_string(),
            inside,
        ])
        .current_dir(project.root())
        .env("HOME", project.home());
    let output = command.output().expect("unshare starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        said.trim(),
        "kept\nkept: file  open: hidden new  shut: file",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Below `/dev` the sandbox has its own files; a rule may open the host's.
#[test]
fn a_rule_about_devices_holds_beside_thousands_of_others() {
    let Some(project) = Project::where_it_works() else { return };
    make(&project, 100, |index| format!("data/{index}.key"));
    let shared = tempfile::tempdir_in("/dev/shm").expect("shared memory");
    std::fs::write(shared.path().join("file"), "host's\n").expect("own directory");
    let settings = json!({ "filesystem": { "denyRead": ["data/*.key"], "allowWrite": [shared.path()] } });
    let line = format!(
        "cd {} && cat file && echo command > new; cat ~+/../../../{}/data/7.key 2>/dev/null || echo hidden",
        shared.path().display(),
        project.root().display()
    );
    let run = project.run().sandbox(settings).line(line).ok();
    assert_eq!(run.stdout, "host's\nhidden\n", "{run:#?}");
    assert_eq!(std::fs::read_to_string(shared.path().join("new")).expect("made inside"), "command\n");
}
