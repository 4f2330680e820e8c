//! What a command's refused accesses look like to whoever reads its output.
//!
//! - [`Neutraliser`] passes a captured output on and takes the life out of every `<sandbox_violations>` tag
//!   that the command printed itself.
//! - [`stderr_violations`] reads file violations from the errors that a command wrote.
//! - [`Ignored`] keeps out what somebody expects.
//! - [`block()`] and [`plain()`] write violations down: for the model that reads the output, for a person at a
//!   terminal.
//!
//! The attacker writes every byte that comes in here, chooses where the chunks end, and is believed in
//! nothing: a violation read from stderr is advisory, since a command can hide one or print one that never
//! happened. The access is blocked either way. What the attacker must not get is a block of its own making
//! that reads like ours, an escape sequence on a person's terminal, or memory without bounds.
//!
//! Nothing here does I/O, and nothing here decides whether an access goes through.

mod block;
mod error_line;
mod ignored;
mod lookalike;
mod neutraliser;
mod quotes;
mod refusal;
mod stderr;
mod tag;

pub(crate) use block::block;
pub use block::plain;
pub(crate) use ignored::Ignored;
pub(crate) use neutraliser::Neutraliser;
pub(crate) use stderr::stderr_violations;
