//! The Linux half: descriptors, namespaces, processes.
//!
//! One bubblewrap runs one command (on some machines [within another](Bridge)); nothing else of Palisade's runs inside.
//! What the pieces assume of the attacker stands in each: [`start()`] (descriptors and lifetime),
//! [`listeners`](bind_inside) (namespaces), [`Bridge`] (where those cannot be entered), [`proc_guards()`] (`/proc`),
//! [`Guard`] (what happens to files outside meanwhile), [`Program`] (planted programs), [`entry`] (the command's first moment), [`Warden`] (the end of Palisade itself).
//! All `unsafe` code of the crate is in `sys`.

mod around;
mod attach;
mod bridge;
mod channels;
pub mod entry;
mod error;
mod guard;
mod launch;
mod listeners;
mod mounted;
mod proc_guards;
mod program;
mod running;
mod status;
mod sys;
mod verify;
mod warden;

pub use attach::{Attachments, can_attach};
pub use bridge::{Bridge, Socat};
pub use entry::Entry;
pub use error::LaunchError;
pub use guard::Guard;
pub use launch::{Build, Held, Start, Started, start};
pub use listeners::{Listener, bind_inside};
pub use mounted::wait_until_unmounted;
pub use proc_guards::{ProcGuards, proc_guards};
pub use program::{Program, ProgramError};
pub use running::{Ended, Running};
pub use sys::{duplicate_inherited, with_own_descriptors};
pub use verify::{Expected, Identity};
pub use warden::Warden;
