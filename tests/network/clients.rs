//! The programs that people use reach an allowed address in every way there is, and a refused one in none.

use super::allowing;
use palisade_tests::{Origin, Project};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Whether a client asks the proxy, or connects to the address as if there were none.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Proxy,
    Direct,
}

/// Lines with `{}` for host and port. Loopback addresses are in `NO_PROXY`: a client that is to ask the proxy for
/// one must not heed it.
const CLIENTS: [(&str, Way); 11] = [
    ("curl -sS --noproxy '' -x \"$HTTP_PROXY\" http://{}/x", Way::Proxy),
    ("curl -sS --noproxy '' -p -x \"$https_proxy\" http://{}/x", Way::Proxy),
    ("curl -sS --noproxy '' --socks5-hostname \"${ALL_PROXY#socks5h://}\" http://{}/x", Way::Proxy),
    ("curl -sS --noproxy '' --socks5 \"${all_proxy#socks5h://}\" http://{}/x", Way::Proxy),
    ("curl -sS --noproxy '' http://{}/x", Way::Proxy),
    ("curl -sS http://{}/x", Way::Direct),
    ("curl -sS --noproxy '*' http://{}/x", Way::Direct),
    ("NO_PROXY= no_proxy= python3 -c \"$URLLIB\" http://{}/x", Way::Proxy),
    ("python3 -c \"$URLLIB\" http://{}/x", Way::Direct),
    ("node -e \"$FETCH\" http://{}/x", Way::Direct),
    ("node -e \"$HTTP\" http://{}/x", Way::Direct),
];
/// Only newer versions of node heed the proxy's variables.
const FETCH_THROUGH_PROXY: (&str, Way) = ("NO_PROXY= no_proxy= node -e \"$FETCH\" http://{}/x", Way::Proxy);

const PROGRAMS: [(&str, &str); 3] = [
    ("URLLIB", "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode(), end='')"),
    ("FETCH", "fetch(process.argv[1]).then(r => r.text()).then(t => process.stdout.write(t))"),
    ("HTTP", "require('http').get(process.argv[1], r => r.pipe(process.stdout))"),
];

fn clients() -> Vec<(&'static str, Way)> {
    let knows = "process.exit(process.allowedNodeEnvironmentFlags.has('--use-env-proxy') ? 0 : 1)";
    let fetch_heeds_proxy = Command::new("node").args(["-e", knows]).status().expect("node starts").success();
    CLIENTS.into_iter().chain(fetch_heeds_proxy.then_some(FETCH_THROUGH_PROXY)).collect()
}

#[test]
fn an_allowed_address_answers_every_client() {
    let Some(project) = Project::where_it_works() else { return };
    let origin = Origin::start();
    let address = origin.address().to_string();
    for (client, _) in clients() {
        let run = allowing(&project, &[&address]);
        let run = PROGRAMS.into_iter().fold(run, |run, (name, program)| run.env(name, program));
        let run = run.line(client.replace("{}", &address)).ok();
        assert_eq!(run.stdout, "origin-ok /x\n", "{client}: {run:?}");
        assert_eq!(run.violations(), [""; 0], "{client}");
    }
    assert_eq!(origin.requests().len(), clients().len());
}

#[test]
fn a_refused_address_answers_no_client_and_the_refusal_is_a_violation() {
    let Some(project) = Project::where_it_works() else { return };
    let origin = Origin::start();
    let address = origin.address().to_string();
    for (client, way) in clients() {
        let run = PROGRAMS.into_iter().fold(project.run(), |run, (name, program)| run.env(name, program));
        let run = run.line(client.replace("{}", &address));
        assert!(!run.stdout.contains("origin-ok"), "{client}: {run:?}");
        let refused = if way == Way::Proxy { vec![address.clone()] } else { Vec::new() };
        assert_eq!(run.violations(), refused, "{client}: {run:?}");
    }
    assert_eq!(origin.requests(), [""; 0]);
}

#[test]
fn git_clones_over_http_through_the_proxy_and_directly() {
    let Some(project) = Project::where_it_works() else { return };
    let server = serve_repository(&project);
    let url = format!("http://127.0.0.1:{}/repository.git", server.port);
    for (index, options) in
        ["NO_PROXY= no_proxy= git", "git -c http.proxy=$ALL_PROXY", "git"].iter().enumerate()
    {
        let line = format!("{options} clone --quiet {url} copy{index} && cat copy{index}/file");
        let run = allowing(&project, &[&format!("127.0.0.1:{}", server.port)]).line(line).ok();
        assert_eq!(run.stdout, "from far away\n", "{options}: {run:?}");
    }
    let run = project.line(&format!("NO_PROXY= no_proxy= git clone --quiet {url} refused"));
    assert_ne!(run.status, 0, "{run:?}");
    assert!(run.stderr.contains("403"), "git says what the proxy said: {run:?}");
    assert_eq!(run.violations(), [format!("127.0.0.1:{}", server.port)]);
    assert!(!project.root().join("refused").exists());
}

/// A file server on loopback, ended with the test.
struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A bare repository with one commit, served as plain files.
fn serve_repository(project: &Project) -> Server {
    let make = "git init -q source && echo from far away > source/file && git -C source add file && \
                git -C source -c user.name=t -c user.email=t@localhost commit -qm one && \
                git clone -q --bare source repository.git && git -C repository.git update-server-info";
    let mut made = Command::new("sh");
    made.args(["-c", make])
        .current_dir(project.outside())
        .env("HOME", project.home())
        .env("GIT_CONFIG_NOSYSTEM", "1");
    assert!(made.status().expect("sh starts").success());
    let mut child = Command::new("python3")
        .args(["-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory"])
        .arg(project.outside())
        .arg("0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("python3 starts");
    let mut said = String::new();
    BufReader::new(child.stdout.take().expect("a pipe"))
        .read_line(&mut said)
        .expect("it says where it listens");
    let port = said.split("port ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    Server { child, port: port.unwrap_or_else(|| panic!("no port in {said:?}")) }
}
