//! Permission rules for the tool calls of a coding agent: `Tool` and `Tool(pattern)`, and which commands run
//! outside the sandbox.
//!
//! The crate is pure, and it does not know that a sandbox exists: it is told whether a call runs in one. A
//! line for the shell is read ([`shell`]), what it runs is found behind wrappers ([`program`]), removals that
//! always ask are found ([`removal`]), and [`judge()`] answers with a [`Verdict`], which says why.
//! [`Verdict::decide`] makes a decision of it.
//!
//! The text of a rule may come from a repository's files, and the call from whoever wrote what an agent
//! reads, so both may be hostile: reading is total and linear in the text's length, and what cannot be read
//! is an error with a reason, never a looser rule.
//!
//! ```
//! use palisade_permissions::shell::Shell;
//! use palisade_permissions::{Answer, Call, Context, Mode, RuleSet, judge};
//! use palisade_policy::AbsPath;
//!
//! let root = AbsPath::new("/home/me/project")?;
//! let context = Context {
//!     mode: Mode::Default,
//!     sandboxed: false,
//!     files_disabled: false,
//!     auto_allow: true,
//!     guardrails_want_approval: false,
//!     root: &root,
//!     working_directory: &root,
//!     home: None,
//!     directories: &[],
//!     shell: Shell::Bash,
//!     folds_case: false,
//!     // A program asks the file system here.
//!     follow: &|path| path.clone(),
//! };
//! let rules = RuleSet::default();
//! let verdict = judge(&rules, &Call::command("ls && make"), &context);
//! assert!(matches!(verdict.answer, Answer::Ask(_)));
//! assert_eq!(verdict.reason.to_string(), "no rule allows it");
//! assert_eq!(*verdict.remedy, ["Bash(make)".into()]);
//! # Ok::<(), palisade_policy::PathError>(())
//! ```
#![forbid(unsafe_code)]

mod agent_mode;
mod command_pattern;
mod judge;
mod mode;
mod path_rule;
pub mod program;
mod protected;
mod read_only;
pub mod removal;
mod rule;
mod rule_set;
pub mod shell;
mod variables;

pub use agent_mode::{AgentMode, judge_agent};
pub use command_pattern::{CommandPattern, CommandPatternError};
pub use judge::{
    Answer, Answerer, By, Call, Context, DecidedBy, Decider, Decision, Found, Input, Reason, Verdict,
    excluded, judge, judge_host, stopping,
};
pub use mode::Mode;
pub use path_rule::{PathRule, PathRuleError, RuleAnchor, spell_path};
pub use rule::{FileTool, List, Pattern, Rule, RuleError};
pub use rule_set::{AdditionalDirectory, DefaultMode, Excluded, PermissionRule, RuleSet};
