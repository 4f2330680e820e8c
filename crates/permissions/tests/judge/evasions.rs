//! Ways around a rule, each kind with lines of it and with ordinary lines that it must leave alone.

use crate::fixture::{Session, all, open};
use palisade_permissions::Mode;

#[test]
fn a_name_with_wildcards_may_be_any_program_that_it_could_find() {
    let lines = [
        "r? x",
        "/bin/r? x",
        "/bin/r[m] x",
        "/bin/r[[:alpha:]] x",
        "/bin/r[]m] x",
        "/*/r\\m* x",
        "./{r,}* x",
        "/bin/R? x",
        "env /bin/r? x",
        "find . -exec /bin/r? {} \\;",
        "\"$D\"/rm x",
        "timeout 5 $X x",
        "env $X x",
    ];
    all(&open(&["Bash(rm *)"]), &lines, "asks");
    all(&open(&["Bash(rm *)"]), &["/b*/rm x", "/*/rm x"], "deny");
    all(&open(&["Bash(git push *)"]), &["/usr/*/git push"], "deny");
    let push = ["/bin/gi? push", "/usr/*/g* pu*", "git pu*"];
    all(&open(&["Bash(git push *)"]), &push, "asks");
    all(&Session::new().allow(&["Bash"]).ask(&["Bash(git push *)"]), &push, "ask a person");
    all(&open(&["Bash(rm *)"]), &["/bin/l? x", "./b*/run x", "/opt/r?/bin/tool x", "ls *", "./a?x"], "allow");
    // What it removes is asked about as if its name were certain.
    all(
        &Session::new().mode(Mode::BypassPermissions),
        &["/bin/r? -r ~", "/bin/r? -rf /", "/b*/rm ~", "/bin/m? .git x"],
        "ask a person",
    );
    all(&Session::new().mode(Mode::BypassPermissions), &["/bin/r? -rf build", "./r* x", "$X ~"], "allow");
}

#[test]
fn code_in_a_here_document_is_read() {
    let lines = [
        "bash <<EOF\nrm x\nEOF",
        "bash <<'EOF'\nrm x\nEOF",
        "sh -s <<'EOF'\nls\nrm x\nEOF",
        "sh -s -- a <<-EOF\n\trm x\n\tEOF",
        "env bash <<E\nrm x\nE",
        "sudo sh <<E\nrm x\nE",
        "sudo -s <<E\nrm x\nE",
        "bash /dev/stdin <<E\nrm x\nE",
        ". /dev/stdin <<E\nrm x\nE",
        "bash <<E\nrm $X\nE",
        "bash <<E\n\"rm\" x \"$X\"\nE",
        "cat <<< \"rm x\" | sh",
        "bash 2>&1 <<E | tail\nrm x\nE",
        "bash <<E\n$(rm x)\nE",
        "bash <<'E'\nbash <<'F'\nrm x\nF\nE",
        "bash <<< 'rm x'",
        "cat <<E | sh\nrm x\nE",
        "tee f <<E | cat | bash -s\nrm x\nE",
        "echo 'rm x' | sh",
        "echo a | printf 'ls\\nrm x\\n' | sh",
        "parallel <<E\nrm x\nE",
    ];
    for session in [open(&["Bash(rm *)"]), Session::sandboxed().deny(&["Bash(rm *)"])] {
        all(&session, &lines, "deny");
        all(&session, &["bash <<E\n$X\nE", "base64 -d f | sh", "sh < f", "bash <<E 3<f\nls\nE"], "asks");
    }
    all(&open(&["Bash(rm *)"]), &["bash <<'E' 2>&1\nls\nE", "sh <<E\nnpm test\nE"], "allow");
    let removing = ["bash <<Z\nrm -rf ~\nZ", "echo 'rm -rf ~' | sh", "cat <<'Z' | sudo bash\nrm -rf /\nZ"];
    all(&Session::new().mode(Mode::BypassPermissions), &removing, "ask a person");
    all(&Session::sandboxed().mode(Mode::BypassPermissions), &removing, "ask a person");
    // What is no shell is handed text.
    let texts = [
        "cat > f <<'EOF'\nrm x\nEOF",
        "git commit -F - <<EOF\nrm -rf ~\nEOF",
        "python3 - <<'EOF'\nrm x\nEOF",
        "bash run.sh <<E\nrm x\nE",
        "grep x <<E\nrm x\nE",
    ];
    all(&open(&["Bash(rm *)"]).allow(&["Edit(f)"]), &texts, "allow");
    all(&Session::sandboxed().deny(&["Bash(rm *)"]), &texts, "allow");
}

#[test]
fn a_program_that_comes_from_data_may_be_any() {
    let lines = [
        "echo rm x | xargs env",
        "xargs env",
        "xargs nice",
        "xargs timeout 5",
        "xargs -n2 nohup",
        "xargs sudo",
        "xargs bash -c",
        "xargs sh",
        "xargs -I% % x",
        "xargs -I{} env {} x",
        "echo x | xargs -0 env -i",
        "parallel ::: 'rm x'",
    ];
    all(&open(&["Bash(rm *)"]), &lines[..11], "asks");
    all(&open(&["Bash(rm *)"]), &lines[11..], "deny");
    let push = ["echo push | xargs git", "echo push | xargs -I% git %", "xargs git -C x"];
    all(&open(&["Bash(git push *)"]), &push, "asks");
    all(
        &open(&["Bash(git push *)", "Bash(rm *)"]),
        &["find . | xargs wc -l", "ls | xargs git add", "ls | xargs bash run.sh", "ls | xargs -I% cp % d"],
        "allow",
    );
    let removing = ["echo rm -rf / | xargs env", "xargs nice", "echo 'rm -rf ~' | xargs -0 sh -c"];
    all(&Session::new().mode(Mode::BypassPermissions), &removing, "ask a person");
    all(
        &Session::new().mode(Mode::BypassPermissions),
        &["ls | xargs wc -l", "ls | xargs bash run.sh", "ls | xargs env LC_ALL=C sort"],
        "allow",
    );
}

#[test]
fn a_line_that_gives_names_another_meaning_may_meet_any_rule() {
    let lines = [
        "hash -p /bin/rm ls; ls x",
        "echo \"$X\" | sh",
        ". <(echo rm x)",
        "source <(cat f)",
        "source /dev/fd/3",
        "alias l=rm\nl x",
        "alias $X",
    ];
    all(&open(&["Bash(rm *)"]), &lines, "asks");
    all(&Session::new().allow(&["Bash"]).ask(&["Bash(rm *)"]), &lines, "ask a person");
    // Where no rule could be met, what allows the line allows it.
    all(&Session::new().allow(&["Bash"]), &lines[..5], "allow");
    let ordinary = ["source .venv/bin/activate", ". ~/.profile", "alias", "hash -r", "source \"$HOME/x\""];
    all(&open(&["Bash(rm *)"]), &ordinary, "allow");
}

#[test]
fn a_wildcard_is_no_option_and_no_second_operand_of_a_reader_that_can_write() {
    let lines = [
        "uniq *",
        "uniq f?",
        "uniq {a,b}",
        "uniq -- *",
        "xxd f*",
        "base64 f*",
        "file *",
        "file \\-C*",
        "file ?x",
        "man *",
        "man $(cat f)",
        "man \"$(cat f)\"",
        "lsof *",
        "lsof -D b",
        "sort *",
        "sed -n p *",
        "find *",
        "git diff *",
        "rg x *",
        "fd x *",
        "tree *",
        "jq . *",
        "yq . *",
        "column *",
        "hexdump *",
        "diff *",
        "date *",
        "hostname *",
        "ip *",
        "ss *",
        "less *",
        "pgrep *",
        "printf *",
        "printf $(cat f)",
        "tput *",
    ];
    all(&Session::new(), &lines, "asks");
    let ordinary = [
        "ls *.ts",
        "cat *",
        "wc -l src/*.py",
        "head -n 3 *.md",
        "grep -n x *",
        "file ./*",
        "file src/*",
        "file f*",
        "file -- *",
        "sort src/*",
        "rg x src/*",
        "diff ./* ",
        "echo *",
        "stat *",
        "printf '%s\\n' *",
        "printf '%s' \"$(git rev-parse HEAD)\"",
        "[ -f *.c ]",
        "uniq f",
        "id *",
    ];
    all(&Session::new(), &ordinary, "allow");
}

#[test]
fn what_a_program_is_told_to_run_is_looked_at() {
    let denied = [
        "git bisect run rm x",
        "git bisect run sh -c 'rm x'",
        "git submodule foreach 'rm x'",
        "git submodule foreach --recursive rm x",
        "git rebase -x 'rm x' main",
        "git rebase --exec='rm x' main",
        "git rebase -i --exec 'make && rm x' main",
        "git filter-branch --tree-filter 'rm x' HEAD",
        "git filter-branch -f --index-filter 'rm x' HEAD",
        "git -c alias.x='!rm x' x",
        "git -C d -c alias.x='!rm x' x",
        "git -c core.pager='rm x' log",
        "git -c core.sshCommand='rm x' fetch",
        "git -c core.fsmonitor='rm x' status",
        "git -c diff.external='rm x' diff",
        "git -c sequence.editor='rm x' rebase -i",
        "git -c diff.a.textconv='rm x' diff",
        "git -c credential.helper='!rm x' fetch",
        "git clone -c core.sshCommand='rm x' u",
        "git clone --upload-pack='rm x' u",
        "git fetch 'ext::rm x'",
        "git grep -O'rm x' y",
        "git grep -nO'rm x' y",
        "git grep --open='rm x' y",
        "git grep --open-f='rm x' y",
        "git ls-remote --upl='rm x' .",
        "git fetch --upl='rm x' .",
        "git fetch --upload-p 'rm x' .",
        "git push --exe='rm x' .",
        "git push --rece='rm x' .",
        "git clone -u 'rm x' . z",
        "git clone -qu 'rm x' . z",
        "git clone -qu'rm x' . z",
        "git clone --conf=core.sshCommand='rm x' u",
        "git clone -qc core.sshCommand='rm x' u",
        "git clone -ccore.sshCommand='rm x' u",
        "git rebase --ex 'rm x'",
        "git difftool --ext='rm x'",
        "git send-email --to-cmd='rm x' -1",
        "git send-email --cc-c 'rm x' -1",
        "git difftool -x 'rm x'",
        "GIT_EDITOR='rm x' git commit",
        "GIT_PAGER='rm x' git log",
        "GIT_SSH_COMMAND='rm x' git fetch",
        "PAGER='rm x'; git log",
        "env GIT_EXTERNAL_DIFF='rm x' git diff",
        "export VISUAL='rm x'; crontab -e",
        "tmux new -d 'rm x'",
        "tmux new-session -d -s a rm x",
        "tmux split-window -h 'rm x'",
        "tmux ls \\; run-shell 'rm x'",
        "tmux send-keys -t a 'rm x' Enter",
        "screen -dm rm x",
        "screen -dmS a rm x",
        "screen -S a -X stuff 'rm x'",
        "awk 'BEGIN { system(\"rm x\") }'",
        "awk '{ print | \"rm x\" }' f",
        "sed '1e rm x' f",
        "sed -n -e '/a/e rm x' f",
        "tar xf a --to-command='rm x'",
        "tar cf a d --checkpoint=1 --checkpoint-action=exec='rm x'",
        "tar -I 'rm x' -xf a",
        "tar cf z --use='rm x' f",
        "tar cf z --checkpoint=1 --checkpoint-ac=exec='rm x' f",
        "tar xf z --to-c='rm x'",
        "tar cIf 'rm x' z f",
        "tar cfI z 'rm x' f",
        "man -H'rm x' ls",
        "man --html='rm x' ls",
        "zip z f -T --unz 'rm x'",
        "nodemon -x 'rm x'",
        "sort --comp='rm x' f",
        "split --fil='rm x' f",
        "install --strip-p='rm x' a b",
        "rsync -e 'rm x' a b:c",
        "rsync -ave 'rm x' a b:c",
        "ssh -o ProxyCommand='rm x' h",
        "ssh -oproxycommand='rm x' h",
        "ssh -4qoProxyCommand='rm x' h",
        "ssh -vo ProxyCommand='rm x' h",
        "scp -S rm a h:",
        "scp -qS rm a h:",
        "scp -D 'rm x' a h:",
        "sftp -D 'rm x'",
        "make SHELL='rm x'",
        "man -P 'rm x' ls",
        "vim -c '!rm x' f",
        "vim -ec '!rm x' f",
        "ex -sc'!rm x' f",
        "vim --cmd='!rm x' f",
        "crontab - <<E\n@daily ls; rm x\nE",
        "at now <<E\nrm x\nE",
    ];
    for session in [open(&["Bash(rm *)"]), Session::sandboxed().deny(&["Bash(rm *)"])] {
        all(&session, &denied, "deny");
        all(
            &session,
            &[
                "git --exec-path=./x log",
                "git --config-env=core.pager=X log",
                "awk 'BEGIN { system($1) }'",
                "sed 's/a/b/e' f",
                "make --eval='$(shell ls)'",
                "at now < f",
                "cat f | crontab -",
                "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!rm x' git x",
                "env GIT_EXEC_PATH=x git log",
                "tar xf a \"--to-command=$X\"",
                "git submodule foreach \"$X\"",
                "git -c alias.x=\"$X\" x",
                "GIT_PAGER=$X git log",
            ],
            "asks",
        );
    }
    all(
        &open(&["Bash(git push *)"]),
        &["git -c alias.x=push x", "git -c alias.x='push --force' x y"],
        "deny",
    );
    all(
        &Session::sandboxed().mode(Mode::BypassPermissions),
        &[
            "git submodule foreach 'rm -rf ~'",
            "tar xf a --to-command='rm -rf /'",
            "git clone -u 'rm -rf ~' . z",
            "tar cf z --use='rm -rf ~' f",
            "tmux new 'rm -rf ~'",
        ],
        "ask a person",
    );
    let ordinary = [
        "git bisect start",
        "env GIT_CONFIG_GLOBAL=/dev/null git status",
        "git submodule update --init",
        "git rebase main",
        "git -c core.pager=cat log",
        "git -c user.name=x commit -m y",
        "git -c core.fsmonitor=false status",
        "git clone u",
        "git push origin main",
        "tmux ls",
        "tmux new -s main",
        "screen -ls",
        "awk '{ print $1 }' f",
        "awk -F'|' '$1 == \"a\" || $2 { print }' f",
        "sed -i 's/a/b/g' f",
        "sed \"s/a/$B/\" f",
        "sed -n '/name/,/end/p' f",
        "sed -e 's/type/e/' -e 1d f",
        "tar xzf a.tgz",
        "tar cf a --checkpoint=rm d",
        "tar cfI rm zstd d",
        "install --strip rm b",
        "svn log --diff rm",
        "git clone --recurse-submodules rm",
        "git clone -b rm u",
        "git push -u rm main",
        "ssh -p 22 -i rm h",
        "tar -I zstd -xf a",
        "rsync -av -e 'ssh -p 22' a b:c",
        "ssh h ls",
        "make -j4 all",
        "make CC=clang",
        "vim f",
        "crontab -l",
    ];
    all(&open(&["Bash(rm *)"]), &ordinary, "allow");
    // A variable asks there whatever it is.
    let inside = |line: &&str| !line.starts_with("make CC") && !line.starts_with("env");
    let quiet: Vec<&str> = ordinary.into_iter().filter(inside).collect();
    all(&Session::sandboxed().deny(&["Bash(rm *)"]), &quiet, "allow");
}

#[test]
fn a_search_of_a_directory_may_find_what_must_not_be_read() {
    let session = Session::new().deny(&["Read(.env)", "Read(secret/**)", "Read(~/.ssh/**)"]).allow(&["Bash"]);
    all(
        &session,
        &[
            "git blame .env",
            "git log -p -- .env",
            "git log -p .env",
            "git show HEAD:.env",
            "git show HEAD:secret/x",
            "git -C . diff -- secret/a",
            "git cat-file -p HEAD:.env",
            "git grep x -- .env",
            "git grep -nf.env x",
            "git grep -f .env x",
            "git config -f .env -l",
            "git config -lf.env",
            "git config --file=.env -l",
            "git interpret-trailers .env",
            "git show ':(top).env'",
            "git diff HEAD -- ':(literal).env'",
            "git diff HEAD -- :/.env",
            "cd sub && git show HEAD:secret/x",
            "git -C secret show HEAD:./x",
            "grep -r KEY secret",
            "diff -r secret a",
            "rg x secret/",
            "grep -r x ~/.ssh",
        ],
        "deny",
    );
    let searching = [
        "grep -r KEY .",
        "grep -r KEY",
        "grep -rn KEY src",
        "grep --recursive KEY src",
        "egrep -R KEY src",
        "grep -Er KEY .",
        "grep -Tr KEY .",
        "grep -d recurse KEY .",
        "grep -drecurse KEY .",
        "grep -nd recurse KEY .",
        "grep -nd rec KEY .",
        "grep --dir=recurse KEY .",
        "grep --directories recurse KEY .",
        "grep --recurs KEY .",
        "grep -d \"$D\" KEY .",
        "rg -g '.e*' KEY",
        "rg --glob='*v' KEY",
        "rg --type-add 'e:.env' -te KEY",
        "git grep KEY",
        "git grep --untracked KEY",
        "git grep KEY main",
        "git grep KEY -- . ':!x'",
        "git diff HEAD -- '*v'",
        "git log -p -- ':(glob).e*'",
        "git log -p -- ':(icase).ENV'",
        "git show HEAD -- '*'",
        "rg KEY -uu",
        "rg --hidden KEY",
        "rg KEY",
        "ag KEY",
        "ack KEY",
        "diff -r . sub",
        "grep -r KEY ~",
        "grep -r KEY /",
        "timeout 5 grep -r KEY src",
    ];
    all(&session, &searching, "ask a person");
    // Inside the sandbox the files are held anyway.
    all(&Session { sandboxed: true, ..session.clone() }, &searching, "allow");
    // Without `--hidden` it passes over names that start with a dot.
    let hidden = Session::new().deny(&["Read(.env)"]);
    all(
        &hidden,
        &["rg KEY", "rg KEY src", "grep KEY src/x", "git log -p", "git diff main", "git show HEAD"],
        "allow",
    );
    // A pattern is met by what it can find, and what is left out is not shown.
    let patterns = [
        "rg KEY -g '*.rs'",
        "rg KEY -g '*.{ts,tsx}'",
        "rg KEY -g '!.env'",
        "rg -E utf-8 KEY",
        "rg --type rust KEY",
        "git log -p -- '*.rs'",
        "git diff -- . ':!.env'",
        "git diff main -- ':(exclude).env' src",
        "git grep KEY -- '*.rs'",
        "git diff --stat",
        "git log --oneline -5 -- src",
        "git config user.name",
        "grep -d skip KEY x",
        "grep -d read KEY x",
        "grep -e recursive x",
    ];
    all(&hidden, &patterns, "allow");
    all(
        &Session::new().deny(&["Read(~/.ssh/**)"]),
        &["grep -r KEY .", "grep -rn KEY src", "diff -r a b"],
        "allow",
    );
    all(&Session::new(), &searching[..8], "allow");
}

/// Names that start with a dot are found by a wildcard, and case does not count, once the line says so.
#[test]
fn a_wildcard_finds_what_the_line_has_it_find() {
    let session = open(&["Read(.env)", "Read(conf/.Key)"]).mode(Mode::BypassPermissions);
    let finding = [
        "shopt -s dotglob; cat ?env",
        "shopt -s dotglob; cat *",
        "shopt -s dotglob\ncat < ?env",
        "shopt -s dotglob; cat [.]env",
        "shopt -s dotglob; cat co*/?Key",
        "shopt -s dotglob; cp ?env x",
        "shopt -s nocaseglob; cat .EN*",
        "shopt -s nocaseglob dotglob; cat ?NV",
        "shopt -s nocaseglob; cat co*/.k??",
        "GLOBIGNORE=x; cat ?env",
        "export GLOBIGNORE=x; cat *",
        "bash -O dotglob -c 'cat ?env'",
        "BASHOPTS=dotglob bash -c 'cat ?env'",
        "shopt -s $O; cat ?env",
        "shopt -s dotglob; cat */*/*/*/*/*/*/*/x",
    ];
    all(&session, &finding, "asks");
    all(&session, &["cat ?env", "cat *", "shopt -s nullglob; cat ?env", "cat *.rs"], "allow");
    all(&session, &["shopt -s dotglob; cat *.rs", "shopt -s nocaseglob; cat *.RS"], "allow");
    let editing = Session::new().mode(Mode::AcceptEdits).allow(&["Bash(shopt *)"]);
    all(&editing, &["shopt -s dotglob; touch ?npmrc", "shopt -s dotglob; touch *laude/x"], "asks");
    // Where case does not tell files apart, a directory is found by any.
    let folding = Session { folds_case: true, ..open(&["Read(secret/**)", "Read(keys/.a)"]) };
    all(&folding, &["cat SECRET/*", "grep -r KEY KEYS"], "asks");
}

#[test]
fn ordinary_lines_ask_nothing() {
    let inside = [
        "rm -rf node_modules",
        "rm -rf ./build",
        "rm -f *.o",
        "cargo test 2>&1 | tail",
        "npm ci",
        "git add -A && git commit -m \"x\"",
        "find . -name '*.rs' | xargs wc -l",
        "git log -5 --format=%s -- src",
        "tar czf /tmp/a.tgz src",
        "sed -i 's/a/b/' src/*.rs",
        "python3 - <<'EOF'\nprint(1)\nEOF",
        "cat > f <<'EOF'\nx\nEOF",
    ];
    all(&Session::sandboxed(), &inside, "allow");
    all(&Session::sandboxed().deny(&["Bash(git push *)", "Read(.env)", "Bash(sudo *)"]), &inside, "allow");
    let reading = [
        "git status",
        "git diff",
        "git log --oneline -5",
        "ls *.ts",
        "ls -la",
        "cat src/main.rs | head",
        "grep -rn foo src",
        "rg foo",
        "find . -name x",
        "wc -l src/*.py",
        "head -50 README.md",
        "git show HEAD",
        "git branch",
        "pwd",
        "which node",
        "echo hi",
    ];
    for mode in [Mode::Default, Mode::Plan, Mode::DontAsk] {
        all(&Session::new().mode(mode), &reading, "allow");
        all(&Session::new().mode(mode).deny(&["Bash(rm *)", "Bash(git push *)"]), &reading, "allow");
    }
}
