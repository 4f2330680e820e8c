//! Lines of which it is known whether they only read, and what.

use super::*;
use crate::shell::{self, Reading, Shell};

/// What the one command of a line reads.
fn reads_of(line: &str) -> Option<Reads> {
    let Reading::Read(line) = shell::read(line, Shell::Bash) else { panic!("{line:?} is not read") };
    let words = &line.commands[0].words;
    let name = words[0].value.as_deref()?.rsplit('/').next()?.to_owned();
    reads(words, &name)
}

#[track_caller]
fn check(lines: &[&str], expected: bool) {
    let wrong: Vec<&&str> = lines.iter().filter(|line| reads_of(line).is_some() != expected).collect();
    assert!(wrong.is_empty(), "these should {}read only: {wrong:#?}", if expected { "" } else { "not " });
}

#[test]
fn programs() {
    check(
        &[
            "ls -la",
            "ls *.ts",
            "cat a b",
            "head -n 5 f",
            "tail -f f",
            "wc -l src/*.py",
            "pwd",
            "echo a 'b c'",
            "which sh",
            "stat f",
            "du -sh .",
            "grep -rn 'x y' src",
            "grep -e -f src",
            "rg -n x",
            "rg -g'*.zip' x",
            "rg -e -z",
            "rg -- -z",
            "rg -ne-z",
            "rg --regexp -z",
            "sort -k2 f",
            "sort -t/ f",
            "uniq f",
            "cut -d: -f1 f",
            "tr a b",
            "base64 f",
            "xxd f",
            "diff a b",
            "date +%s",
            "date -u",
            "seq 3",
            "expr 1 + 2",
            "test -f x",
            "[ -f x ]",
            "printf '%s' x",
            "id",
            "nl -nrz f",
            "tac f",
            "rev f",
            "/usr/bin/ls",
            "jq .name f",
            "tree -L 2",
            "file x",
            "hostname",
            "man ls",
            "docker ps -a",
            "docker logs x",
            "python -V",
            "cargo --version",
            "rustc -vV",
            "xxd -l 16 f",
            "true",
            "sha256sum f",
        ],
        true,
    );
    check(
        &[
            "rm x",
            "sort -o out in",
            "sort -uout in",
            "sort --outp=x f",
            "sort --compress-program sh -S 1b f",
            "sort --compress-prog=sh f",
            "sort --files0-from=x",
            "sort ??out=victim f",
            "sort *",
            "uniq in out",
            "xxd -r h out",
            "xxd a b",
            "base64 -o out",
            "base64 --output out",
            "base64 -ob64.txt",
            "rg --pre ./x p",
            "rg --pre=x p",
            "rg --hostname-bin ./x p",
            "rg -nz p",
            "rg -z p",
            "ag --pager ./x p",
            "man -P ./x ls",
            "man -Psh ls",
            "man -H./x ls",
            "date -s 2020",
            "date 0101",
            "hostname evil",
            "printf -v PATH x",
            "test -v 'a'",
            "tree -o x",
            "file -m x y",
            "file -C",
            "grep -f /etc/passwd x",
            "grep --file=x y",
            "./ls",
            "/tmp/ls",
            "bin/grep x",
            "node --version script.js",
            "unknown --version",
            "cargo -v",
            "cargo check",
            "docker -H x ps",
            "docker run x",
            "docker ps --context=x",
            "fd x -x rm",
            "awk '{print}' f",
            "xargs ls",
            "tee x",
            "split f",
            "shuf -o x",
            "iconv -o x f",
            "wc --files0=x",
            "ss -K",
            "env",
            "echo $HOME",
            "echo \"hi $USER\"",
            "cat $F",
        ],
        false,
    );
}

#[test]
fn git() {
    check(
        &[
            "git status",
            "git status --short --branch",
            "git --no-optional-locks status",
            "git log -p -1",
            "git log --oneline main",
            "git diff HEAD~1",
            "git diff --output-indicator-new=X",
            "git show HEAD:f",
            "git branch",
            "git branch --show-current",
            "git -C . branch --show-current",
            "git branch -a --list 'x*'",
            "git tag -l",
            "git remote -v",
            "git stash list",
            "git rev-parse HEAD",
            "git blame f",
            "git grep -n x src/",
            "git config --get user.name",
            "git config -l",
            "git ls-files",
            "git reflog",
            "git worktree list",
            "git --no-pager log",
            "git --version",
        ],
        true,
    );
    check(
        &[
            "git",
            "git fetch",
            "git push",
            "git add .",
            "git reset --hard",
            "git branch -D x",
            "git branch new",
            "git -C . branch -d x",
            "git branch -m a b",
            "git tag xyz",
            "git tag -d x",
            "git config a.b c",
            "git config --global a.b c",
            "git stash",
            "git stash drop",
            "git remote add x y",
            "git reflog expire",
            "git -p status",
            "git --paginate show",
            "git -c core.pager=./x log",
            "git --exec-path=./x log",
            "git --git-dir=./evil status",
            "git --work-tree=. status",
            "git -C /other status",
            "git --config-env=core.pager=X log",
            "git log --output=/tmp/x",
            "git show --outpu=/tmp/x",
            "git diff --output /tmp/x",
            "git diff --ext-diff",
            "git log --textconv",
            "git log --paginate",
            "git log --exec=x",
            "git grep -O./x p",
            "git grep --open=./x p",
            "git fetch --upload-pa=./x .",
            "git blame --cont=/etc/passwd f",
            "git diff --no-index a b",
            "git commit -m x",
            "git bisect run x",
            "git worktree add x",
            "git help log",
            "git log $X",
        ],
        false,
    );
}

#[test]
fn find() {
    check(
        &[
            "find . -name x",
            "find . -name '*.log' -type f",
            "find a b -maxdepth 2 -print0",
            "find . \\( -name a -o -name b \\) -prune",
            "find",
            "find . -name x -exec grep -l y {} +",
            "find . -exec cat {} \\;",
            "find -P . -newer x",
        ],
        true,
    );
    check(
        &[
            "find . -delete",
            "find . -fprint out",
            "find . -fprintf /tmp/x %p",
            "find . -fls x",
            "find . -name *.log",
            "find . -ok rm {} \\;",
            "find . -okdir rm {} \\;",
            "find . -files0-from x",
            "find . -unknown",
            "find . -exec rm {}",
            "find $D",
            "find -L . -exec cat {} \\;",
            "find . -follow",
        ],
        false,
    );
}

#[test]
fn sed() {
    check(
        &[
            "sed -n 1,5p f",
            "sed -n '1,5p' f",
            "sed 's/a/b/g' f",
            "sed -E 's|a|b|; s/[0-9]+//' f",
            "sed -n 1p -",
            "sed '/x/d' f",
            "sed '$d' f",
            "sed -e '1a\\' -e 'e rm -rf x' f",
            "sed 's/text/e/g' f",
            "sed '1!G;h;$!d' f",
            "sed -n '/a/,/b/{p;q}' f",
            "sed 'y/abc/xyz/' f",
            "sed '2i w x' f",
            "sed '# w x' f",
            "sed ':a;N;$!ba;s/x/y/' f",
        ],
        true,
    );
    check(
        &[
            "sed -i s/a/b/ f",
            "sed -i.bak s/a/b/ f",
            "sed --in-place s/a/b/ f",
            "sed -n '1e id' f",
            "sed 's/x/id/e' f",
            "sed 's/x/y/w out' f",
            "sed 'w /tmp/x' f",
            "sed -f s.sed f",
            "sed --expression=1e\\ id f",
            "sed -n 1p '-ew output.txt'",
            "sed -n xp f",
            "sed 'r /etc/passwd' f",
            "sed '1W x' f",
            "sed 's/[/]/w x/' f",
            "sed -ne '1e id' f",
            "sed",
            "sed '{p;w x' f",
            "sed 's/a/b/gw x' f",
            "sed '1a x\nw y' f",
            "sed 's\nx\ny\ne' f",
        ],
        false,
    );
}

#[test]
fn what_is_read() {
    let files = |line: &str| reads_of(line).map(|reads| (reads.files, reads.here, reads.git)).expect(line);
    assert_eq!(files("cat a /b"), (vec![1, 2], false, false));
    assert_eq!(files("ls"), (vec![], true, false));
    assert_eq!(files("ls -a /x"), (vec![2], false, false));
    assert_eq!(files("grep -n x a b"), (vec![3, 4], false, false));
    assert_eq!(files("grep -e x a"), (vec![3], false, false));
    assert_eq!(files("grep -r x"), (vec![], true, false));
    assert_eq!(files("echo /etc/passwd"), (vec![], false, false));
    assert_eq!(files("git diff HEAD -- x"), (vec![2, 4], true, true));
    assert_eq!(files("find a b -newer c"), (vec![1, 2, 4], false, false));
    assert_eq!(files("sed -n 1p a"), (vec![3], false, false));
    assert_eq!(files("head -n 5 f"), (vec![3], false, false));
}
