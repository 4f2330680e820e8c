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
        &[
            "sed -i.bak p src/a.rs",
            "cp --suffix .bak b src/a.rs",
            "sed -i.x -i.bak p src/a.rs",
            "sed -i.bak p src/a.rs -- -i.x",
        ],
        "deny",
    );
    let many: String = (0..20).map(|at| format!("-i.{at} ")).collect();
    all(
        &edits,
        &[&format!("sed {many} -ijson s/a/b/ .mcp."), &format!("sed -ijson s/a/b/ .mcp. {many}")],
        "asks",
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
            &["mv evil lib; rm -rf lib", "cp -r a b && rm -rf b/tmp", "mv *.txt docs/ && rm -rf docs/x/y"],
            "allow",
        );
    }
}

/// A link that the line makes is one like any other, however it is made and through however many hands it goes.
#[test]
fn removals_see_the_links_that_a_line_brings() {
    let critical = [
        "ln -s ~ h; rm -rf h/*",
        "ln -s ~ h && cd h && rm -rf *",
        "ln -s . x; rm -rf x/*",
        "ln -s .. x; rm -rf x/proj",
        "cd sub; ln -s ../.. x; rm -rf x/proj",
        "ln -s ../../.git sub/x; rm -rf sub/x/../.git/HEAD",
        "ln -s / h; rm -rf h/etc",
        "ln -s / h; ln -s h/home k; rm -rf k/u",
        "ln -s .git x; rm -rf x/HEAD",
        "ln -s .git x; mv x/HEAD y",
        "ln -s .git x; find x/ -delete",
        "ln -s .git x; rmdir x/refs",
        "ln -s .git x; rsync -a --delete e/ x/",
        "ln -s .git x; rsync -a --delete e/ x",
        "ln -s ../.git sub; rm -rf sub/.git/HEAD",
        "ln -st sub ../.git; rm -rf sub/.git/HEAD",
        "ln -s -- .git x; rm -rf x/HEAD",
        "ln --symbolic .git x; rm -rf x/HEAD",
        "ln -rs .git sub/x; rm -rf sub/x/HEAD",
        "ln -sfn .git x; rm -rf x/HEAD",
        "gln -s .git x; grm -rf x/HEAD",
        "busybox ln -s .git x; rm -rf x/HEAD",
        "cd sub && ln -s ~ && cd .. && rm -rf sub/u/*",
        "ln -s $X h; rm -rf h/x",
        "ln -s ~ $X; rm -rf h/*",
        "ln -s .git $X; rm -rf sub/h/HEAD",
        "ln -s .git h*; rm -rf h1/HEAD",
        "cp -a $X $Y; rm -rf build/HEAD",
        "mv gl $X; rm -rf sub/x/HEAD",
        "ln -s {~,h}; rm -rf h/*",
        "ln -s ~ {a,h}; rm -rf h/u/*",
        "ln -s ~ 'a b'; rm -rf 'a b'/*",
        "ln -s ~ h; pushd h; rm -rf *",
        "ln -s ~ h; (cd h; rm -rf ./*)",
        "ln -s ~ h; mv h/* x",
        "ln -s \"$PWD/.git\" h; rm -rf h/x",
        "ln -s .gi? h; rm -rf h/x",
        "ln gl z; rm z/HEAD",
        "link gl z; rm z/HEAD",
        "mv gl a && mv a b && rm -rf b/HEAD",
        "mv gl a; cp -a a b; rm -rf b/HEAD",
        "mv gl a; ln -s a b; rm -rf b/HEAD",
        "ln -s a b; mv gl a; rm -rf b/HEAD",
        "cp -a g* z; rm -rf z/HEAD",
        "mv g[l] z; rm z/HEAD",
        "mv g[l] sub/; rm sub/gl/HEAD",
        "cp -at sub gl; rm -rf sub/gl/HEAD",
        "cp -a --target-directory=sub gl; rm -rf sub/gl/HEAD",
        "cp -a --target sub gl; rm -rf sub/gl/HEAD",
        "mv -tsub gl; rm -rf sub/gl/HEAD",
        "mv gl x sub; rm -rf sub/gl/HEAD",
        "mv $X gl sub; rm -rf sub/HEAD",
        "mv -T gl sub/; rm -rf sub/HEAD",
        "mv gl sub/gl/HEAD sub",
        "cp --parents -a evil/g sub; rm -rf sub/evil/g/HEAD",
        "cp -sr $PWD/.git z; rm -rf z/HEAD",
        "cp -s gl z; rm z/HEAD",
        "cp -l gl z; rm z/HEAD",
        "git mv gl z; rm z/HEAD",
        "git mv -f gl z && rm -rf z/HEAD",
        "sudo mount --bind .git z; rm -rf z/HEAD",
        "mount --bind ~ z/; rm -rf z/*",
        "for i in 1 2; do rm -rf h/*; ln -s ~ h; done",
        "find . -exec sh -c 'rm -rf h/*; ln -s ~ h' \\;",
        "rm -rf h/* & ln -s ~ h",
        "f() { ln -s ~ h; }; f; rm -rf h/*",
        "sh -c 'ln -s ~ h'; rm -rf h/*",
    ];
    let quiet = [
        "ln -s ../lib x && make",
        "ln -s ../lib x; rm -rf x build",
        "ln -sfn releases/2 current && rm -rf current/tmp releases/1",
        "ln -s $X y && rm -rf y build/x",
        "rm -rf dist/x && ln -s $X dist",
        "rm -rf h/x; ln -s ~ h",
        "cp -a src dst && rm -rf dst/tmp",
        "cp -r tmpl build && mv build out && rm -rf out/tmp out",
        "mv a b c docs && rm -rf docs/x",
        "cp -a $X b c docs && rm -rf docs/x",
        "mv *.txt docs/ && rm -rf docs/x",
        "cp -r src/. dst && rm -rf dst/*.o",
        "cp -r $X dst && rm -rf build/tmp",
        "cp ./$X dst && rm -rf dst/tmp",
        "rsync -a src/ dst/ && rm -rf dst/cache",
        "mv gl x && rm x",
        "cp -a evil lib; rm -rf lib/g lib/evil",
        "git mv a b && rm -rf b/x",
        "mv build/x . && rm -rf build/y",
        "mount | grep x; rm -rf build/x",
        "cp a b;".repeat(100).leak(),
        "cp -r $X $Y; rm -rf build",
        "cp -r dist/. $X; rm -rf dist/tmp build/x",
        "mv a.txt $X; rm -rf build/x",
        "ln -s ../lib $X; rm -rf build/x",
        format!("{}rm -rf build", "mv a b;".repeat(80)).leak(),
    ];
    let bypass = Session::new().mode(Mode::BypassPermissions);
    for session in [Session { sandboxed: true, ..bypass.clone() }, bypass, Session::sandboxed()] {
        all(&session, &critical, "ask a person");
        all(&session, &quiet, "allow");
    }
    let ruled = Session::new().allow(&["Bash(rm *)", "Bash(ln *)"]);
    all(
        &ruled,
        &["ln -s .. h; rm -rf h/q", "ln -s /srv h; rm -rf h/x", "ln -s ~ h; rm -rf h/x"],
        "ask a person",
    );
    all(&ruled, &["ln -s src h; rm -rf h/q", "ln -s ../x h; rm -rf h"], "allow");
}

#[test]
fn many_moves_are_not_told_apart() {
    let edits = Session::new().mode(Mode::AcceptEdits);
    let line = format!("{}touch y", "mv a b;".repeat(80));
    all(&edits, &[&line], "asks");
    let line = format!("mv {} d; touch d/y", "a ".repeat(80));
    all(&edits, &[&line], "asks");
}
