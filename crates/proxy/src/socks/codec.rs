//! The server's half of a SOCKS5 handshake, without I/O: bytes in, steps out.
//!
//! The command controls every byte and how they are split into packets. What has arrived is kept as it is
//! and read again from its start until a whole message is there, so a split cannot change the meaning; a message is at
//! most 262 bytes long. Bytes behind the request belong to the tunnel and are handed on untouched.

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
    /// The message. The bound address that it names is always `0.0.0.0:0`: ten bytes, as some clients expect,
    /// and nothing about this machine's addresses.
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
            // SOCKS4 among them: its requests carry no name to judge, and its replies mean nothing to others.
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
    /// The endpoint that is meant, or why none is. A name that is an address in some spelling is that address.
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
