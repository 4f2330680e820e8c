//! Ordinary work: what real tools print, return and leave behind inside is what they do outside.
//!
//! Lines are run twice: inside in one project, by a plain bash in its twin. Everything that they can see is to be
//! the same, and where they print paths those are made the same afterwards.

mod builds;
mod packages;
mod python;
mod repository;
mod tools;

use palisade_tests::{Project, Tools, works_here};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Two projects alike.
struct Twins {
    inside: Project,
    outside: Project,
    variables: Vec<(&'static str, String)>,
}

/// What a line did.
#[derive(Debug, PartialEq)]
struct Done {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Twins {
    fn new() -> Option<Self> {
        works_here().then(|| Twins { inside: Project::new(), outside: Project::new(), variables: Vec::new() })
    }

    fn set(mut self, variables: &[(&'static str, &str)]) -> Self {
        self.variables.extend(variables.iter().map(|(name, value)| (*name, (*value).to_owned())));
        self
    }

    fn write(&self, name: &str, text: &str) {
        for project in [&self.inside, &self.outside] {
            project.write(name, text);
        }
    }

    /// Runs the line in both, which must do the same, and gives what it printed.
    #[track_caller]
    fn same(&self, line: &str) -> String {
        let inside = self.inside(line);
        assert_eq!(inside, self.outside(line), "inside and outside differ: {line}");
        inside.stdout
    }

    /// The same for a line that must end well.
    #[track_caller]
    fn same_and_well(&self, line: &str) -> String {
        let inside = self.inside(line);
        assert_eq!(inside, self.outside(line), "inside and outside differ: {line}");
        assert_eq!(inside.status, 0, "{line}: {inside:#?}");
        inside.stdout
    }

    fn inside(&self, line: &str) -> Done {
        let run = self.variables.iter().fold(self.inside.run(), |run, (name, value)| run.env(name, value));
        let run = run.input("input\n").line(line);
        Done { status: run.status, stdout: run.stdout, stderr: run.stderr }.without_paths(&self.inside)
    }

    fn outside(&self, line: &str) -> Done {
        let mut command = Command::new("bash");
        command
            .args(["--norc", "--noprofile", "-c", line])
            .current_dir(self.outside.root())
            .env("HOME", self.outside.home())
            .env("PWD", self.outside.root())
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
            command.env_remove(name).env_remove(name.to_uppercase());
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("there is a bash");
        // A line that reads nothing may have ended already.
        let _ = std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), b"input\n");
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let status = output.status.code().unwrap_or_else(|| {
            128 + std::os::unix::process::ExitStatusExt::signal(&output.status).expect("it ended somehow")
        });
        Done { status, stdout: text(&output.stdout), stderr: text(&output.stderr) }
            .without_paths(&self.outside)
    }
}

impl Done {
    fn without_paths(self, project: &Project) -> Self {
        let base = std::fs::canonicalize(project.base()).expect("it exists");
        let replaced = |text: String| text.replace(&base.display().to_string(), "PROJECT");
        Done { stdout: replaced(self.stdout), stderr: replaced(self.stderr), ..self }
    }
}

#[test]
fn shell_lines_do_what_they_do_outside() {
    let Some(twins) = Twins::new() else { return };
    for line in [
        "echo a | tr a b | cat -A",
        "printf 'x\\ny\\n' | wc -l",
        "seq 100000 | sort -R | sort -n | tail -1",
        "yes | head -3",
        "set -o pipefail; yes | head -1; echo $?",
        "false | true; echo $? ${PIPESTATUS[@]}",
        "cat <<E\nhere $((1 + 1)) `echo tick`\nE",
        "cat <<'E'\nliteral $x `y`\nE",
        "cat <<-E\n\ttab\n\tE",
        "cat <<< 'a string'",
        "diff <(seq 3) <(seq 4); echo $?",
        "seq 5 > >(cat > made); until grep -qs 5 made; do sleep 0.01; done; cat made; rm made",
        "exec 3<<< three; cat <&3",
        "exec 5> five; echo five >&5; cat five",
        "cat; echo got it",
        "read -r line; echo \"$line\"; read -r line || echo end",
        "echo out; echo err >&2; echo both 2>&1",
        "awk '!seen[$0]++' <<< $'a\\na\\nb'",
        "[ ! -e missing ] && echo \"no!\" 'a!b' a\\!b",
        "echo $'tab\\there' \"dollar \\$ tick \\` quote \\\" slash \\\\\" trailing\\\\",
        "echo {a,b}{1..3} ~ $HOME; echo f*",
        "f() { local x=$1; echo f$x; return 7; }; f 1; echo $?",
        "trap 'echo bye' EXIT; echo hi; exit 3",
        "(exit 5); echo $?; (kill -TERM $BASHPID); echo $?",
        "sleep 0.05 & wait; echo waited; jobs",
        "for i in 1 2 3; do echo $i & wait; done",
        "coproc cat; echo through >&${COPROC[1]}; exec {COPROC[1]}>&-; cat <&${COPROC[0]}",
        "find . -type f -exec echo {} + ; find / -maxdepth 0",
        "touch 'a b' c; ls 'a b' c | xargs -I{} echo '<{}>'; rm 'a b' c",
        "mkdir -p d/e; tar cf - d | tar tf -; rmdir d/e d",
        "echo text > t; gzip -k t; zcat t.gz; sed -i s/t/T/ t; cat t; rm t t.gz",
        "mkfifo p; echo through > p & cat p; rm p",
        "id -u; id -g; id -G; umask; ulimit -n; nproc",
        "stat -c '%u %g %a %h' .; touch f; chmod 640 f; stat -c '%u %a %s' f; rm f",
        "hostname; uname -srm; date -u -d @0 +%s; locale | head -1",
        "pwd; cd /; pwd; cd - > /dev/null; echo $OLDPWD; echo $0 $# $-",
        "test -t 0; echo $?; test -p /dev/stdin && echo pipe",
        "head -c 300000 /dev/zero | sha256sum; head -c 5 /dev/urandom | wc -c",
        "nosuchcommand; echo $?; ./missing; echo $?; /etc/passwd; echo $?",
        "cat missing; ls missing; grep x missing; cd missing",
        "echo 'unclosed",
        "if",
        "",
        "# nothing",
        "exit 0",
        "exit 255",
        "kill -TERM $$",
        "kill -KILL $$",
    ] {
        twins.same(line);
    }
    assert_eq!(twins.inside.tree(), twins.outside.tree());
}

#[test]
fn a_megabyte_goes_through_unchanged() {
    let Some(project) = Project::where_it_works() else { return };
    let bytes: Vec<u8> =
        (0..1 << 20).map(|number: u32| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let run = project.run().input(bytes.clone()).argv(["cat"]).ok();
    assert!(run.bytes == bytes, "{} bytes came back", run.bytes.len());
}

const GIT: [(&str, &str); 9] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_AUTHOR_NAME", "A"),
    ("GIT_AUTHOR_EMAIL", "a@example.com"),
    ("GIT_AUTHOR_DATE", "2020-01-01T00:00:00Z"),
    ("GIT_COMMITTER_NAME", "C"),
    ("GIT_COMMITTER_EMAIL", "c@example.com"),
    ("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z"),
    ("GIT_EDITOR", "echo edited >"),
];

/// Author, committer and dates are given, so equal work ends in an equal commit.
#[test]
fn git_does_what_it_does_outside() {
    let Some(twins) = Twins::new() else { return };
    let twins = twins.set(&GIT);
    twins.write("f", "one\n");
    twins.write("sub/g", "two\n");
    init(&twins.inside.root());
    init(&twins.outside.root());
    for line in [
        "git status --short",
        "git add -A && git commit -m first && git status",
        "echo more >> f; git status --short; git diff HEAD; git diff --stat; git diff HEAD f",
        "git commit -q -a && git log --format='%H %s'",
        "git log -1 HEAD; git show -s HEAD; git rev-parse HEAD; git reset -q HEAD",
        "git checkout -q -b topic && echo topic > t && git add t && git commit -q -m \"feat!: topic\"",
        "git checkout -q main && echo main > f && git commit -q -a -m main && git merge -q -m merged topic && git log --oneline --graph",
        "git checkout -q topic && git rebase -q main; git checkout -q main",
        "echo stashed > f; git stash -q && cat f && git stash pop -q && cat f; git checkout -- f; cat f",
        "git tag v1; git mv t moved && git rm -q sub/g && git commit -q -m moved && git ls-files",
        "git worktree add -q trees/topic topic && ls trees/topic && git worktree list --porcelain | grep branch",
        "git gc -q && git fsck && git count-objects -v | grep packs",
        "git init -q nested && cd nested && echo n > n && git add n && git commit -q -m nested && git rev-parse HEAD",
        "git clone -q . clone && cd clone && git log -1 --format=%H && echo c > c && git add c && git commit -q -m c",
        "git init -q --bare remote && git push -q remote main && git push -q remote topic && git -C remote branch",
        "git fetch -q remote main 2> /dev/null && git rev-parse FETCH_HEAD && git cat-file -p HEAD^{tree} | head -3",
        "git status --short --ignored; git rev-parse HEAD; git archive HEAD | sha256sum",
    ] {
        twins.same_and_well(line);
    }
    assert_eq!(twins.inside.tree(), twins.outside.tree());
}

/// No command makes a root a repository.
fn init(root: &std::path::Path) {
    let made = Command::new("git").args(["init", "-q", "-b", "main"]).arg(root).status().expect("git runs");
    assert!(made.success());
}

/// A rule that protects a missing file must not put that file into a commit.
#[test]
fn what_stands_in_for_a_missing_file_is_no_part_of_a_commit() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("f", "one\n");
    let rules = serde_json::json!({ "filesystem": { "denyWrite": ["later.conf", "sub/later.conf"] } });
    init(&project.root());
    let line = "git add -A && git commit -q -m first && git ls-files && git status --short | wc -l";
    let run = GIT
        .iter()
        .fold(project.run(), |run, (name, value)| run.env(name, value))
        .sandbox(rules)
        .line(line)
        .ok();
    assert_eq!(run.stdout, "f\n0\n", "{run:#?}");
    let after = Command::new("git")
        .args(["status", "--short"])
        .current_dir(project.root())
        .output()
        .expect("git runs");
    assert_eq!(String::from_utf8_lossy(&after.stdout), "");
    assert_eq!(project.tree(), ["f"]);
}

#[test]
fn cargo_builds_runs_and_tests_a_crate() {
    let Some(project) = Project::where_it_works() else { return };
    project.write(
        "Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    );
    project.write("build.rs", "fn main() { println!(\"cargo:rustc-env=MADE=by its script\"); }\n");
    project.write(
        "src/lib.rs",
        "pub fn twice(x: u32) -> u32 { 2 * x }\n#[test]\nfn doubles() { assert_eq!(twice(2), 4); }\n",
    );
    project.write("src/main.rs", "fn main() { println!(\"{} {}\", small::twice(21), env!(\"MADE\")); }\n");
    let toolchain = Tools::here().toolchain.join("bin").into_os_string();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let with_cargo = |home: PathBuf, line: &str| {
        let path = std::env::join_paths(
            std::iter::once(toolchain.clone().into()).chain(std::env::split_paths(&path)),
        );
        project
            .run()
            .env("PATH", path.expect("no colon in it"))
            .env("CARGO_HOME", home)
            .env("CARGO_TARGET_DIR", project.root().join("target"))
            .line(format!("unset RUSTC RUSTC_WRAPPER RUSTFLAGS RUSTUP_TOOLCHAIN CARGO; {line}"))
            .ok()
    };
    let built = with_cargo(project.root().join(".cargo-home"), "cargo build --offline && target/debug/small");
    assert_eq!(built.stdout, "42 by its script\n", "{built:#?}");
    // It does with a home that it cannot write.
    let line =
        "cargo run --offline -q && cargo test --offline --lib 2>&1 | grep '^test doubles'; ls $CARGO_HOME";
    let again = with_cargo(project.outside(), line);
    assert_eq!(again.stdout, "42 by its script\ntest doubles ... ok\n");
}

#[test]
fn a_python_environment_is_made_and_used() {
    let Some(twins) = Twins::new() else { return };
    // The cache is in the home directory, which cannot be written inside: pip would say so.
    let twins = twins.set(&[("PIP_NO_CACHE_DIR", "1")]);
    twins.write("package/__init__.py", "name = 'local package'\n");
    twins.write(
        "script.py",
        "import multiprocessing, os, sqlite3, subprocess, sys, tempfile, threading
import package
assert sys.prefix != sys.base_prefix
print(os.path.relpath(sys.prefix), package.name)
print(subprocess.run(['sh', '-c', 'echo child; exit 4'], stdout=subprocess.PIPE))
with multiprocessing.Pool(2) as pool:
    print(pool.map(abs, range(-3, 0)))
base = sqlite3.connect('base.db')
base.execute('create table t (x)')
base.execute('insert into t values (7)')
base.commit()
print(base.execute('select x from t').fetchall())
threads = [threading.Thread(target=print, args=('thread',)) for _ in range(2)]
for thread in threads:
    thread.start()
    thread.join()
with tempfile.NamedTemporaryFile() as file:
    file.write(b'x')
    file.flush()
    print(os.path.getsize(file.name))
",
    );
    assert_eq!(
        twins.same_and_well("python3 -m venv venv && . venv/bin/activate && python script.py && pip --version | cut -d' ' -f1 && python -m pip list --disable-pip-version-check | tail -n +3 | cut -d' ' -f1"),
        twins.same("unset VIRTUAL_ENV; rm base.db; venv/bin/python script.py; echo pip; venv/bin/python -m pip list --disable-pip-version-check | tail -n +3 | cut -d' ' -f1"),
    );
}

#[test]
fn node_runs_scripts_with_children_threads_and_servers() {
    let Some(twins) = Twins::new() else { return };
    twins.write(
        "script.js",
        "const fs = require('fs'), http = require('http'), os = require('os'), path = require('path');
const { execSync, spawn } = require('child_process');
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (!isMainThread) { parentPort.postMessage('from a thread'); return; }
(async () => {
  fs.writeFileSync('made.txt', 'made');
  console.log(fs.readFileSync('made.txt', 'utf8'), fs.readdirSync('.').filter((name) => fs.statSync(name).isFile()).join());
  console.log(execSync('echo $0 child; cat', { input: 'given' }).toString());
  const child = spawn('sh', ['-c', 'cat; exit 3'], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end('piped');
  child.stdout.on('data', (data) => console.log(data.toString()));
  console.log(await new Promise((done) => child.on('close', done)));
  console.log(await new Promise((done) => new Worker(__filename).on('message', done)));
  const server = http.createServer((_, answer) => answer.end('served'));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const url = { host: '127.0.0.1', port: server.address().port };
  console.log(await new Promise((done) => http.get(url, (answer) => answer.on('data', (data) => done(data.toString())))));
  server.close();
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'x-'));
  console.log(fs.existsSync(directory), process.exitCode);
  process.exit(5);
})();
",
    );
    let line = "node script.js; echo $?; node -e 'console.log(1 + 1)'; echo 'console.log(2)' | node";
    let printed = twins.same(line);
    for expected in [
        "made made.txt,script.js",
        "given",
        "piped\n3",
        "from a thread",
        "served",
        "true undefined\n5\n2\n2\n",
    ] {
        assert!(printed.contains(expected), "{expected:?} is missing in {printed}");
    }
}

#[test]
fn npm_installs_what_is_locked_and_runs_scripts() {
    let Some(twins) = Twins::new() else { return };
    let twins = twins.set(&[
        ("npm_config_update_notifier", "false"),
        ("npm_config_audit", "false"),
        ("npm_config_fund", "false"),
        ("npm_config_offline", "true"),
        ("npm_config_cache", ".npm"),
    ]);
    twins.write(
        "dep/package.json",
        r#"{ "name": "dep", "version": "1.0.0", "bin": { "dep-says": "says.js" } }"#,
    );
    twins.write("dep/index.js", "module.exports = 'from dep';\n");
    twins.write("dep/says.js", "#!/usr/bin/env node\nconsole.log('dep says', process.argv[2]);\n");
    twins.write("packed/package.json", r#"{ "name": "packed", "version": "1.2.3" }"#);
    twins.write("packed/index.js", "module.exports = 'from a package';\n");
    twins.write(
        "package.json",
        r#"{ "name": "local", "version": "1.0.0",
            "dependencies": { "dep": "file:dep", "packed": "file:packed-1.2.3.tgz" },
            "scripts": {
                "prehello": "echo before",
                "hello": "node -p \"require('dep') + ', ' + require('packed')\" && dep-says",
                "fail": "exit 3"
            } }"#,
    );
    let made = twins.same_and_well(
        "npm pack --silent ./packed && npm install --package-lock-only > /dev/null && npm ci > /dev/null && \
         ls node_modules && grep -c '\"integrity\": \"sha512-' package-lock.json",
    );
    assert_eq!(made, "packed-1.2.3.tgz\ndep\npacked\n1\n");
    let printed =
        twins.same_and_well("npm run -s hello -- \"it's\"; npm --version > /dev/null; npm pkg get name");
    assert_eq!(printed, "before\nfrom dep, from a package\ndep says it's\n\"local\"\n");
    twins.same("npm run -s fail; echo $?; npm run -s missing 2> /dev/null; echo $?");
    let changed = "echo >> packed/index.js; npm pack --silent ./packed > /dev/null; rm -r .npm; npm ci 2>&1 | grep -o EINTEGRITY | head -1";
    assert_eq!(twins.same(changed), "EINTEGRITY\n");
}
