//! Where the walls of the network are: what no rule opened, and what each rule opens.

use super::{allowing, ask};
use palisade_tests::{Origin, Project, Tools, eventually};
use std::net::{Ipv6Addr, UdpSocket};
use std::process::Command;

/// Tries every way around the proxy, and prints the name of each that did not fail with the right error. The addresses
/// in it are set aside for documents: nobody has them.
const WAYS_AROUND: &str = r#"
import errno, fcntl, socket, struct, sys
SIOCSIFFLAGS = 0x8914
port = int(sys.argv[1])
def attempt(name, expected, act):
    try:
        act()
        print(name, "got through")
    except OSError as error:
        if error.errno not in expected:
            print(name, error)
def tcp(family, address):
    def act():
        with socket.socket(family, socket.SOCK_STREAM) as s:
            s.settimeout(20)
            s.connect(address)
    return act
def udp(family, address):
    def act():
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            s.connect(address)
            s.send(b"out")
            s.settimeout(20)
            s.recv(1)
    return act
away = {errno.ENETUNREACH, errno.EADDRNOTAVAIL}
shut = {errno.ECONNREFUSED}
attempt("tcp4", away, tcp(socket.AF_INET, ("192.0.2.1", 80)))
attempt("tcp6", away, tcp(socket.AF_INET6, ("2001:db8::1", 80)))
attempt("metadata", away, tcp(socket.AF_INET, ("169.254.169.254", 80)))
attempt("host-loopback", shut, tcp(socket.AF_INET, ("127.0.0.1", port)))
attempt("udp4", away, udp(socket.AF_INET, ("192.0.2.1", 53)))
attempt("udp6", away, udp(socket.AF_INET6, ("2001:db8::1", 53)))
attempt("broadcast", away | {errno.EACCES}, udp(socket.AF_INET, ("255.255.255.255", 53)))
attempt("multicast", away, udp(socket.AF_INET, ("224.0.0.251", 5353)))
attempt("udp-host-loopback", shut, udp(socket.AF_INET, ("127.0.0.1", port)))
not_permitted = {errno.EPERM, errno.EACCES}
attempt("raw", not_permitted, lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt("raw6", not_permitted, lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6))
attempt("packet", not_permitted, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
attempt("vsock", not_permitted, lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
names = {socket.EAI_AGAIN, socket.EAI_NONAME, socket.EAI_FAIL, socket.EAI_NODATA}
attempt("name", names, lambda: socket.getaddrinfo("a.name.invalid", 80))
def change_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", 0))
attempt("loopback-down", not_permitted, change_loopback)
"#;

#[test]
fn nothing_gets_out_around_the_proxy() {
    let Some(project) = Project::where_it_works() else { return };
    let origin = Origin::start();
    let ear = UdpSocket::bind(("127.0.0.1", origin.port())).expect("the port is free for UDP");
    ear.set_nonblocking(true).expect("a socket");
    project.write("around.py", WAYS_AROUND);
    // A rule for somewhere else opens nothing either.
    for hosts in [&[][..], &["allowed.invalid", "127.0.0.1:1"]] {
        let run = allowing(&project, hosts).argv(["python3", "around.py", &origin.port().to_string()]).ok();
        assert_eq!(run.stdout, "", "{run:?}");
    }
    assert_eq!(origin.requests(), [""; 0]);
    let heard = ear.recv(&mut [0; 8]).expect_err("no packet came");
    assert_eq!(heard.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn the_sandbox_has_no_address_and_no_route_but_those_of_loopback() {
    let Some(project) = Project::where_it_works() else { return };
    let run = project
        .line("tail -n +2 /proc/net/route; grep -v ' lo$' /proc/net/if_inet6; cat /proc/net/fib_trie")
        .ok();
    let addresses = run.stdout.lines().filter_map(|line| line.trim_start().strip_prefix("|-- "));
    assert!(
        addresses.clone().count() > 0 && addresses.clone().all(|address| address.starts_with("127.")),
        "{run:?}"
    );
    let tables = run.stdout.lines().next().unwrap_or_default();
    assert_eq!(tables, "Main:", "a route, or an address of another interface: {run:?}");
}

#[test]
fn without_a_rule_no_host_is_reached_through_the_proxy() {
    let Some(project) = Project::where_it_works() else { return };
    let origin = Origin::start();
    let targets = [
        format!("127.0.0.1:{}", origin.port()),
        format!("localhost:{}", origin.port()),
        "a.invalid:443".into(),
    ];
    for how in ["plain", "connect", "socks"] {
        let targets = targets.each_ref().map(String::as_str);
        let run = project.line(&ask(&project, how, &targets)).ok();
        assert_eq!(run.stdout.matches("refused: ").count(), targets.len(), "{run:?}");
        assert_eq!(run.violations(), targets);
    }
    assert_eq!(origin.requests(), [""; 0]);
}

#[test]
fn localhost_with_a_port_is_reached_by_both_of_its_addresses() {
    let Some(project) = Project::where_it_works() else { return };
    let mut origins = vec![Origin::start()];
    origins.extend(Origin::start_at((Ipv6Addr::LOCALHOST, 0)).ok());
    for origin in origins {
        let host = format!("localhost:{}", origin.port());
        let line = format!("curl -sS http://{host}/a && {}", ask(&project, "connect", &[&host]));
        let run = allowing(&project, &[&host]).line(line).ok();
        assert_eq!(run.stdout, format!("origin-ok /a\n{host} origin-ok /connect\n"), "{origin:?}");
        let run = allowing(&project, &["localhost"]).line(ask(&project, "socks", &[&host])).ok();
        assert_eq!(run.stdout, format!("{host} origin-ok /socks\n"), "{origin:?}");
    }
}

/// What clients reach, with and without the proxy, and what `palisade explain` says, is one and the same.
#[test]
fn a_local_server_is_reached_by_the_names_that_explain_says() {
    let Some(project) = Project::where_it_works() else { return };
    let origin = Origin::start();
    let port = origin.port();
    let names = ["localhost", "127.0.0.1", "a.b.localhost"].map(|name| format!("{name}:{port}"));
    for (allowed, reached) in [
        (format!("127.0.0.1:{port}"), [true; 3]),
        (format!("localhost:{port}"), [true; 3]),
        ("127.0.0.1".into(), [true; 3]),
        ("localhost".into(), [true, false, false]),
        ("*.localhost".into(), [false, false, true]),
        (format!("a.b.localhost:{port}"), [false, false, true]),
        ("*".into(), [false; 3]),
    ] {
        for (name, reached) in names.iter().zip(reached) {
            let line = format!("curl -sS http://{name}/; curl -sS --noproxy '' http://{name}/");
            let run = allowing(&project, &[&allowed]).line(line);
            assert_eq!(
                run.stdout.matches("origin-ok").count(),
                2 * usize::from(reached),
                "{allowed}: {run:?}"
            );
            let mut explain = Command::new(&Tools::here().palisade);
            explain.current_dir(project.root()).env("HOME", project.home()).env_remove("CLAUDE_CONFIG_DIR");
            let explained = explain.args(["explain", "--allow-host", &allowed, "host", name]).output();
            let explained = explained.expect("palisade starts");
            assert_eq!(explained.status.success(), reached, "{allowed}: {explained:?}");
        }
    }
}

#[test]
fn an_ipv6_address_is_reached_in_every_way() {
    let Some(project) = Project::where_it_works() else { return };
    let Ok(origin) = Origin::start_at((Ipv6Addr::LOCALHOST, 0)) else {
        eprintln!("NOT TRIED: this machine has no IPv6 loopback address");
        return;
    };
    let address = origin.address().to_string();
    let line = format!(
        "curl -gsS http://{address}/direct; curl -gsS --noproxy '' http://{address}/http; \
         curl -gsS --noproxy '' --socks5-hostname ${{ALL_PROXY#socks5h://}} http://{address}/socks"
    );
    let run = allowing(&project, &[&address]).line(&line).ok();
    assert_eq!(run.stdout, "origin-ok /direct\norigin-ok /http\norigin-ok /socks\n", "{run:?}");
    let run = project.line(&line);
    assert!(!run.stdout.contains("origin-ok"), "{run:?}");
    assert_eq!(run.violations(), [address]);
}

#[test]
fn a_server_inside_is_reached_from_inside_only_with_the_proxy_variables_set() {
    let Some(project) = Project::where_it_works() else { return };
    // A server of the host on the same port tells the two loopback interfaces apart.
    let origin = Origin::start();
    let port = origin.port();
    project.write("hello", "from inside\n");
    let line = format!(
        "python3 -u -m http.server --bind 127.0.0.1 {port} > log 2>&1 & until grep -q Serving log; do sleep 0.02; done
         curl -sS http://127.0.0.1:{port}/hello; curl -sS http://localhost:{port}/hello
         python3 -c \"import urllib.request as u; print(u.urlopen('http://localhost:{port}/hello').read().decode(), end='')\"
         node -e \"fetch('http://127.0.0.1:{port}/hello').then(r => r.text()).then(t => process.stdout.write(t))\"
         touch asked; until test -e done; do sleep 0.02; done"
    );
    let inside = std::thread::scope(|scope| {
        let run = scope.spawn(|| project.line(&line));
        eventually("the server inside has been asked", || {
            project.root().join("asked").exists() || run.is_finished()
        });
        let url = format!("http://127.0.0.1:{port}/hello");
        let outside =
            Command::new("curl").args(["-sS", "--noproxy", "*", &url]).output().expect("curl starts");
        assert_eq!(String::from_utf8_lossy(&outside.stdout), "origin-ok /hello\n");
        project.write("done", "");
        run.join().expect("no panic")
    });
    assert_eq!(inside.stdout, "from inside\n".repeat(4), "{inside:?}");
    assert_eq!(inside.violations(), [""; 0]);
}

#[test]
fn a_command_reaches_its_own_proxy_only() {
    let [Some(first), Some(second)] = [Project::where_it_works(), Project::where_it_works()] else { return };
    let origin = Origin::start();
    let address = origin.address().to_string();
    let line = "env | grep -i _proxy= | sort > variables; touch up; until test -e done; do sleep 0.02; done";
    std::thread::scope(|scope| {
        let allowed = scope.spawn(|| allowing(&first, &[&address]).line(line));
        eventually("the first command runs", || first.root().join("up").exists() || allowed.is_finished());
        // The same variables lead the second command to another proxy, which is all that listens in its sandbox.
        let line = format!("{}; grep -c ' 0A ' /proc/net/tcp", ask(&second, "connect", &[&address]));
        let refused = second.line(&line).ok();
        assert_eq!(refused.stdout, format!("{address} refused: HTTP/1.1 403 Forbidden by palisade\n2\n"));
        assert_eq!(refused.violations(), [address.as_str()]);
        first.write("done", "");
        let allowed = allowed.join().expect("no panic").ok();
        assert_eq!(allowed.violations(), [""; 0], "another command's refusals are not this one's");
    });
    assert_eq!(origin.requests(), [""; 0]);
}

#[test]
fn the_variables_lead_every_kind_of_client_to_the_proxy() {
    let Some(project) = Project::where_it_works() else { return };
    let run =
        project.run().env("http_proxy", "http://elsewhere.invalid").env("NO_PROXY", "*").line("env").ok();
    let value = |name: &str| {
        let found = run.stdout.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        found.unwrap_or_default().to_owned()
    };
    for name in ["HTTP_PROXY", "HTTPS_PROXY"] {
        assert!(value(name).starts_with("http://127.0.0.1:"), "{run:?}");
    }
    assert!(value("ALL_PROXY").starts_with("socks5h://127.0.0.1:"), "the proxy looks names up: {run:?}");
    assert_eq!(value("NO_PROXY"), "localhost,127.0.0.1,::1");
    assert_eq!(value("NODE_USE_ENV_PROXY"), "1");
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        assert_eq!(value(name), value(&name.to_lowercase()), "both spellings are in use");
    }
}
