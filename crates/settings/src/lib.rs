//! Claude Code's settings files, read as they are and merged into the [`Policy`] and the [`RuleSet`] in force.
//!
//! ```no_run
//! use palisade_policy::AbsPath;
//! use palisade_settings::{Flags, Places, Trust, load};
//!
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let root = AbsPath::new("/home/me/project")?;
//! let places = Places::of_this_process(root.clone(), root, Trust::Untrusted)?;
//! let loaded = load(&places, &[], &Flags::default())?;
//! for remark in &loaded.dropped {
//!     eprintln!("{remark}");
//! }
//! println!("hosts that are allowed: {}", loaded.policy.network.allowed.len());
//! # Ok(()) }
//! ```
//!
//! # What is read
//!
//! `sandbox`, `permissions` and `allowManagedPermissionRulesOnly` of these files, from the highest layer to the lowest:
//!
//! | layer | files | relative paths start at | `/x` in a rule starts at |
//! |---|---|---|---|
//! | managed | `managed-settings.d/*.json`, the last name first, then `managed-settings.json`, of `/etc/palisade`, `/etc/cogitator`, `/etc/claude-code` (macOS: `/Library/Application Support/Palisade`, …) | nowhere: an error | nowhere: an error |
//! | command line | [`Flags`], then each [`Extra`], the last one first | the working directory | the file's directory; for a text the working directory |
//! | local | `settings.local.json` of `.palisade`, `.cogitator`, `.claude` in the project root | the project root | the project root |
//! | project | `settings.json` of the same | the project root | the project root |
//! | user | `settings.json` of `~/.palisade`, `~/.cogitator`, `~/.claude` (or `$CLAUDE_CONFIG_DIR`) | the file's directory | the file's directory |
//!
//! A name in an administrator's directories that only looks like one of these is warned of, and so is whatever stands
//! where a directory of a user's or a project's should be.
//!
//! Other paths of rules (`x`, `./x`) start at the working directory whatever the file, and so do the extra directories of
//! a user's file. All other keys are Claude Code's own and are left alone. The local file is looked for in the project
//! root only; Claude Code looks at the root of the repository, too.
//!
//! Every key, with its type, default and layers, stands on the page `docs/spec/settings.md`, whose tables are tests;
//! [`schema()`] says the same to editors.
//!
//! # How it is merged
//!
//! A switch comes from the highest layer that sets it. Lists are joined from the highest layer to the lowest, and
//! what is said twice is kept once, with its highest origin; of paths with one that is no repository's, whose word counts
//! for more, if there is one. Objects are merged key by key. Before that, managed locks,
//! and distrust of the project, take values away; all of those are on record as [`Dropped`], with the reason.
//!
//! # Whom this trusts
//!
//! A repository's author writes the project's files, and may plant anything in their place. So:
//!
//! - Only regular files are opened, in a way that waits for nobody: a named pipe or a device is refused before
//!   opening it could have an effect, and a file put there in between is caught after opening.
//! - Size and nesting have limits, and all work is linear in the size of the text.
//! - What is malformed is an [`Error`] that names file, line and column; nothing runs on half a policy. A link
//!   that leads nowhere is an error too: what stood behind it may have been a deny. One entry that cannot be read costs
//!   itself where its loss only tightens; a deny that cannot be read, and anything an administrator wrote, is an error.
//! - A key that is not known is a [`Warning`], unless it is plainly a misspelt or misplaced one that was meant to close
//!   something, or an administrator's: such a rule must not get lost. Far names at the top are left alone.
//! - Text from a file is escaped wherever it is shown.
//! - With [`Trust::Untrusted`], only what tightens counts. Without it a repository may loosen what no lock holds.
//!
//! A user may be the administrator's attacker: a managed file that others than root could change is an error. Whoever
//! builds a program on this takes [`Places::of_this_process`], which knows where an administrator's files are, and by
//! whose home directories their rules count.
//!
//! # What this does not do
//!
//! Of the paths that a rule names it finds out whether a repository's would open what others hide, whatever links are on
//! the way, and for [`check`] and [`inspect`] whether a deny names anything. What wildcards match, and where that leads, is
//! for the resolver of one command to find out, which compares every allow once more. It watches nothing: loading is a function of the files at one
//! moment.
//!
//! [`Policy`]: palisade_policy::Policy
//! [`RuleSet`]: palisade_permissions::RuleSet
#![forbid(unsafe_code)]

mod combine;
mod dropped;
mod error;
mod file;
mod flags;
mod force;
mod hidden;
mod keys;
mod load;
mod lock;
mod meant;
mod options;
mod owner;
#[cfg(test)]
#[path = "../../policy/tests/spec/page.rs"]
mod page;
mod passed_over;
mod places;
mod read;
mod schema;
mod section;
mod show;
#[cfg(test)]
mod spec;
mod starts;
#[cfg(test)]
mod testing;
mod tree;
mod trust;
mod warning;
mod way;

pub use combine::Combine;
pub use dropped::{Dropped, Reason};
pub use error::{Error, Place, Position};
pub use file::MAX_BYTES;
pub use flags::Flags;
pub use load::{Extra, Loaded, check, check_file, inspect, load};
pub use options::{
    CredentialOptions, FilesystemOptions, NetworkOptions, Options, PermissionOptions, Setting,
};
pub use places::{ManagedPlaces, Places, Trust};
pub use schema::schema;
pub use show::{InForce, Shown};
pub use tree::MAX_DEPTH;
pub use warning::{Findings, Warning, WarningKind};
