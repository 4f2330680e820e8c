//! Sandboxes and processes as values: what ends with them, what goes on without them, what they share.

use super::{argv, block_on, hosts, paths, run, sandbox, shell, text};
use palisade::{Process, Request, Sandbox, Signal};
use palisade_policy::{FileSets, NetworkPolicy, Policy};
use palisade_tests::{Marker, Origin, Project, eventually};
use std::sync::Arc;
use std::time::Duration;

/// Waits as a task does, which leaves the proxies at work.
async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn many_sleeps(marker: &Marker) -> String {
    format!("sleep {0} & setsid sleep {0} & sleep {0}", marker.seconds())
}

async fn running(project: &Project, sandbox: &Sandbox, marker: &Marker) -> Process {
    let process = sandbox.spawn(shell(project, &many_sleeps(marker))).await.expect("it starts");
    until(|| marker.processes().len() >= 6).await;
    process
}

#[test]
fn dropping_a_process_ends_everything_in_it() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    block_on(async {
        let sandbox = sandbox(Policy::default());
        drop(running(&project, &sandbox, &marker).await);
        eventually("nothing is left running", || marker.processes().is_empty());
        let after = sandbox.run(shell(&project, "echo again")).await.expect("it runs");
        assert_eq!(text(&after.stdout.bytes), "again\n");
    });
}

#[test]
fn dropping_the_future_of_a_run_ends_everything_in_it() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    block_on(async {
        let sandbox = Arc::new(sandbox(Policy::default()));
        let request = shell(&project, &many_sleeps(&marker));
        let task = tokio::spawn(async move { sandbox.run(request).await });
        until(|| marker.processes().len() >= 6).await;
        task.abort();
        assert!(task.await.expect_err("it never ends by itself").is_cancelled());
        eventually("nothing is left running", || marker.processes().is_empty());
    });
}

/// At whatever await the future is dropped.
#[test]
fn a_run_dropped_at_any_moment_leaves_nothing() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    block_on(async {
        let policy = Policy {
            files: FileSets {
                deny_write: paths(&project, "denyWrite", &["later.conf"]),
                ..FileSets::default()
            },
            ..Policy::default()
        };
        let sandbox = sandbox(policy);
        for micros in (0..30_000).step_by(1_000) {
            let run = sandbox.run(argv(&project, ["sleep", marker.seconds()]));
            let ended = tokio::time::timeout(Duration::from_micros(micros), run).await;
            assert!(ended.is_err(), "sleep goes on: {ended:?}");
            eventually("nothing is left running", || marker.processes().is_empty());
        }
        eventually("no cover is left", || project.tree().is_empty());
    });
}

#[test]
fn a_process_goes_on_without_the_sandbox_that_started_it() {
    let Some(project) = Project::where_it_works() else { return };
    let outcome = block_on(async {
        let sandbox = sandbox(Policy::default());
        let process = sandbox.spawn(shell(
            &project,
            "until test -e go; do sleep 0.02; done; echo went $TMPDIR; touch $TMPDIR/f",
        ));
        let process = process.await.expect("it starts");
        drop(sandbox);
        project.write("go", "");
        process.wait().await.expect("it ends")
    });
    let said = text(&outcome.stdout.bytes);
    assert_eq!((outcome.status, said.starts_with("went /tmp/")), (0, true), "{outcome:?}");
    let scratch =
        std::path::Path::new(said.trim_end().trim_start_matches("went ")).parent().expect("a directory");
    assert!(std::fs::symlink_metadata(scratch).is_err(), "{scratch:?} went with its last user");
}

/// The kernel ties a sandbox to the thread that launched it.
#[test]
fn a_command_outlives_the_thread_that_asked_for_it() {
    let Some(project) = Project::where_it_works() else { return };
    let sandbox = std::thread::spawn(|| sandbox(Policy::default())).join().expect("no panic");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let request = shell(&project, "until test -e go; do sleep 0.02; done; echo went");
    let (runtime, process) = std::thread::spawn(move || {
        let process = runtime.block_on(sandbox.spawn(request)).expect("it starts");
        (runtime, process)
    })
    .join()
    .expect("no panic");
    project.write("go", "");
    let outcome = runtime.block_on(process.wait()).expect("it ends");
    assert_eq!((outcome.status, text(&outcome.stdout.bytes)), (0, "went\n".into()));
}

#[test]
fn one_sandbox_serves_several_roots_each_to_its_own_command() {
    let projects: Vec<Project> = (0..4).map_while(|_| Project::where_it_works()).collect();
    if projects.is_empty() {
        return;
    }
    block_on(async {
        let sandbox = Arc::new(sandbox(Policy::default()));
        let tasks: Vec<_> = projects
            .iter()
            .map(|project| {
                let elsewhere =
                    projects.iter().map(|other| other.root().join("written").display().to_string());
                let line = format!(
                    "for f in {}; do echo x > $f; done; echo end",
                    elsewhere.collect::<Vec<_>>().join(" ")
                );
                let (sandbox, request) = (Arc::clone(&sandbox), shell(project, &line));
                tokio::spawn(async move { sandbox.run(request).await })
            })
            .collect();
        for task in tasks {
            let outcome = task.await.expect("no panic").expect("it runs");
            assert_eq!(text(&outcome.stdout.bytes), "end\n");
            assert_eq!(
                text(&outcome.stderr.bytes).matches("Read-only file system").count(),
                2 * 3,
                "said, and in the block"
            );
            assert_eq!(outcome.sandbox.violations.len(), 3, "{outcome:?}");
        }
    });
    for project in &projects {
        assert_eq!(project.tree(), ["written"]);
    }
}

#[test]
fn commands_at_the_same_time_get_their_own_violations() {
    let Some(project) = Project::where_it_works() else { return };
    let origin = Origin::start();
    let address = origin.address().to_string();
    block_on(async {
        let network = NetworkPolicy { allowed: hosts(&[&address]), ..NetworkPolicy::default() };
        let sandbox = Arc::new(sandbox(Policy { network, ..Policy::default() }));
        let tasks: Vec<_> = (0..20)
            .map(|number| {
                let line = format!("curl -s --noproxy '' http://host-{number}.invalid/ > /dev/null; curl -s http://{address}/{number}");
                let (sandbox, request) = (Arc::clone(&sandbox), shell(&project, &line));
                tokio::spawn(async move { sandbox.run(request).await })
            })
            .collect();
        for (number, task) in tasks.into_iter().enumerate() {
            let outcome = task.await.expect("no panic").expect("it runs");
            assert_eq!(text(&outcome.stdout.bytes), format!("origin-ok /{number}\n"));
            let targets: Vec<String> =
                outcome.sandbox.violations.iter().map(|violation| violation.target()).collect();
            assert_eq!(targets, [format!("host-{number}.invalid:80")]);
        }
    });
    assert_eq!(origin.requests().len(), 20);
}

#[test]
fn a_signal_ends_a_process_even_before_its_command_has_started() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    block_on(async {
        let sandbox = sandbox(Policy::default());
        let signals = [Signal::SIGTERM, Signal::SIGKILL, Signal::SIGUSR1];
        for (round, signal) in signals.into_iter().cycle().take(30).enumerate() {
            let process =
                sandbox.spawn(argv(&project, ["sleep", marker.seconds()])).await.expect("it starts");
            tokio::time::sleep(Duration::from_micros(round as u64 * 100)).await;
            process.signal(signal).await.expect("it is alive");
            assert_eq!(process.wait().await.expect("it ends").status, 128 + signal as u8, "{signal}");
            assert!(marker.processes().is_empty());
        }
    });
}

#[test]
fn waiting_can_be_given_up_and_taken_up_again() {
    let Some(project) = Project::where_it_works() else { return };
    block_on(async {
        let line = "curl -s --noproxy '' http://refused.invalid/; touch asked; until test -e go; do sleep 0.02; done; exit 9";
        let mut process = sandbox(Policy::default()).spawn(shell(&project, line)).await.expect("it starts");
        let waited = tokio::time::timeout(Duration::from_millis(20), process.wait_for_end()).await;
        assert!(waited.is_err(), "{waited:?}");
        until(|| project.root().join("asked").symlink_metadata().is_ok()).await;
        assert_eq!(process.violations().len(), 1, "they are known while the command runs");
        project.write("go", "");
        assert_eq!(process.wait_for_end().await.expect("it ends"), 9);
        assert!(process.wait_for_end().await.is_err(), "once");
    });
}

#[test]
fn the_variables_of_a_request_are_the_commands_and_not_the_hosts() {
    let Some(project) = Project::where_it_works() else { return };
    let request = Request {
        variables: vec![
            ("PATH".into(), std::env::var_os("PATH").expect("set")),
            ("ONLY".into(), "this\none".into()),
        ],
        ..shell(&project, "env | grep -c ^; echo \"$ONLY\"; echo ${HOME-none}")
    };
    let outcome = block_on(sandbox(Policy::default()).run(request)).expect("it runs");
    let said = text(&outcome.stdout.bytes);
    assert!(said.ends_with("this\none\nnone\n"), "{said}");
    assert!(std::env::var_os("ONLY").is_none());
}

#[test]
fn a_probe_finds_what_a_sandbox_is_made_with() {
    let Some(project) = Project::where_it_works() else { return };
    let probe = palisade::probe(&Policy::default());
    assert!(probe.is_available() && probe.cause.is_none(), "{probe:?}");
    let (path, version) = probe.bubblewrap.expect("it is available");
    assert!(
        path.to_string().ends_with("/bwrap") && version.starts_with(|c: char| c.is_ascii_digit()),
        "{path} {version}"
    );
    assert_eq!(run(&project, Policy::default(), "true").status, 0);
}

/// Hosts count from the next connection, of a command that already runs too; files from the next command.
#[test]
fn a_new_policy_counts_from_the_next_connection_and_the_next_command() {
    let Some(project) = Project::where_it_works() else { return };
    let origin = Origin::start();
    project.write("secret", "hush");
    let allowed = |texts: &[&str]| NetworkPolicy { allowed: hosts(texts), ..NetworkPolicy::default() };
    let line = format!(
        "ask() {{ curl -s --noproxy '' -o /dev/null -w '%{{http_code}} ' http://a.localhost:{}/; }}; \
         step() {{ echo > at-$1; until test -e go-$1; do sleep 0.02; done; }}; \
         ask; step 1; ask; step 2; ask; cat secret",
        origin.port()
    );
    block_on(async {
        let sandbox = sandbox(Policy::default());
        let process = sandbox.spawn(shell(&project, &line)).await.expect("it starts");
        let waiting = tokio::spawn(process.wait());
        until(|| project.root().join("at-1").exists()).await;
        sandbox.set_policy(Policy { network: allowed(&["a.localhost"]), ..Policy::default() });
        project.write("go-1", "");
        until(|| project.root().join("at-2").exists()).await;
        let files = FileSets { deny_read: paths(&project, "denyRead", &["secret"]), ..FileSets::default() };
        sandbox.set_policy(Policy { files, ..Policy::default() });
        project.write("go-2", "");
        let outcome = waiting.await.expect("no panic").expect("it runs");
        assert_eq!(text(&outcome.stdout.bytes), "403 200 403 hush", "{outcome:?}");
        let next = sandbox.run(shell(&project, "cat secret")).await.expect("it runs");
        assert_eq!((next.status, text(&next.stdout.bytes).as_str()), (1, ""), "{next:?}");
    });
}
