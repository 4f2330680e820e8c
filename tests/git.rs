//! git at work inside: in a repository, a linked worktree, a submodule, a bare repository, by a `.git` file, and with
//! hooks elsewhere. What must not be written there is not, and all else is.

use palisade_tests::{Project, Run};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const WHO: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "n"),
    ("GIT_AUTHOR_EMAIL", "e@x"),
    ("GIT_COMMITTER_NAME", "n"),
    ("GIT_COMMITTER_EMAIL", "e@x"),
    ("GIT_EDITOR", "true"),
    ("GIT_ALLOW_PROTOCOL", "file"),
];

/// Outside, as the user does.
#[track_caller]
fn git(at: impl AsRef<Path>, words: &str) -> String {
    let output =
        Command::new("git").args(words.split(' ')).envs(WHO).current_dir(at).output().expect("git runs");
    assert!(output.status.success(), "git {words}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn inside(project: &Project, at: &Path, rules: Value, line: &str) -> Run {
    let run = WHO.iter().fold(project.run(), |run, (name, value)| run.env(name, value));
    run.directory(at).sandbox(rules).line(format!("set -e\n{line}"))
}

/// A repository with two commits and two branches.
fn repository(at: &Path) {
    std::fs::create_dir_all(at).expect("own directory");
    git(at, "init -q -b main");
    std::fs::write(at.join("f"), "one\n").expect("own directory");
    git(at, "add -A");
    git(at, "commit -q -m first");
    git(at, "branch topic");
    std::fs::write(at.join("f"), "two\n").expect("own directory");
    git(at, "commit -q -a -m second");
}

/// A day's work in a work tree, at whatever it has as `HEAD`.
const WORK: &str = r#"
git status --porcelain
echo new > new; git add new; git commit -q -m new
echo more >> f; git stash -q; git stash pop -q; git commit -q -a -m more
git checkout -q -b work; git checkout -q -
git checkout -q -b side HEAD~1; echo side > side; git add side; git commit -q -m side; git rebase -q work
git commit -q --amend -m amended; git tag t; git reset -q --hard HEAD~1; git cherry-pick t > /dev/null
git diff HEAD; git log -1 HEAD > /dev/null; git show -s HEAD > /dev/null; git format-patch -q -1 HEAD --stdout > /dev/null
git worktree add -q trees/x -b x 2> /dev/null; cd trees/x; echo x > x; git add x; git commit -q -m x; cd ../..
git worktree remove trees/x
git fetch -q up 2> /dev/null; git rev-parse -q --verify up/fetched > /dev/null; git fetch -q --all --prune 2> /dev/null
git gc -q; git fsck > /dev/null 2>&1; git reflog > /dev/null
git status --porcelain
"#;

/// Changes of what git runs, each of which must be refused.
const REFUSED: &[&str] = &[
    "git config user.name evil",
    "git config --local alias.x '!true'",
    "git remote add evil /evil",
    "echo evil > \"$(git rev-parse --git-path hooks)/pre-commit\"",
    "D=\"$(git rev-parse --git-path hooks)\"; mv \"$D\" \"$D.old\"",
    "D=\"$(git rev-parse --git-common-dir)\"; mv \"$D\" \"$D.old\"",
    "D=\"$(git rev-parse --git-dir)\"; mv \"$D\" \"$D.old\"",
    "D=\"$(git rev-parse --show-toplevel)\"; rm -f \"$D/.git\"",
    "D=\"$(git rev-parse --show-toplevel)\"; mv \"$D/.git\" \"$D/x\"",
];

fn check(project: &Project, at: &Path, rules: &Value) {
    with_remote(project, at);
    let run = inside(project, at, rules.clone(), WORK).ok();
    assert_eq!(run.stdout, "", "{run:#?}");
    assert_eq!(git(at, "status --porcelain"), "");
    for line in REFUSED {
        let run = inside(project, at, rules.clone(), line);
        assert!(run.status != 0, "{line}: {run:#?}");
    }
    git(at, "fsck");
}

/// Gives the repository a remote `up` that has a branch of its own.
fn with_remote(project: &Project, at: &Path) {
    let up = tempfile::tempdir_in(project.outside()).expect("own directory").keep();
    repository(&up);
    git(&up, "checkout -q -b fetched");
    git(at, &format!("remote add up {}", up.display()));
}

#[test]
fn in_a_repository() {
    let Some(project) = Project::where_it_works() else { return };
    repository(&project.root());
    check(&project, &project.root(), &json!({}));
}

#[test]
fn in_a_directory_of_a_repository() {
    let Some(project) = Project::where_it_works() else { return };
    repository(&project.root());
    let below = project.root().join("below");
    std::fs::create_dir(&below).expect("own directory");
    let run = inside(
        &project,
        &below,
        json!({}),
        "git status --porcelain; git diff HEAD; git log -1 HEAD > /dev/null",
    );
    assert_eq!(run.ok().stdout, "");
}

/// The main repository lies outside the root, and is written where a commit needs it.
#[test]
fn in_a_linked_worktree() {
    for relative in [false, true] {
        let Some(project) = Project::where_it_works() else { return };
        let main = project.outside().join("main");
        repository(&main);
        let tree = project.root().join("tree");
        git(&main, &format!("worktree add -q {} topic", tree.display()));
        if relative {
            // As newer git writes them when asked to.
            std::fs::write(tree.join(".git"), "gitdir: ../../outside/main/.git/worktrees/tree\n")
                .expect("own file");
            let back = main.join(".git/worktrees/tree/gitdir");
            std::fs::write(back, "../../../../../root/tree/.git\n").expect("own file");
        }
        check(&project, &tree, &json!({}));
        for line in [
            "echo evil > ../../outside/main/f",
            "echo evil > ../../outside/main/.git/hooks/pre-commit",
            "echo evil > ../../outside/main/.git/config",
            "echo evil > ../../outside/new",
        ] {
            assert!(inside(&project, &tree, json!({}), line).status != 0, "{line}");
        }
        assert_eq!(git(&main, "status --porcelain"), "");
    }
}

#[test]
fn in_a_worktree_of_a_bare_repository() {
    let Some(project) = Project::where_it_works() else { return };
    let (source, bare) = (project.outside().join("source"), project.root().join("repo.git"));
    repository(&source);
    git(project.root(), &format!("clone -q --bare {} repo.git", source.display()));
    git(&bare, "worktree add -q tree topic");
    check(&project, &bare.join("tree"), &json!({}));
}

#[test]
fn in_a_submodule_and_around_it() {
    let Some(project) = Project::where_it_works() else { return };
    let (source, above) = (project.outside().join("source"), project.root().join("above"));
    repository(&source);
    repository(&above);
    git(&above, &format!("submodule --quiet add {} sub", source.display()));
    git(&above, "commit -q -m sub");
    check(&project, &above.join("sub"), &json!({}));
    git(above.join("sub"), "checkout -q -B main origin/main");
    git(&above, "submodule --quiet update");
    check(&project, &above, &json!({}));
    git(&source, "commit -q --allow-empty -m third");
    let line = "git submodule status > /dev/null; git -C sub fetch -q; \
        git -C sub checkout -q origin/main; git add sub; git commit -q -m third; git status --porcelain";
    assert_eq!(inside(&project, &above, json!({}), line).ok().stdout, "");
    let line = "echo evil > .git/modules/sub/hooks/pre-commit; echo evil > .git/modules/sub/config; cd sub; git config a.b c";
    assert!(inside(&project, &above, json!({}), &format!("set +e; {line}")).status != 0);
    assert!(!above.join(".git/modules/sub/hooks/pre-commit").exists());
    git(above.join("sub"), "fsck");
}

/// `source`, which has `inner` as a submodule, as the submodule `sub` of the root: first the older of its two commits,
/// then the newer one.
fn with_submodules(project: &Project) -> PathBuf {
    let (inner, source, root) =
        (project.outside().join("inner"), project.outside().join("source"), project.root());
    for at in [&inner, &source, &root] {
        repository(at);
    }
    git(&root, &format!("submodule --quiet add {} sub", source.display()));
    git(&root, "commit -q -m older");
    git(&source, &format!("submodule --quiet add {} inner", inner.display()));
    git(&source, "commit -q -m inner");
    git(&root, "submodule --quiet update --remote --init --recursive");
    git(&root, "commit -q -a -m newer");
    root
}

/// What changes what is checked out in submodules; each line leaves all as it was.
const UPDATES: &[&str] = &[
    "git submodule update",
    "git checkout -q HEAD~1; git submodule --quiet update; git diff --quiet --ignore-submodules=untracked; \
     test ! -e sub/.gitmodules; git checkout -q main; \
     git submodule --quiet update --init --recursive",
    "git submodule --quiet update --recursive --checkout --force; git submodule --quiet update --remote --no-fetch",
    "git submodule --quiet update --merge; git submodule --quiet update --rebase",
    "git -C sub checkout -q HEAD~1; git -C sub/inner checkout -q HEAD~1; git submodule --quiet update --recursive",
    "git submodule --quiet foreach --recursive 'git commit -q --allow-empty -m x'; \
     git submodule --quiet update --recursive",
];

/// What makes git write that configuration another way, and writing it oneself, are refused as ever.
const UPDATES_REFUSED: &[&str] = &[
    "git -C sub config a.b c",
    "git -C sub/inner config core.fsmonitor ./evil",
    "git config -f .git/modules/sub/config core.worktree ../../../sub",
    "echo '[a]' >> .git/modules/sub/config",
    "chmod 600 .git/modules/sub/config",
    "rm -f .git/modules/sub/config",
    "git -C sub remote add evil /evil",
];

fn configurations(root: &Path) -> Vec<Vec<u8>> {
    let all = [".git/config", ".git/modules/sub/config", ".git/modules/sub/modules/inner/config"];
    all.iter().map(|file| std::fs::read(root.join(file)).expect("there")).collect()
}

fn check_updates(project: &Project, root: &Path, rules: &Value, lines: &[&str]) {
    let before = configurations(root);
    for line in lines {
        let line = format!("{line}; git status --porcelain; git submodule status --recursive | cut -c1");
        let run = inside(project, root, rules.clone(), &line).ok();
        assert_eq!(run.stdout.trim_ascii(), "", "{line}: {run:#?}");
        assert_eq!(git(root, "status --porcelain"), "", "{line}");
    }
    let each = UPDATES_REFUSED.join(") && echo open\n(");
    let run = inside(project, root, rules.clone(), &format!("set +e\n({each}) && echo open"));
    assert!(run.status != 0 && run.stdout.is_empty(), "{run:#?}");
    assert_eq!(configurations(root), before);
}

#[test]
fn submodules_are_updated() {
    let Some(project) = Project::where_it_works() else { return };
    let root = with_submodules(&project);
    check_updates(&project, &root, &json!({}), UPDATES);
    let line = "git -C inner checkout -q HEAD~1; git submodule --quiet update; git status --porcelain";
    assert_eq!(inside(&project, &root.join("sub"), json!({}), line).ok().stdout, "", "in a submodule");
    git(&root, "config core.hooksPath .hooks");
    inside(&project, &root, json!({}), UPDATES[1]).ok();
    // git keeps the work tree's place in another file for a sparse checkout.
    git(root.join("sub"), "sparse-checkout init");
    let before = std::fs::read(root.join(".git/modules/sub/config.worktree")).expect("there");
    inside(&project, &root, json!({}), UPDATES[1]).ok();
    assert_eq!(std::fs::read(root.join(".git/modules/sub/config.worktree")).expect("there"), before);
}

/// As above, with so many rules that bubblewrap does not mount them itself.
#[test]
fn submodules_are_updated_under_many_rules() {
    let Some(project) = Project::where_it_works() else { return };
    let root = with_submodules(&project);
    let hidden: Vec<_> = (0..60).map(|number| project.outside().join(format!("hidden{number}"))).collect();
    hidden.iter().for_each(|path| std::fs::write(path, "").expect("own directory"));
    check_updates(&project, &root, &json!({ "filesystem": { "denyRead": hidden } }), &UPDATES[1..2]);
}

/// A submodule of a root that somebody has initialised is fetched, and updated by the next command.
#[test]
fn a_new_submodule_is_fetched() {
    let Some(project) = Project::where_it_works() else { return };
    let (source, root) = (project.outside().join("source"), project.root());
    repository(&source);
    repository(&root);
    git(&root, &format!("submodule --quiet add {} sub", source.display()));
    git(&root, "commit -q -m sub");
    git(&root, "worktree add -q tree -b tree");
    let tree = root.join("tree");
    for line in ["git submodule --quiet update --init", "git submodule --quiet update --checkout --force"] {
        inside(&project, &tree, json!({}), &format!("{line}; test -f sub/f; git -C sub fsck")).ok();
    }
    assert!(inside(&project, &tree, json!({}), "git -C sub config a.b c").status != 0);
}

/// What a rule hides is hidden, with a substitute as without.
#[test]
fn hidden_configuration_of_a_submodule_is_hidden() {
    let Some(project) = Project::where_it_works() else { return };
    let root = with_submodules(&project);
    let rules = json!({ "filesystem": { "denyRead": [root.join(".git/modules/sub/config")] } });
    let run = inside(
        &project,
        &root,
        rules,
        "cat .git/modules/sub/modules/inner/config; cat .git/modules/sub/config",
    );
    assert!(run.status != 0 && !run.stdout.contains("outside/source"), "{run:#?}");
    assert!(run.stdout.contains("outside/inner") && !run.stdout.contains("worktree"), "{run:#?}");
}

/// A hook of a submodule finds the work tree from wherever it goes, as it does outside. For that its submodule cannot be
/// updated.
#[test]
fn with_hooks_in_a_submodule() {
    use std::os::unix::fs::PermissionsExt;
    let hook = "#!/bin/sh\nmkdir -p d; echo new > d/new; cd d; git add new\n";
    for is_the_users in [false, true] {
        let Some(project) = Project::where_it_works() else { return };
        let root = with_submodules(&project);
        let hooks = if is_the_users { project.home() } else { root.join(".git/modules/sub/hooks") };
        let hook_file = hooks.join("pre-commit");
        std::fs::write(&hook_file, hook).expect("own directory");
        std::fs::set_permissions(&hook_file, PermissionsExt::from_mode(0o755)).expect("own file");
        if is_the_users {
            std::fs::write(project.home().join(".gitconfig"), "[core]\nhooksPath = ~\n").expect("own");
        }
        let line = "cd sub; git commit -q --allow-empty -m x; git ls-tree -r --name-only HEAD";
        let run = inside(&project, &root, json!({}), line).ok();
        assert!(run.stdout.contains("d/new\n"), "{run:#?}");
        let run = inside(&project, &root, json!({}), "git submodule update");
        assert!(run.status != 0 && run.stderr.contains(".git/modules/sub/config"), "{run:#?}");
    }
}

/// A linked worktree has git directories of its own for its submodules, below the main repository's.
#[test]
fn around_a_submodule_of_a_linked_worktree() {
    let Some(project) = Project::where_it_works() else { return };
    let (source, main) = (project.outside().join("source"), project.root());
    repository(&source);
    repository(&main);
    git(&main, &format!("submodule --quiet add {} sub", source.display()));
    git(&main, "commit -q -m sub");
    git(&main, "worktree add -q ../outside/tree -b tree");
    let tree = project.outside().join("tree");
    git(&tree, "submodule --quiet update --init");
    let of_sub = main.join(".git/worktrees/tree/modules/sub");
    let before = std::fs::read(of_sub.join("config")).expect("a file");
    for line in
        ["echo '[a]' >> $D/config", "git config -f $D/config a.b c", "echo evil > $D/hooks/post-checkout"]
    {
        let line = format!("D=.git/worktrees/tree/modules/sub; {line}");
        assert!(inside(&project, &main, json!({}), &line).status != 0, "{line}");
    }
    assert_eq!(std::fs::read(of_sub.join("config")).expect("a file"), before);
    assert!(!of_sub.join("hooks/post-checkout").exists());
    inside(&project, &main, json!({}), "git -C .git/worktrees/tree/modules/sub update-ref refs/heads/x HEAD")
        .ok();
}

#[test]
fn in_a_bare_repository() {
    let Some(project) = Project::where_it_works() else { return };
    let source = project.outside().join("source");
    repository(&source);
    git(project.root(), &format!("clone -q --bare {} .", source.display()));
    git(&source, "commit -q --allow-empty -m third");
    let line = "git fetch -q origin main:main; git branch new; git symbolic-ref HEAD refs/heads/new; git gc -q; git fsck > /dev/null 2>&1; \
        git update-ref refs/heads/x HEAD; git pack-refs --all; git worktree add -q $TMPDIR/w x; cd $TMPDIR/w; git commit -q --allow-empty -m w";
    inside(&project, &project.root(), json!({}), line).ok();
    for line in ["git config a.b c", "echo evil > hooks/post-update", "mv hooks h", "echo evil > config"] {
        assert!(inside(&project, &project.root(), json!({}), line).status != 0, "{line}");
    }
}

/// A `.git` file opens nothing by itself: it may have come with an archive.
#[test]
fn with_a_git_file() {
    let Some(project) = Project::where_it_works() else { return };
    repository(&project.root());
    git(project.root(), "init -q --separate-git-dir=inner.git");
    std::fs::write(project.root().join("inner.git/info/exclude"), "inner.git\n").expect("own directory");
    check(&project, &project.root(), &json!({}));

    // A bare repository beside its work trees: all of it is in the root, so there is nothing to be opened.
    let Some(project) = Project::where_it_works() else { return };
    let source = project.outside().join("source");
    repository(&source);
    git(project.root(), &format!("clone -q --bare {} .bare", source.display()));
    project.write(".git", "gitdir: ./.bare\n");
    let line = "git worktree add -q t topic; cd t; git commit -q --allow-empty -m x";
    let run = inside(&project, &project.root(), json!({}), line).ok();
    assert_eq!(run.stderr, "", "{run:#?}");

    let Some(project) = Project::where_it_works() else { return };
    repository(&project.root());
    git(project.root(), &format!("init -q --separate-git-dir={}", project.outside().join("g").display()));
    let run = inside(&project, &project.root(), json!({}), "git commit -q --allow-empty -m x");
    assert!(run.status != 0 && run.stderr.contains("does not name"), "{run:#?}");
    check(&project, &project.root(), &json!({ "filesystem": { "allowWrite": ["../outside/g"] } }));
}

/// Neither another repository's git directory nor a made-up one is opened by pointing to it.
#[test]
fn a_pointer_without_its_counterpart_opens_nothing() {
    let Some(project) = Project::where_it_works() else { return };
    let victim = project.outside().join("victim");
    repository(&victim);
    git(&victim, "worktree add -q ../tree topic");
    for pointer in ["victim/.git", "victim/.git/worktrees/tree"] {
        std::fs::write(project.root().join(".git"), format!("gitdir: ../outside/{pointer}\n"))
            .expect("own directory");
        let line = format!("echo evil > ../outside/{pointer}/x");
        assert!(inside(&project, &project.root(), json!({}), &line).status != 0, "{pointer}");
    }
    assert!(!victim.join(".git/x").exists());
}

/// Hooks that the configuration names elsewhere in the root run inside as they do outside, and are not written.
#[test]
fn with_hooks_elsewhere() {
    use std::os::unix::fs::PermissionsExt;
    let Some(project) = Project::where_it_works() else { return };
    let root = project.root();
    repository(&root);
    git(&root, "config core.hooksPath .hooks/on");
    let hook = project.write(".hooks/on/pre-commit", "#!/bin/sh\necho ran >> hook-ran\n");
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).expect("own file");
    inside(&project, &root, json!({}), "git commit -q --allow-empty -m x; test -s hook-ran; rm hook-ran")
        .ok();
    for line in
        ["echo evil >> .hooks/on/pre-commit", "echo evil > .hooks/on/new", "mv .hooks h", "rm -rf .hooks/on"]
    {
        assert!(inside(&project, &root, json!({}), line).status != 0, "{line}");
    }
    inside(&project, &root, json!({}), "echo ok > .hooks/other; rm .hooks/other").ok();
    project.write(".hooks/on/pre-commit", "#!/bin/sh\ngit diff --cached --name-only > \"$TMPDIR/ran\"\n");
    git(&root, "add -A");
    git(&root, "commit -q -m hooks");
    check(&project, &root, &json!({}));
}

/// What configuration includes is configuration.
#[test]
fn with_included_configuration() {
    let Some(project) = Project::where_it_works() else { return };
    let root: PathBuf = project.root();
    repository(&root);
    project.write("conf/a", "[include]\n\tpath = b\n");
    std::fs::write(
        project.home().join(".gitconfig"),
        format!("[include]\n\tpath = {}/conf/c\n", root.display()),
    )
    .expect("own");
    git(&root, "config include.path ../conf/a");
    for line in ["echo evil > conf/a", "echo evil > conf/b", "echo evil > conf/c", "mv conf x"] {
        assert!(inside(&project, &root, json!({}), line).status != 0, "{line}");
    }
    inside(&project, &root, json!({}), "echo ok > conf/d; rm conf/d; git status --porcelain > /dev/null")
        .ok();
}

#[test]
fn from_and_to_a_remote() {
    let Some(project) = Project::where_it_works() else { return };
    repository(&project.root());
    git(project.root(), "clone -q --bare . remote.git");
    git(project.root(), "remote add origin ./remote.git");
    let line = "git fetch -q origin 2> /dev/null; git push -q origin main; git commit -q --allow-empty -m x; git push -q origin main; \
        git rev-parse -q --verify origin/main > /dev/null; git pull -q --rebase origin main 2> /dev/null; git clone -q remote.git again; \
        cd again; git commit -q --allow-empty -m y; git push -q";
    inside(&project, &project.root(), json!({}), line).ok();
}

#[test]
fn many_linked_worktrees_are_no_obstacle() {
    let Some(project) = Project::where_it_works() else { return };
    let root = project.root();
    repository(&root);
    for number in 0..60 {
        git(&root, &format!("worktree add -q --detach ../outside/w{number}"));
    }
    let line = "echo evil > .git/worktrees/w7/commondir; mv .git/worktrees/w8 .git/worktrees/w9/x; \
        mv .git/worktrees .git/x; echo evil > .git/worktrees/w10/config.worktree; git commit -q --allow-empty -m x";
    inside(&project, &root, json!({}), &format!("set +e; {line}")).ok();
    assert_eq!(std::fs::read_to_string(root.join(".git/worktrees/w7/commondir")).expect("there"), "../..\n");
    assert!(root.join(".git/worktrees/w8/commondir").exists());
    assert!(!root.join(".git/worktrees/w10/config.worktree").exists());
    git(project.outside().join("w9"), "status");
}
