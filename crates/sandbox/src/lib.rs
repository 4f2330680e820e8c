//! Runs commands confined by the operating system: the facade over Palisade's layers.
//!
//! A [`Sandbox`] is made from a [`Policy`](palisade_policy::Policy) and runs [`Request`]s; each gets a bubblewrap, a
//! seccomp filter and a proxy of its own, and gives an [`Outcome`] with what was stopped. Where the sandbox cannot work
//! there is an [`Error`] that says why and what to do. A command runs without it in two cases only, and both its
//! [`Process`] and its [`Outcome`] say so: the [`Request`] asks for that, or the policy's
//! [`fail_if_unavailable`](palisade_policy::Policy::fail_if_unavailable) is `false`, which settings may say, a
//! repository's own among them. Whoever lets a command run *since* it is confined sets that to `true`.
//!
//! It does not know that settings files exist (`palisade-settings` reads them into a policy), nor permission modes. The
//! example `tests/examples/embed` in the repository puts all of it together.
//!
//! ```no_run
//! use palisade::{Command, Options, Request, Sandbox};
//!
//! # async fn example() -> Result<(), palisade::Error> {
//! let sandbox = Sandbox::create(Options::default())?;
//! let request = Request::new(Command::Shell("make test".into()), "/home/me/project");
//! let outcome = sandbox.run(request).await?;
//! println!("{} {:?}", outcome.status, outcome.sandbox.violations);
//! # Ok(()) }
//! ```
#![forbid(unsafe_code)]

mod bridge;
mod cover;
mod environment;
mod error;
mod head_start;
mod launcher;
mod listen;
mod loading;
mod mount_watch;
mod needed;
mod outcome;
mod outside;
mod own;
mod plan;
mod prepared;
mod probe;
mod process;
mod profile;
mod protected;
mod report;
mod request;
mod resolve;
mod sandbox;
mod scratch;
mod shared;
mod shortage;
mod streams;
mod task;

pub use cover::CoverError;
pub use error::Error;
pub use head_start::HeadStart;
pub use nix::sys::signal::Signal;
pub use nix::unistd::Pid;
pub use outcome::{Captured, Outcome, Report};
pub use outside::UnsandboxedReason;
pub use own::{OwnPath, OwnVerdict};
pub use palisade_bwrap::linux::{Entry, LaunchError, duplicate_inherited, entry};
pub use prepared::Prepared;
pub use probe::{Cause, Probe, ProbedBridge, probe};
pub use process::Process;
pub use profile::Backend;
pub use report::plain;
pub use request::{Command, Request, Stream};
pub use resolve::{links_on, real_path};
pub use sandbox::{Options, Sandbox};
pub use scratch::ScratchError;
pub use shortage::Shortage;
