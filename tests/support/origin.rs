//! A small HTTP server on loopback that stands for the network.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A server that answers every request with `origin-ok PATH`, a line break and the request's body. It ends with the
/// test's process.
#[derive(Debug)]
pub struct Origin {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Origin {
    /// Starts the server on a free port of `127.0.0.1`.
    pub fn start() -> Self {
        Self::start_at((Ipv4Addr::LOCALHOST, 0)).expect("a free port")
    }

    /// Starts the server at `address`, which must be one of loopback.
    pub fn start_at(address: impl Into<SocketAddr>) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address.into())?;
        let address = listener.local_addr()?;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || serve(stream, &seen));
            }
        });
        Ok(Origin { address, requests })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The request lines that have arrived.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no panic").clone()
    }
}

/// Serves one connection; a client that breaks off is none of its business.
fn serve(stream: TcpStream, seen: &Mutex<Vec<String>>) {
    let Ok(reader) = stream.try_clone() else { return };
    let mut reader = BufReader::new(reader);
    while let Some(request) = Request::read(&mut reader, &stream, seen) {
        if request.answer(&stream).is_err() || request.is_last {
            return;
        }
    }
}

struct Request {
    path: String,
    body: Vec<u8>,
    /// Whether the client wants the connection closed behind the answer.
    is_last: bool,
}

impl Request {
    /// The next request; `None` when the client has closed. A client that waits for leave to send its body gets it.
    fn read(
        reader: &mut BufReader<TcpStream>,
        mut stream: &TcpStream,
        seen: &Mutex<Vec<String>>,
    ) -> Option<Self> {
        let first = line(reader)?;
        seen.lock().expect("no panic").push(first.clone());
        let (mut length, mut is_last) = (0, false);
        loop {
            let header = line(reader)?.to_ascii_lowercase();
            match header.split_once(':').map(|(name, value)| (name, value.trim())) {
                None if header.is_empty() => break,
                Some(("content-length", value)) => length = value.parse().ok()?,
                Some(("connection", value)) => is_last = value == "close",
                Some(("expect", _)) => stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Request { path: first.split_whitespace().nth(1)?.to_owned(), body, is_last })
    }

    fn answer(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        let text = format!("origin-ok {}\n", self.path);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", text.len() + self.body.len());
        stream.write_all(&[head.as_bytes(), text.as_bytes(), &self.body].concat())
    }
}

/// The next line without its end; `None` when the client has closed.
fn line(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    let count = reader.read_line(&mut line).ok()?;
    (count > 0).then(|| line.trim_end().to_owned())
}
