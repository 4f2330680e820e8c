//! What looks harmless and is not: variables, texts, copies, connections and options that hide what they do, each kind
//! with lines of it and with ordinary lines that it must leave alone.

use crate::fixture::{Session, all, open};
use palisade_permissions::Mode;

#[test]
fn arithmetic_does_not_choose_what_runs() {
    let session = Session::new().allow(&["Bash(npm test *)", "Bash(: *)"]);
    let lines = [
        "((PATH=1)); npm test",
        "npm test $((PATH=1)); npm test",
        ": $((PATH=1)) && npm test",
        "case $((PATH=1)) in 1) npm test;; esac",
        "for ((PATH=1; 1; 1)); do npm test; done",
    ];
    all(&session, &lines, "ask");
    all(&Session::sandboxed(), &lines, "ask");
    all(&session, &["((n=1)); npm test", "for ((i=0; i<3; i++)); do npm test; done"], "allow");
}

#[test]
fn the_text_of_env_is_parted_as_env_parts_it() {
    let lines = [
        r"env -S 'rm\_x'",
        r"env -S 'A=1 rm\_-r x\c y'",
        r#"env -S '"rm" x'"#,
        r"env -S '-i -u A rm x'",
        r"env -iS 'r'\''m'\'' x' y",
        r"env -S '-S\_rm x'",
        r"env -S '${A} rm x'",
        r"env -S 'rm \q x'",
    ];
    all(&open(&["Bash(rm *)"]), &lines, "deny");
    all(&open(&["Bash(rm *)"]), &["env -S '${SHELL} -c ls'", "env -S '${A}' x"], "asks");
    all(
        &open(&["Bash(rm *)"]),
        &[r"env -S 'echo rm\_x'", "env -S 'ls #rm x'", "env -S 'ls a\\c rm'"],
        "allow",
    );
    let removing = [r"env -S 'rm\_-rf\_/'", r"env -S 'rm -rf ${HOME}'", r"env -S 'A=1 rm -rf .git'"];
    all(&Session::new().mode(Mode::BypassPermissions), &removing, "ask a person");
}

#[test]
fn runners_of_all_kinds_are_looked_behind() {
    let lines = [
        "capsh --drop=all -- -c 'rm x'",
        "proot -r / -w / rm x",
        "fakechroot -- rm x",
        "cpulimit -l 5 -- rm x",
        "chpst -u nobody rm x",
        "setuidgid nobody rm x",
        "envdir ./env rm x",
        "perf stat -e cycles -- rm x",
        "rr record rm x",
        "ls | ifne rm x",
        "rlwrap -a rm x",
        "dtach -n s rm x",
        "qemu-x86_64 -L / /bin/rm x",
        "sandbox-exec -p '(version 1)' rm x",
        "sem -j2 rm x",
        "cross-env A=1 B=2 rm x",
        "cross-env-shell A=1 'ls && rm x'",
        "npx -y -p a -c 'ls && rm x'",
        "npm exec --call='rm x'",
        "palisade run rm x",
        "palisade run --root . -- rm x",
        "palisade run --allow-host a.example -c 'ls; rm x'",
        "palisade run --json=2 -c 'palisade run -c \"rm x\"'",
    ];
    all(&open(&["Bash(rm *)"]), &lines, "deny");
    let others = ["npx eslint -c rm", "qemu-img rm x", "npm run rm", "palisade check 'rm x'", "perf report"];
    all(&open(&["Bash(rm *)"]), &others, "allow");
    all(&Session::sandboxed(), &["perf stat -- make", "npx -c 'ls'", "sem make"], "allow");
    let removing = ["palisade run -c 'rm -rf ~'", "rr record rm -rf /", "capsh -- -c 'rm -rf .git'"];
    all(&Session::new().mode(Mode::BypassPermissions), &removing, "ask a person");
}

#[test]
fn a_connection_is_asked_about_in_both_directions() {
    let session = Session::new().allow(&["Bash(npm test *)"]);
    let lines = [
        "npm test < /dev/tcp/192.0.2.1/80",
        "npm test > /dev/tcp/192.0.2.1/80",
        "npm test <> /dev/udp/192.0.2.1/53",
        "while true; do npm test; done < /dev/tcp/192.0.2.1/80",
    ];
    all(&session, &lines, "ask");
    all(&session, &["npm test < in", "npm test < /dev/null"], "allow");
}

#[test]
fn a_copy_may_write_whatever_lies_in_what_it_copies() {
    let editing = Session::new().mode(Mode::AcceptEdits);
    let lines = [
        "cp -r evil/. .",
        "cp -r evil/./ .",
        "cp -r sub/.. other",
        "cp -a evil/.. ./",
        "cp evil/* .",
        "mv evil/* .",
        "cp evil/*.yml .",
        "cp --parents a/.git/config d",
        "rm *.toml",
    ];
    all(&editing, &lines, "ask");
    let others =
        ["cp evil/*.ts .", "cp src/* dst", "cp -r src dst", "cp a b c", "rm *.o", "mv src/*.js lib/"];
    all(&editing, &others, "allow");
    let session = open(&["Edit(./dst/locked)", "Edit(./dst/a/locked)"]);
    let into =
        ["cp -r x/. dst", "cp x/* dst", "mv x/l* dst", "rsync -a x/ dst", "rsync -a x/ dst/", "cp -r . dst"];
    all(&session, &into, "asks");
    all(&session, &["cp --parents a/locked dst", "rsync -R a/locked dst", "cp x/locked dst"], "deny");
    all(
        &session,
        &["cp -r x/. other", "cp x/*.ts dst", "cp x/free dst", "rsync -a x dst", "cp x/* ."],
        "allow",
    );
}

#[test]
fn options_do_not_hide_a_file_that_is_read() {
    let outside = [
        "od -w /etc/hosts",
        "pr -n /etc/hosts",
        "pr -e /etc/hosts",
        "stat -t /etc/hosts",
        "stat -f /etc/hosts",
        "strings -o /etc/hosts",
        "column -t /etc/hosts",
        "base64 -i /etc/hosts",
        "grep -nefoo /etc/hosts",
        "grep -ne foo /etc/hosts",
        "grep --reg=foo /etc/hosts",
        "grep --regexp foo /etc/hosts",
        "rg -nefoo /etc/hosts",
        "rg --files /etc",
        "rg --files -g x /etc",
        "jq --arg a b . /etc/hosts",
        "git symbolic-ref HEAD refs/heads/x",
        "git symbolic-ref -d HEAD",
        "git remote -v update",
        "git remote --verbose rm origin",
        "git remote -v add a b",
        "git reflog expire --all",
        "git config user.name x",
        "git config --list --file /etc/x",
        "git config --unset user.name",
        "git reflog --output=x",
        "ps auxe",
        "ps eww",
        "ps -E",
        "printenv TOKEN",
        "jq -n env",
        "jq -n '$ENV.TOKEN'",
        "jq '.a, env.TOKEN' f",
        "jq '\"\\(env)\"' f",
    ];
    all(&Session::new(), &outside, "ask");
    let inside = [
        "column -t f",
        "grep -nefoo f",
        "grep -ne foo f",
        "rg --files",
        "rg --files src",
        "jq --arg a b '.[$a]' f",
        "jq --argjson a 1 --indent 2 . f",
        "jq .env f",
        "jq '.\"env\", .environment, .my_env' f",
        "git symbolic-ref --short HEAD",
        "git symbolic-ref HEAD",
        "git remote -v",
        "git remote get-url origin",
        "git reflog -10",
        "git config user.name",
        "git config -l --show-origin",
        "git config --global --get user.name",
        "git config --global --list",
        "git reflog show main",
        "git cherry main",
        "git range-diff main...HEAD",
        "ps aux",
        "ps -ef",
        "ps -o etime,cmd -p 1",
        "ps aux --sort=-%mem",
        "help cd",
        "docker --version",
        "docker -v",
    ];
    all(&Session::new(), &inside, "allow");
}

#[test]
fn redirections_in_code_count() {
    let session = open(&["Read(./.env)", "Edit(src/**)"]);
    let lines = [
        "bash -c 'cat < .env'",
        "bash -c 'npm test > src/a'",
        "sh -c '> src/a'",
        "eval 'ls >> src/a'",
        "env A=1 timeout 5 bash -c 'ls; ls 2> src/a'",
        "bash -c \"bash -c 'cat < .env'\"",
        "find . -exec sh -c 'echo x > src/a' \\;",
        "cd src && bash -c 'echo x > a'",
        "bash -c 'cd src && echo x > a'",
        "trap 'echo x > src/a' EXIT",
        "bash <<< 'echo x > src/a'",
        "echo 'ls > src/a' | sh",
        "xargs -I{} sh -c 'ls > src/a'",
        "watch 'ls > src/a'",
        "parallel 'ls > src/a' ::: 1",
        "flock f -c 'ls > src/a'",
        "git -c alias.x='!ls > src/a' x",
        "git rebase -x 'ls > src/a' main",
        "tmux new 'ls > src/a'",
        "env -S 'sh -c \"ls > src/a\"'",
    ];
    all(&session, &lines, "deny");
    all(&session.clone().mode(Mode::BypassPermissions), &lines, "deny");
    all(&session, &["bash -c 'cat < $X'", "bash -c '> \"$X\"'"], "asks");
    let editing = Session::new().mode(Mode::AcceptEdits).allow(&["Bash(bash *)", "Bash(echo *)"]);
    all(&editing, &["bash -c 'echo x > .git/hooks/pre-commit'", "bash -c 'echo x > ../y'"], "asks");
    all(&editing, &["bash -c 'echo x > y'", "bash -c 'echo x 2>&1 > /dev/null'"], "allow");
}

#[test]
fn what_is_put_back_split_or_compiled_is_written() {
    let session = open(&["Edit(src/**)"]);
    let lines = [
        "git checkout HEAD -- src/a",
        "git restore --source=HEAD src/a",
        "git rm src/a",
        "git mv src/a b",
        "gcc -o src/a x.c",
        "g++ x.cpp -osrc/a",
        "rustc --out-dir=src x.rs",
        "javac -d src X.java",
        "split x src/a",
    ];
    all(&session, &lines, "deny");
    let others =
        ["git checkout main", "git restore other", "gcc -o a src/a.c", "git rm other/a", "go test ./src"];
    all(&session, &others, "allow");
}

#[test]
fn a_variable_that_may_have_been_exported_is_asked_about() {
    let session = Session::new().allow(&["Bash(npm test *)"]);
    all(
        &session,
        &["PORT=1; npm test", "DATABASE_URL=x && npm test", "PORT=1", "A=1 B_C=2; npm test"],
        "ask",
    );
    all(
        &session,
        &["port=1; npm test", "x=1 && npm test", "NODE_ENV=test; npm test", "X=1; npm test"],
        "allow",
    );
    // Inside the sandbox nothing can come of it that the sandbox does not hold.
    all(&Session::sandboxed(), &["PORT=1; npm test", "V=$(git describe) && make"], "allow");
}

#[test]
fn what_a_variable_says_of_a_program_counts_as_its_words() {
    let lines = [
        "TAR_OPTIONS='--to-command=\"rm x\"' tar xf a",
        "TAR_OPTIONS='-I \"rm x\"' tar xf a",
        "env TAR_OPTIONS='--checkpoint-action=exec=rm\\_x' tar cf a b",
        "MAKEFLAGS='SHELL=rm' make",
        "GNUMAKEFLAGS='\"--eval=rm x\"' make",
        "GOFLAGS=-toolexec=rm go build",
        "MANOPT='-P rm' man ls",
        "FZF_DEFAULT_OPTS='--preview \"rm x\"' fzf",
        "LESS='+!rm x' less f",
        "VIMINIT='!rm x' vim f",
        "EXINIT=':!rm x' ex f",
        "JAVA_TOOL_OPTIONS='-XX:OnError=rm' java A",
        "export TAR_OPTIONS=--to-command=rm; tar xf a",
        "GH_PAGER='rm x' gh pr list",
        "AWS_PAGER='rm x' aws s3 ls",
        "KUBE_EDITOR='rm x' kubectl edit pod x",
        "HGEDITOR='rm x' hg commit",
        "SVN_SSH='rm x' svn update",
        "SUDO_ASKPASS=rm sudo -A ls",
        "RUSTC_WRAPPER=rm cargo build",
        "CARGO_BUILD_RUSTC_WRAPPER=rm cargo build",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER='rm x' cargo run",
        "CMAKE_C_COMPILER_LAUNCHER=rm cmake .",
        "FZF_DEFAULT_COMMAND='rm x' fzf",
    ];
    all(&open(&["Bash(rm *)"]), &lines, "deny");
    all(&open(&["Bash(rm *)"]), &["MAKEFLAGS='--eval=$(shell rm x)' make"], "asks");
    let others = [
        "TAR_OPTIONS=--no-same-owner tar xf a",
        "MAKEFLAGS=-j4 make rm",
        "GOFLAGS=-mod=mod go build",
        "LESS=-R less rm",
        "PAGER= git log",
        "PAGER=cat git log",
        "EDITOR=true git rebase --continue",
        "RM_EDITION=x npm test",
    ];
    let session = Session::new().mode(Mode::BypassPermissions).deny(&["Bash(rm *)"]);
    all(&session, &others, "allow");
    let removing = ["TAR_OPTIONS='--to-command=\"rm -rf .git\"' tar xf a", "GH_PAGER='rm -rf ~' gh pr list"];
    all(&Session::new().mode(Mode::BypassPermissions), &removing, "ask a person");
}

#[test]
fn commands_of_programs_count_in_their_input_as_in_their_words() {
    let lines = [
        "psql <<'E'\nselect 1;\n\\! rm x\nE",
        "psql db <<< '\\! rm x'",
        "mysql <<< 'system rm x'",
        "sqlite3 db <<E\n.tables\n.shell rm x\nE",
        "ed -s f <<E\n1d\n!rm x\nE",
        "ex f <<< '!rm x'",
        "gdb <<< 'shell rm x'",
        "sftp h <<< '!rm x'",
        "lftp -c 'open h; !rm x'",
        "mail u <<< '~!rm x'",
        "awk -f - f <<< 'BEGIN { system(\"rm x\") }'",
        "awk --file=/dev/stdin <<E\nBEGIN { \"rm x\" | getline }\nE",
        "sed -f - f <<< '1e rm x'",
        "expect -c 'spawn ls; spawn rm x'",
        "expect <<E\nspawn rm x\nE",
        "psql -c '\\! ls' -c '\\! rm x'",
        "psql -c '\\! ls \\! rm x'",
        "java -XX:OnError='rm x' A",
        "cargo --config 'build.rustc-wrapper=\"rm\"' build",
        "go test -exec 'rm x' ./...",
        "go build -toolexec=rm",
        "npm test --script-shell=rm",
        "nix-shell -p a --run 'rm x'",
        "autossh -o ProxyCommand='rm x' h",
        "jobs -x rm x",
        "jobs -x command rm x",
        "rc -c 'rm x'",
        "es -c 'rm x'",
        "please rm x",
    ];
    all(&open(&["Bash(rm *)"]), &lines, "deny");
    let others = [
        "psql <<E\nselect 'rm x';\nE",
        "ed -s f <<E\na\nHello, world! rm x\n.\nE",
        "awk '{print}' <<E\nsystem(\"rm x\")\nE",
        "sed s/a/b/ <<E\ne rm x\nE",
        "python3 - <<E\nprint('rm x')\nE",
        "sqlite3 db <<E\nselect '.shell rm x';\nE",
        "jobs -l",
        "go test -run rm ./...",
    ];
    all(&open(&["Bash(rm *)"]), &others, "allow");
    let inside = ["psql <<E\nselect 'a! b';\nE", "ed -s f <<E\na\nSay \"hi!\n.\nE", "expect -c 'spawn ls'"];
    all(&Session::sandboxed(), &inside, "allow");
    let session = Session::new().allow(&["Bash(tar *)", "Bash(npm *)"]);
    all(&session, &["tar -I zstd -xf a", "tar -Izstd -xf a", "npm test --script-shell bash"], "allow");
}

#[test]
fn what_only_steers_the_shell_needs_no_approval_inside() {
    let lines = [
        "while IFS= read -r line; do echo \"$line\"; done < f",
        "IFS=, read -ra parts <<< a,b; npm test",
        "shopt -s nullglob; npm test",
        "shopt -s globstar nullglob && ls **/*.rs",
        "shopt -p",
    ];
    all(&Session::sandboxed(), &lines, "allow");
    let others = [
        "IFS= ./read x",
        "IFS=, npm test",
        "PATH=. read x",
        "IFS= LD_PRELOAD=x read x",
        "IFS=, mapfile -C ls x",
        "read() { ls; }; IFS= read x",
        "shopt -s expand_aliases; npm test",
        "shopt -s extglob; npm test",
        "shopt -s $O; npm test",
        "shopt -so allexport; npm test",
    ];
    all(&Session::sandboxed(), &others, "asks");
    all(&Session::sandboxed(), &["shopt -s dotglob; rm -rf *"], "ask a person");
}
