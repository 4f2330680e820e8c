//! Files that a line writes or reads under other names than those it says: copies that programs keep, and what lies behind
//! links that the line itself brings.

use crate::fixture::{Session, path, said};
use palisade_permissions::{Call, Mode};
use palisade_policy::AbsPath;

/// Links of the project: `gl` is its git directory, `hl` the home directory, `evil` holds a link to each and to a secret
/// file. Nothing else is a link.
fn follow(asked: &AbsPath) -> AbsPath {
    let links = [
        ("/w/proj/gl", "/w/proj/.git"),
        ("/w/proj/hl", "/home/u"),
        ("/w/proj/evil/g", "/w/proj/.git"),
        ("/w/proj/evil/h", "/home/u"),
        ("/w/proj/evil/key", "/home/u/.ssh/id"),
        ("/w/proj/in", "/w/proj/src"),
    ];
    let led = links.iter().find_map(|(link, target)| {
        let link = path(link);
        let rest = &asked.as_bytes().get(link.as_bytes().len()..)?;
        link.covers(asked).then(|| AbsPath::new([target.as_bytes(), rest].concat()).expect("absolute"))
    });
    led.unwrap_or_else(|| asked.clone())
}

#[track_caller]
fn all(session: &Session, lines: &[&str], expected: &str) {
    for line in lines {
        let found = session.judge_where(&follow, &Call::command(line), said);
        let is_same = found == expected || (expected == "asks" && found.starts_with("ask"));
        assert!(is_same, "{line:?} is {found}, not {expected}, in {:?}", session.mode);
    }
}

#[test]
fn a_copy_that_a_program_keeps_is_written_too() {
    let lines = [
        "sed -irc s/a/b/ .npm",
        "sed -nirc p .npm",
        "sed -ijson s/a/b/ .mcp.",
        "sed -i.json s/a/b/ .mcp",
        "sed -irc -e s/a/b/ x sub/.npm",
    ];
    let edits = Session::new().mode(Mode::AcceptEdits);
    let ruled =
        Session::new().allow(&["Bash(sed *)", "Bash(cp *)", "Bash(mv *)", "Bash(gunzip *)", "Bash(ln *)"]);
    all(&edits, &lines, "asks");
    let others = [
        "sed -i'.*rc' s/a/b/ npm",
        "sed --in-place=rc s/a/b/ .npm",
        "sed -i.git/hooks/* s/a/b/ pre-commit",
        "sed -i'.git/hooks/*' s/a/b/ pre-commit",
        "cp -b -S rc x .npm",
        "cp -bSrc x .npm",
        "mv --suffix=rc -b x .npm",
        "ln -fS rc x .npm",
        "gunzip .npmrc.gz",
    ];
    all(&ruled, &[&lines[..], &others].concat(), "asks");
    all(
        &ruled.deny(&["Edit(src/a.rs.bak)"]),
        &["sed -i.bak p src/a.rs", "cp --suffix .bak b src/a.rs"],
        "deny",
    );
    all(&edits, &["sed -i s/a/b/ x.rs", "sed -i.bak s/a/b/ src/x.rs", "sed -i -e s/a/b/ npm"], "allow");
}

#[test]
fn what_a_line_moves_may_be_a_link() {
    let edits = Session::new().mode(Mode::AcceptEdits);
    let lines = [
        "cp -a gl gk && cp x gk/hooks/y",
        "cp -r gl gk && touch gk/hooks/y",
        "cp -R evil lib && cp x lib/g/hooks/y",
        "cp -r evil lib; touch lib/evil/g/y",
        "cp -rv evil in && touch src/evil/g/y",
        "mv gl gk && touch gk/config",
        "mv evil lib; touch lib/g/hooks/y",
        "mv evil lib; cd lib/g && touch y",
        "mv evil lib; echo x > lib/g/hooks/y",
        "mv evil lib; sed -i s/a/b/ lib/g/config",
        "mv evil one; mv one two; touch two/g/y",
        "cp -r evil/. lib; touch lib/g/y",
        "mv evil/g sub/ && touch sub/g/y",
        "cp -P gl sub/gk && touch sub/gk/y",
        "touch lib/g/y & mv evil lib",
        "for i in 1 2; do touch lib/g/y; mv evil lib; done",
        "cp -r ev* lib; touch lib/g/y",
        "mv -t sub evil; touch sub/evil/g/y",
        "mv evil lib; cat lib/key",
        "mv evil lib; wc < lib/key",
        "cp -a evil/key k; cat k",
    ];
    all(&edits, &lines, "asks");
    let ordinary = [
        "mv a.txt b.txt && sed -i s/a/b/ b.txt",
        "mkdir -p docs && mv a.txt docs/",
        "mv a.txt docs/ && touch docs/b.txt",
        "cp -r tmpl app && sed -i s/a/b/ app/x app/tmpl/y",
        "cp -r tmpl app && cat app/x && cd app && ls",
        "cp gl x; touch x/y",
        "touch lib/x && mv lib other",
        "cp x src/y && touch src/z",
        "mv evil lib && touch src/y",
    ];
    all(&edits, &ordinary, "allow");
}

/// Rules see it as well, and so do removals.
#[test]
fn what_is_behind_a_moved_link_is_what_counts() {
    let deny = Session::new().allow(&["Bash"]).deny(&["Read(~/.ssh/**)", "Edit(src/**)"]);
    all(&deny, &["mv evil lib; cat lib/key", "cp -a evil/key k && cat k", "mv a src && touch src/b"], "deny");
    all(&deny, &["mv evil* lib; cat lib/x", "ln -s x y && cat y", "ln -s a b; cp c b/d"], "asks");
    all(&deny, &["mv evil lib; cat other", "cp -r a b && cat b/c", "mv a b && make"], "allow");
    let allow = Session::new().allow(&["Bash(cp *)", "Bash(mv *)"]);
    all(&allow, &["cp -a gl gk && cp x gk/hooks/y", "mv evil lib; cp x lib/g/hooks/y"], "asks");
    all(&allow, &["cp -a tmpl gk && cp x gk/hooks/y"], "allow");
    let bypass = Session::new().mode(Mode::BypassPermissions);
    for session in [Session { sandboxed: true, ..bypass.clone() }, bypass] {
        all(
            &session,
            &["mv evil lib; rm -rf lib/h/*", "cp -a hl k && rm -rf k/", "mv evil lib; rm lib/g/x"],
            "ask a person",
        );
        all(
            &session,
            &["mv evil lib; rm -rf lib", "cp -r a b && rm -rf b/tmp", "mv *.txt docs && rm -rf docs/x"],
            "allow",
        );
    }
}

#[test]
fn many_moves_are_not_told_apart() {
    let edits = Session::new().mode(Mode::AcceptEdits);
    let line = format!("{}touch y", "mv a b;".repeat(40));
    all(&edits, &[&line], "asks");
    let line = format!("mv {} d; touch d/y", "a ".repeat(40));
    all(&edits, &[&line], "asks");
}
