//! Many commands at once, in one root: all succeed, none disturbs another, and nothing is left behind.
//!
//! Other tests run meanwhile. So what is looked for afterwards is what these commands said they had, and what
//! only theirs can hold.

use palisade_tests::{Project, Run, eventually};
use serde_json::json;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many run at the same time.
const AT_ONCE: usize = 50;
/// How many the long tests run, in the same root.
const MANY: usize = 1_000;

/// Prints `TMPDIR`, then what it wrote there and in the root. Its missing protected files are covered meanwhile.
fn line(number: usize) -> String {
    format!(
        "echo $TMPDIR; echo {number} > out-{number}; echo {number} > $TMPDIR/f; cat out-{number} $TMPDIR/f; \
         mkdir -p closed/{number} && chmod 000 closed/{number} && rmdir closed/{number}; \
         echo evil 2> /dev/null > later.conf && echo later; mkdir sub 2> /dev/null && echo sub; true"
    )
}

fn rules() -> serde_json::Value {
    json!({ "filesystem": { "denyWrite": ["later.conf", "sub/later.conf"], "denyRead": ["secret"] } })
}

/// Whether a process is at work in the project: one whose working directory is there, or that names it.
fn is_at_work(project: &Project) -> Option<String> {
    let base = std::fs::canonicalize(project.base()).expect("it exists");
    let processes = std::fs::read_dir("/proc").expect("there is a /proc").flatten().map(|entry| entry.path());
    let own = std::process::id().to_string();
    processes
        .filter(|process| process.file_name().is_some_and(|name| *name != *own))
        .find(|process| {
            let is_below = std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&base));
            let words = std::fs::read(process.join("cmdline")).unwrap_or_default();
            is_below || String::from_utf8_lossy(&words).contains(&base.display().to_string())
        })
        .map(|process| process.display().to_string())
}

/// What is left when all have ended: the files that they were to make, and nothing else anywhere.
#[track_caller]
fn assert_nothing_is_left(project: &Project, temporaries: &[PathBuf], count: usize) {
    let distinct: HashSet<&PathBuf> = temporaries.iter().collect();
    assert_eq!(distinct.len(), count, "each has its own directory: {temporaries:?}");
    for temporary in temporaries {
        assert!(temporary.is_absolute() && !temporary.exists(), "{}", temporary.display());
        let above = temporary.parent().expect("it lies in Palisade's own");
        assert!(above.starts_with("/tmp") && !above.exists(), "{}", above.display());
    }
    let mut made: Vec<String> = (0..count).map(|number| format!("out-{number}")).collect();
    made.extend(["closed".to_owned(), "secret".to_owned()]);
    made.sort();
    assert_eq!(project.tree(), made);
    assert_eq!(std::fs::read_dir(project.home()).expect("own directory").count(), 0);
    // The last of them are zombies until whoever inherited them has looked.
    eventually("no process is at work in the project", || is_at_work(project).is_none());
}

/// The temporary directory that a command named, after making sure that it did all its work.
#[track_caller]
fn worked(number: usize, stdout: &str) -> PathBuf {
    let (temporary, rest) = stdout.split_once('\n').unwrap_or_default();
    assert_eq!(rest, format!("{number}\n{number}\n"), "{stdout}");
    temporary.into()
}

#[test]
fn fifty_programs_at_once_in_one_root_all_succeed_and_leave_nothing() {
    programs(AT_ONCE);
}

#[test]
#[ignore = "takes minutes: cargo xtask integration --long"]
fn a_thousand_programs_fifty_at_once_in_one_root_all_succeed_and_leave_nothing() {
    programs(MANY);
}

fn programs(count: usize) {
    let Some(project) = Project::where_it_works() else { return };
    project.write("secret", "");
    let next = AtomicUsize::new(0);
    let work = || {
        let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        let runs = numbers.take_while(|number| *number < count);
        runs.map(|number| (number, project.run().sandbox(rules()).line(line(number)))).collect()
    };
    let runs: Vec<(usize, Run)> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        all.into_iter().flat_map(|some| -> Vec<_> { some.join().expect("no panic") }).collect()
    });
    let worked = |(number, run): &(usize, Run)| {
        assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{number}: {run:#?}");
        worked(*number, &run.stdout)
    };
    let temporaries: Vec<PathBuf> = runs.iter().map(worked).collect();
    assert_nothing_is_left(&project, &temporaries, count);
}

/// The same through the library: one process, one [`palisade::Sandbox`].
#[test]
fn fifty_commands_of_one_sandbox_all_succeed_and_leave_nothing() {
    commands(AT_ONCE);
}

#[test]
#[ignore = "takes minutes: cargo xtask integration --long"]
fn a_thousand_commands_of_one_sandbox_fifty_at_once_all_succeed_and_leave_nothing() {
    commands(MANY);
}

fn commands(count: usize) {
    let Some(project) = Project::where_it_works() else { return };
    project.write("secret", "");
    let sandbox = Arc::new(sandbox(&project));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let outcomes = runtime.block_on(run_all(Arc::clone(&sandbox), project.root(), count));
    let mut temporaries = Vec::new();
    for (number, outcome) in outcomes {
        let outcome = outcome.unwrap_or_else(|error| panic!("{number}: {error}"));
        let stderr = String::from_utf8_lossy(&outcome.stderr.bytes);
        assert_eq!((outcome.status, stderr.as_ref()), (0, ""), "{number}");
        temporaries.push(worked(number, &String::from_utf8_lossy(&outcome.stdout.bytes)));
    }
    let shared: HashSet<&Path> = temporaries.iter().filter_map(|temporary| temporary.parent()).collect();
    assert_eq!(shared.len(), 1, "one sandbox has one directory");
    for temporary in &temporaries {
        assert!(!temporary.exists(), "the command's directory goes with the command");
    }
    drop(runtime);
    drop(sandbox);
    assert_nothing_is_left(&project, &temporaries, count);
}

/// One with the rules above.
fn sandbox(project: &Project) -> palisade::Sandbox {
    let literal = |name: &str| palisade_policy::FileRule {
        pattern: palisade_policy::PathPattern::literal(
            palisade_policy::AbsPath::try_from(project.root().join(name).as_path()).expect("absolute"),
        ),
        origin: palisade_policy::Origin::flag("--test", name),
    };
    let mut policy = palisade_policy::Policy::default();
    policy.files.deny_write = vec![literal("later.conf"), literal("sub/later.conf")];
    policy.files.deny_read = vec![literal("secret")];
    let roots = vec![project.root()];
    let options = palisade::Options { policy, roots, ..palisade::Options::default() };
    palisade::Sandbox::create(options).expect("the sandbox works here")
}

type Outcomes = Vec<(usize, Result<palisade::Outcome, palisade::Error>)>;

/// Runs as many commands as `count` says, [`AT_ONCE`] of them at the same time.
async fn run_all(sandbox: Arc<palisade::Sandbox>, root: PathBuf, count: usize) -> Outcomes {
    let next = Arc::new(AtomicUsize::new(0));
    let work = || {
        let (sandbox, root, next) = (Arc::clone(&sandbox), root.clone(), Arc::clone(&next));
        tokio::spawn(async move {
            let mut outcomes = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return outcomes;
                }
                let command = palisade::Command::Shell(line(number).into());
                outcomes.push((number, sandbox.run(palisade::Request::new(command, root.clone())).await));
            }
        })
    };
    let mut outcomes = Vec::new();
    for working in (0..AT_ONCE).map(|_| work()).collect::<Vec<_>>() {
        outcomes.extend(working.await.expect("no panic"));
    }
    outcomes
}

/// The kernel ends bubblewrap with the thread that started it. That thread must not be the caller's.
#[test]
fn a_command_outlives_the_thread_that_asked_for_it() {
    let Some(project) = Project::where_it_works() else { return };
    let roots = vec![project.root()];
    let sandbox = palisade::Sandbox::create(palisade::Options { roots, ..palisade::Options::default() });
    let sandbox = sandbox.expect("the sandbox works here");
    let variables: Vec<_> = std::env::vars_os().collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let fifo = project.root().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("own directory");
    let request =
        palisade::Request::new(palisade::Command::Shell("cat fifo; cat; echo end".into()), project.root());
    let running = std::thread::scope(|scope| {
        let spawn = scope.spawn(|| runtime.block_on(sandbox.spawn(request)));
        spawn.join().expect("no panic").expect("it starts")
    });
    std::fs::write(&fifo, "started\n").expect("the command reads it");
    let outcome = runtime.block_on(running.wait()).expect("it ends");
    // Nothing is on its standard input, and it does not wait for anything there.
    assert_eq!((outcome.status, outcome.stdout.bytes.as_slice()), (0, &b"started\nend\n"[..]));
    assert_eq!(
        std::env::vars_os().collect::<Vec<_>>(),
        variables,
        "the host's own variables are as they were"
    );
}

/// What one command leaves running ends with it, and takes nobody else along.
#[test]
fn a_command_that_ends_leaves_others_alone() {
    let Some(project) = Project::where_it_works() else { return };
    let other = project
        .run()
        .sandbox(rules())
        .start("echo started; echo kept > $TMPDIR/f", "cat $TMPDIR/f; echo evil > later.conf");
    for _ in 0..5 {
        project.run().sandbox(rules()).line("sleep 600 & sleep 600 & true").ok();
    }
    let tree = project.tree();
    let stands = |name: &&str| tree.iter().any(|path| path == name);
    assert!(["later.conf", "sub", ".bashrc"].iter().all(stands), "what the other command needs: {tree:?}");
    assert_eq!(other.end(), (Some(1), "kept\n".to_owned()));
    assert_eq!(project.tree(), [""; 0]);
    eventually("no process is at work in the project", || is_at_work(&project).is_none());
}
