//! Permission rules for the tool calls of a coding agent: `Tool` and `Tool(pattern)`, and which commands run
//! outside the sandbox.
//!
//! The crate is pure, and it does not know that a sandbox exists. So far it reads rules and command patterns
//! and shows them again; it does not judge: matching a pattern against a shell line needs a reader that sees every
//! command of the line as bash will run it, and a pattern matched in any lesser way would allow
//! more than it says.
//!
//! The text of a rule may come from a repository's files, so its author may be hostile: reading is total and
//! linear in the text's length, and what cannot be read is an error with a reason, never a looser rule.
#![forbid(unsafe_code)]

mod command_pattern;
mod mode;
mod path_rule;
pub mod program;
pub mod removal;
mod rule;
mod rule_set;
pub mod shell;

pub use command_pattern::{CommandPattern, CommandPatternError};
pub use mode::Mode;
pub use path_rule::{PathRule, PathRuleError, RuleAnchor, spell_path};
pub use rule::{FileTool, List, Pattern, Rule, RuleError};
pub use rule_set::{AdditionalDirectory, DefaultMode, Excluded, PermissionRule, RuleSet};
