//! The proxy as a command sees it: real sockets on loopback, a local server as the outside, raw bytes in and
//! out.
//!
//! A test waits for events, never for time; where something must *not* happen, an event that comes after it
//! is waited for.
#![forbid(unsafe_code)]

mod direct;
mod http;
mod life;
mod socks;
mod support;
