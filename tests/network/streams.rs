//! What passes through an open connection passes whole and in both directions.

use super::allowing;
use palisade_tests::{Origin, Project};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// How a line connects to `$1` and then runs a client over it.
const WAYS: [(&str, &str); 4] = [
    ("directly", ""),
    ("through HTTP", "--noproxy '' -x $HTTP_PROXY"),
    ("through CONNECT", "--noproxy '' -p -x $HTTP_PROXY"),
    ("through SOCKS", "--noproxy '' --socks5-hostname ${ALL_PROXY#socks5h://}"),
];

#[test]
fn fifty_megabytes_go_up_and_come_down_unchanged() {
    let Some(project) = Project::where_it_works() else { return };
    let origin = Origin::start();
    let address = origin.address().to_string();
    for (way, options) in WAYS {
        let line = format!(
            "head -c 50000000 /dev/urandom > up && curl -sS {options} -T up -o down http://{address}/f && \
             test \"$(head -n 1 down)\" = 'origin-ok /f' && tail -c 50000000 down | cmp up -"
        );
        let run = allowing(&project, &[&address]).line(line);
        assert_eq!(run.status, 0, "{way}: {run:?}");
    }
}

#[test]
fn three_hundred_requests_in_a_burst_are_all_answered() {
    let Some(project) = Project::where_it_works() else { return };
    let origin = Origin::start();
    let address = origin.address().to_string();
    for (way, options) in WAYS {
        let line = format!(
            "curl -sS {options} -Z --parallel-max 40 'http://{address}/[1-300]' | sort -V | uniq | wc -l; echo ${{PIPESTATUS[0]}}"
        );
        let run = allowing(&project, &[&address]).line(line);
        assert_eq!(run.stdout, "300\n0\n", "{way}: {run:?}");
    }
    assert_eq!(origin.requests().len(), 300 * WAYS.len());
}

/// Connects through the way of its first argument, waits for the server's first word, sends what it has, says that
/// no more comes, and prints what the server made of it.
const TALK: &str = r#"
import os, socket, sys
how, target = sys.argv[1], sys.argv[2].rsplit(":", 1)
def dial(url):
    host, port = url.split("//")[1].split(":")
    return socket.create_connection((host, int(port)))
def take(connection, count):
    taken = b""
    while len(taken) < count:
        taken += connection.recv(count - len(taken))
    return taken
if how == "direct":
    connection = socket.create_connection((target[0], int(target[1])))
elif how == "connect":
    connection = dial(os.environ["HTTP_PROXY"])
    connection.sendall(b"CONNECT %s HTTP/1.1\r\n\r\n" % ":".join(target).encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += take(connection, 1)
    assert head.startswith(b"HTTP/1.1 200"), head
else:
    connection = dial(os.environ["ALL_PROXY"])
    connection.sendall(b"\x05\x01\x00")
    assert take(connection, 2) == b"\x05\x00"
    connection.sendall(b"\x05\x01\x00\x01" + socket.inet_aton(target[0]) + int(target[1]).to_bytes(2, "big"))
    assert take(connection, 10) == b"\x05\x00\x00\x01" + bytes(6)
print(take(connection, 7).decode(), end="")
connection.sendall(b"x" * 3000000)
connection.shutdown(socket.SHUT_WR)
rest = b""
while chunk := connection.recv(65536):
    rest += chunk
print(len(rest), rest[-20:].decode(), end="")
"#;

/// Speaks first, listens to the end, answers with a lot and closes at once.
fn start_talker() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    let talking = listener.try_clone().expect("a descriptor");
    std::thread::spawn(move || talking.incoming().flatten().for_each(talk));
    (listener, address)
}

fn talk(mut client: TcpStream) {
    let _ = client.write_all(b"banner\n");
    let mut heard = Vec::new();
    let _ = client.read_to_end(&mut heard);
    let end = format!(" heard {:>13}\n", heard.len());
    let _ = client.write_all(&[vec![b'.'; 2_000_000], end.into_bytes()].concat());
}

#[test]
fn a_server_may_speak_first_and_each_side_may_end_before_the_other() {
    let Some(project) = Project::where_it_works() else { return };
    let (_listener, address) = start_talker();
    project.write("talk.py", TALK);
    for how in ["direct", "connect", "socks"] {
        let run = allowing(&project, &[&address]).argv(["python3", "talk.py", how, &address]).ok();
        assert_eq!(run.stdout, format!("banner\n2000021 heard {:>13}\n", 3_000_000), "{how}");
    }
}
