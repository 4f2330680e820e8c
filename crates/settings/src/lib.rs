//! Claude Code's settings files, read as they are and merged into the [`Policy`] and the [`RuleSet`] in force.
//!
//! # What is read
//!
//! The `sandbox` section of these files, from the highest layer to the lowest:
//!
//! | layer | files | relative paths start at |
//! |---|---|---|
//! | command line | [`Flags`], then each [`Extra`], the last one first | the working directory |
//! | local | `settings.local.json` of `.palisade`, `.cogitator`, `.claude` in the project root | the project root |
//! | project | `settings.json` of the same | the project root |
//! | user | `settings.json` of `~/.palisade`, `~/.cogitator`, `~/.claude` (or `$CLAUDE_CONFIG_DIR`) | the file's directory |
//!
//! An administrator's layer will stand above all of them. Other sections are Claude Code's own and are left alone.
//!
//! # How it is merged
//!
//! A switch comes from the highest layer that sets it. Lists are joined from the highest layer to the lowest, and
//! what is said twice is kept once, with its highest origin. Objects are merged key by key.
//!
//! # Whom this trusts
//!
//! A repository's author writes the project's files, and may plant anything in their place. So:
//!
//! - Only regular files are opened, in a way that waits for nobody: a named pipe or a device is refused before
//!   opening it could have an effect, and a file put there in between is caught after opening.
//! - Size and nesting have limits, and all work is linear in the size of the text.
//! - What is malformed is an [`Error`] that names file, line and column; nothing runs on half a policy. A link
//!   that leads nowhere is an error too: what stood behind it may have been a deny.
//! - A key that is not known is a [`Warning`], unless it is a misspelt deny: a rule that was meant to close
//!   something must not get lost.
//! - Text from a file is escaped wherever it is shown.
//!
//! A repository may as yet loosen what the user's own settings say, as far as the layers' order lets it; only
//! `filesystem.disabled` and `network.strictAllowlist` never count from its files.
//!
//! # What this does not do
//!
//! It looks at no path that a rule names: whether it exists, or leads elsewhere, is for the resolver of one
//! command to find out. It watches nothing: loading is a function of the files at one moment.
//!
//! [`Policy`]: palisade_policy::Policy
//! [`RuleSet`]: palisade_permissions::RuleSet
#![forbid(unsafe_code)]

mod combine;
mod error;
mod file;
mod flags;
mod force;
mod keys;
mod load;
mod options;
mod section;
mod starts;
mod tree;
mod warning;

pub use combine::Combine;
pub use error::{Error, Place, Position};
pub use file::MAX_BYTES;
pub use flags::Flags;
pub use load::{Extra, Loaded, Places, load};
pub use options::{CredentialOptions, FilesystemOptions, NetworkOptions, Options, Setting};
pub use tree::MAX_DEPTH;
pub use warning::{Warning, WarningKind};
