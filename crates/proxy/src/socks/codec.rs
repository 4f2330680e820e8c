//! The server's half of a SOCKS5 handshake, without I/O: bytes in, steps out.
//!
//! The command controls every byte and how they are split into packets. What has arrived is kept as it is
//! and read again from its start until a whole message is there, so a split cannot change the meaning; a
//! message is at most 262 bytes long. Bytes behind the request belong to the tunnel and are handed on
//! untouched.

use palisade_policy::{Endpoint, Host, HostError};
use std::net::{IpAddr, Ipv6Addr};

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NO_ACCEPTABLE_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// A handshake under way.
#[derive(Debug, Default)]
pub(crate) struct Handshake {
    state: State,
    received: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Greeting,
    Request,
    Over,
}

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Receive more bytes.
    Read,
    /// Send these bytes.
    Write(Vec<u8>),
    /// The client asks for this connection. The handshake is over but for the reply.
    Connect(Target),
    /// The client was turned away, and was told so where it could be: end the connection.
    Close,
}

/// What a client asks to be connected to, as it said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    name: Name,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Address(IpAddr),
    Text(Vec<u8>),
}

/// The answers to a request (RFC 1928, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    Succeeded = 0,
    Failed = 1,
    NotAllowed = 2,
    HostUnreachable = 4,
    ConnectionRefused = 5,
    BadCommand = 7,
    BadAddress = 8,
}

impl Reply {
    /// The message. The bound address that it names is always `0.0.0.0:0`: ten bytes, as some clients
    /// expect, and nothing about this machine's addresses.
    pub(crate) fn bytes(self) -> [u8; 10] {
        [VERSION, self as u8, 0, IPV4, 0, 0, 0, 0, 0, 0]
    }
}

impl Handshake {
    /// Takes what arrived.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    /// What is to be done now. To be asked again after each step but the last two.
    pub(crate) fn step(&mut self) -> Step {
        match self.state {
            State::Greeting => self.greeting(),
            State::Request => self.request(),
            State::Over => Step::Close,
        }
    }

    /// What was received behind the request: the first bytes for the tunnel.
    pub(crate) fn into_rest(self) -> Vec<u8> {
        self.received
    }

    fn greeting(&mut self) -> Step {
        match self.received[..] {
            [VERSION, count, ref rest @ ..] if rest.len() >= count.into() => {
                let offered = rest[..count.into()].contains(&NO_AUTHENTICATION);
                self.received.drain(..2 + usize::from(count));
                self.state = if offered { State::Request } else { State::Over };
                Step::Write(vec![VERSION, if offered { NO_AUTHENTICATION } else { NO_ACCEPTABLE_METHOD }])
            }
            [] | [VERSION, ..] => Step::Read,
            // SOCKS4 among them: its requests carry no name to judge, and its replies mean nothing to
            // others.
            _ => self.over(Step::Close),
        }
    }

    fn request(&mut self) -> Step {
        let [version, command, _reserved, kind, ref rest @ ..] = self.received[..] else { return Step::Read };
        if version != VERSION {
            return self.over(Step::Close);
        }
        if command != CONNECT {
            return self.refuse(Reply::BadCommand);
        }
        let length = match (kind, rest.first()) {
            (IPV4, _) => 4,
            (IPV6, _) => 16,
            (NAME, Some(&length)) => 1 + usize::from(length),
            (NAME, None) => return Step::Read,
            _ => return self.refuse(Reply::BadAddress),
        };
        let Some((name, [high, low, ..])) = rest.split_at_checked(length) else { return Step::Read };
        let target = Target { name: Name::read(kind, name), port: u16::from_be_bytes([*high, *low]) };
        self.received.drain(..4 + length + 2);
        self.over(Step::Connect(target))
    }

    fn refuse(&mut self, reply: Reply) -> Step {
        self.over(Step::Write(reply.bytes().to_vec()))
    }

    fn over(&mut self, step: Step) -> Step {
        self.state = State::Over;
        step
    }
}

impl Name {
    /// Reads an address of one of the three kinds, whole.
    fn read(kind: u8, bytes: &[u8]) -> Self {
        if kind == NAME {
            return Name::Text(bytes.get(1..).unwrap_or_default().to_vec());
        }
        let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
        let v6 = <[u8; 16]>::try_from(bytes).map(IpAddr::from);
        v4.or(v6).map_or_else(|_| Name::Text(bytes.to_vec()), Name::Address)
    }
}

impl Target {
    /// The endpoint that is meant, or why none is. A name that is an address in some spelling is that
    /// address.
    pub(crate) fn endpoint(&self) -> Result<Endpoint, String> {
        if self.port == 0 {
            return Err("there is no port 0".into());
        }
        let host = match &self.name {
            Name::Address(address) => Host::from(*address),
            Name::Text(bytes) => read_host(bytes).map_err(|error| error.to_string())?,
        };
        Ok(Endpoint { host, port: self.port })
    }

    /// As the client said it.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = match &self.name {
            Name::Address(address) => Host::from(*address).to_string().into_bytes(),
            Name::Text(bytes) => bytes.clone(),
        };
        text.extend_from_slice(format!(":{}", self.port).as_bytes());
        text
    }
}

fn read_host(bytes: &[u8]) -> Result<Host, HostError> {
    let text = std::str::from_utf8(bytes).map_err(|_| HostError::Invalid)?;
    // Brackets belong to URLs; clients send IPv6 addresses as names with and without them.
    match text.parse::<Ipv6Addr>() {
        Ok(address) => Ok(Host::from(IpAddr::from(address))),
        Err(_) => Host::parse(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the server does with a client's bytes, in words.
    fn run(chunks: &[&[u8]]) -> String {
        let mut handshake = Handshake::default();
        let mut chunks = chunks.iter();
        let mut done = Vec::new();
        loop {
            match handshake.step() {
                Step::Read => match chunks.next() {
                    Some(chunk) => handshake.receive(chunk),
                    None => return [done, vec!["wait".into()]].concat().join(", "),
                },
                Step::Write(bytes) => done.push(format!("write {bytes:02x?}")),
                Step::Connect(target) => {
                    for chunk in chunks {
                        handshake.receive(chunk);
                    }
                    let endpoint =
                        target.endpoint().map_or_else(|why| format!("no ({why})"), |e| e.to_string());
                    done.push(format!("connect {endpoint}"));
                    done.push(format!("rest {:?}", String::from_utf8_lossy(&handshake.into_rest())));
                    return done.join(", ");
                }
                Step::Close => return [done, vec!["close".into()]].concat().join(", "),
            }
        }
    }

    /// The same, whatever the bytes are split into.
    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(run(&[bytes]), expected, "{bytes:02x?} at once");
        for at in 0..bytes.len() {
            assert_eq!(run(&[&bytes[..at], &bytes[at..]]), expected, "{bytes:02x?} split at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(run(&single), expected, "{bytes:02x?} byte by byte");
    }

    fn name_request(name: &[u8], port: u16) -> Vec<u8> {
        let mut bytes =
            vec![5, 1, 0, 5, 1, 0, 3, u8::try_from(name.len()).expect("a name of 255 bytes at most")];
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(&port.to_be_bytes());
        bytes
    }

    #[test]
    fn requests() {
        check(&name_request(b"example.com", 443), "write [05, 00], connect example.com:443, rest \"\"");
        check(
            &[&name_request(b"Example.COM.", 80)[..], b"GET / HTTP/1.1"].concat(),
            "write [05, 00], connect example.com:80, rest \"GET / HTTP/1.1\"",
        );
        check(
            &[5, 2, 2, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80],
            "write [05, 00], connect 127.0.0.1:80, rest \"\"",
        );
        let v6 = [&[5, 1, 0, 5, 1, 0, 4][..], &[0; 15], &[1, 0x1f, 0x90]].concat();
        check(&v6, "write [05, 00], connect [::1]:8080, rest \"\"");
        let mapped = [&[5, 1, 0, 5, 1, 0, 4][..], &[0; 10], &[255, 255, 127, 0, 0, 1, 0, 80]].concat();
        check(&mapped, "write [05, 00], connect 127.0.0.1:80, rest \"\"");
    }

    #[test]
    fn names_that_are_addresses() {
        for (name, host) in [
            ("127.0.0.1", "127.0.0.1"),
            ("0x7f.1", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("169.254.169.254.", "169.254.169.254"),
            ("[::1]", "[::1]"),
            ("::1", "[::1]"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
        ] {
            check(
                &name_request(name.as_bytes(), 80),
                &format!("write [05, 00], connect {host}:80, rest \"\""),
            );
        }
    }

    #[test]
    fn names_that_are_no_hosts() {
        for (name, why) in [
            (&b""[..], "the host is empty"),
            (b"a\0.test", "the host holds '\\0', which no host name may"),
            (
                b"\xff\xfe",
                r#"not a valid host name or address; write one such as "example.com" or "192.0.2.1""#,
            ),
            (b"a test", "the host holds ' ', which no host name may"),
            (b"fe80::1%eth0", "the host holds '%', which no host name may"),
            (b"a.test:80", "an IPv6 address must stand in brackets"),
            (&[b'a'; 255], "the host name is too long"),
        ] {
            check(&name_request(name, 80), &format!("write [05, 00], connect no ({why}), rest \"\""));
        }
        check(&name_request(b"a.test", 0), "write [05, 00], connect no (there is no port 0), rest \"\"");
    }

    #[test]
    fn who_is_turned_away() {
        check(&[5, 1, 2], "write [05, ff], close");
        check(&[5, 0], "write [05, ff], close");
        check(&[4, 1, 0, 80, 127, 0, 0, 1, 0], "close");
        check(b"GET / HTTP/1.1\r\n\r\n", "close");
        check(&[5, 1, 0, 4, 1, 0, 1], "write [05, 00], close");
        let bad_command = "write [05, 00], write [05, 07, 00, 01, 00, 00, 00, 00, 00, 00], close";
        check(&[5, 1, 0, 5, 2, 0, 1, 127, 0, 0, 1, 0, 80], bad_command);
        check(&[5, 1, 0, 5, 3, 0, 9], bad_command);
        let bad_kind = "write [05, 00], write [05, 08, 00, 01, 00, 00, 00, 00, 00, 00], close";
        check(&[5, 1, 0, 5, 1, 0, 2, 0, 80], bad_kind);
    }

    #[test]
    fn what_is_not_whole_yet_waits() {
        let whole = name_request(b"a.test", 80);
        for at in 3..whole.len() {
            assert_eq!(run(&[&whole[..at]]), "write [05, 00], wait", "the first {at} bytes");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_split_mean_the_same(
            start in prop::sample::select(vec![&[][..], &[5, 1, 0], &[5, 1, 0, 5, 1, 0], &[5, 1, 0, 5, 1, 0, 3]]),
            rest in prop::collection::vec(any::<u8>(), 0..300),
            sizes in prop::collection::vec(1..40usize, 1..20),
        ) {
            let bytes = [start, &rest].concat();
            let mut left = &bytes[..];
            let mut chunks = Vec::new();
            for size in sizes.into_iter().cycle() {
                if left.is_empty() {
                    break;
                }
                let (chunk, behind) = left.split_at(size.min(left.len()));
                chunks.push(chunk);
                left = behind;
            }
            prop_assert_eq!(run(&chunks), run(&[&bytes]));
        }
    }
}
