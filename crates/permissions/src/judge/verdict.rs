//! What rules say about a call, and why; and how that becomes a decision.

use crate::{Mode, PermissionRule, program, removal, shell};
use palisade_policy::{AbsPath, Effect};
use std::fmt;

/// What rules say about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict<'a> {
    /// What is to happen.
    pub answer: Answer,
    /// Why.
    pub reason: Reason<'a>,
    /// The command that the reason is about, as written, when the call runs several.
    pub about: Option<Box<str>>,
    /// Whether the call runs inside the sandbox, by what the caller said and the rules say.
    pub sandboxed: bool,
    /// Every command and every write that was found in a line, and what lets each through.
    pub found: Vec<Found<'a>>,
    /// The rules that would let the call through, for an answer that rules can change; each could be written
    /// to the allow list.
    pub remedy: Vec<Box<str>>,
}

/// What is to happen with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It goes through.
    Allow,
    /// Somebody has to decide.
    Ask(Answerer),
    /// It is refused.
    Deny,
}

/// Who may decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answerer {
    /// Only a person.
    Person,
    /// A person, a hook, or in the mode `auto` the classifier.
    Anyone,
}

/// Why a verdict is what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason<'a> {
    /// A rule of a list says so.
    Rule(&'a PermissionRule),
    /// Whether a rule covers the call cannot be told, since something in it is only known once it runs.
    MayMeet(&'a PermissionRule),
    /// A removal that is always asked about.
    Critical(removal::Critical),
    /// A removal outside of the directories that are worked in.
    Outside(AbsPath),
    /// A write to what programs load their settings and code from.
    Protected(AbsPath),
    /// The guardrails want an approval.
    Guardrails,
    /// The call names hosts of its own.
    NamesHosts,
    /// The command runs inside the sandbox.
    Sandbox,
    /// The mode lets it through, or nothing else does in this mode.
    Mode(Mode),
    /// Rules allow every part of it, or it only reads.
    EveryPart,
    /// The tool needs no permission.
    Harmless,
    /// The line could not be read in full.
    Unreadable(shell::Reason),
    /// The line is longer than what is allowed without asking.
    TooLong,
    /// Its path is longer than what any kernel opens.
    LongPath,
    /// What the line runs could not be told.
    Uncertain(program::Reason),
    /// Where a file lies is only known once the line runs.
    UnknownPath,
    /// It may have another program run, or code that the line does not show.
    Indirect(&'static str),
    /// It may change files, which the mode `plan` asks about.
    Plan,
    /// Nothing allows it.
    NotAllowed,
}

/// One command or one write of a line, and what lets it through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<'a> {
    /// The command or the redirection's target, as written.
    pub text: Box<str>,
    /// What lets it through.
    pub by: By<'a>,
}

/// What lets one part of a line through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By<'a> {
    /// A rule.
    Rule(&'a PermissionRule),
    /// It only reads.
    Reading,
    /// The mode.
    Mode(Mode),
    /// It changes nothing: a wrapper around what is judged on its own, a variable of the shell.
    Nature,
    /// Nothing does.
    Nothing(Reason<'a>),
}

/// What finally happens with a call, and who said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether the call runs.
    pub effect: Effect,
    /// Who decided.
    pub by: DecidedBy,
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecidedBy {
    /// The rules, or the lack of any.
    Rules,
    /// The mode.
    Mode,
    /// The command ran inside the sandbox.
    Sandbox,
    /// A person.
    Person,
    /// The classifier of the mode `auto`.
    Classifier,
    /// A hook.
    Hook,
    /// There was nobody to ask, which refuses.
    Nobody,
}

/// Who turns a question into a decision: a person at a terminal, a classifier, a program that embeds this.
pub trait Decider {
    /// Decides about a verdict that asks. `None` when there is nobody, or when only a person may answer and
    /// this is none.
    fn decide(&mut self, verdict: &Verdict<'_>, answerer: Answerer) -> Option<Decision>;
}

impl<F: FnMut(&Verdict<'_>, Answerer) -> Option<Decision>> Decider for F {
    fn decide(&mut self, verdict: &Verdict<'_>, answerer: Answerer) -> Option<Decision> {
        self(verdict, answerer)
    }
}

impl Verdict<'_> {
    /// Makes a decision of it. An `Allow` or a `Deny` is one; a question that nobody answers, or that
    /// only a person may answer and somebody else did, is refused.
    pub fn decide(&self, decider: &mut dyn Decider) -> Decision {
        let effect = match self.answer {
            Answer::Allow => Effect::Allow,
            Answer::Deny => Effect::Deny,
            Answer::Ask(answerer) => return self.ask(answerer, decider),
        };
        let by = match self.reason {
            Reason::Sandbox => DecidedBy::Sandbox,
            Reason::Mode(_) => DecidedBy::Mode,
            _ => DecidedBy::Rules,
        };
        Decision { effect, by }
    }

    fn ask(&self, answerer: Answerer, decider: &mut dyn Decider) -> Decision {
        let nobody = Decision { effect: Effect::Deny, by: DecidedBy::Nobody };
        match decider.decide(self, answerer) {
            Some(decision) if answerer == Answerer::Person && decision.effect == Effect::Allow => {
                if decision.by == DecidedBy::Person { decision } else { nobody }
            }
            decision => decision.unwrap_or(nobody),
        }
    }
}

/// For people: a sentence without its full stop.
impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Rule(rule) => write!(f, "rule {}", rule.origin),
            Reason::MayMeet(rule) => {
                write!(f, "it cannot be told whether this rule covers it: {}", rule.origin)
            }
            Reason::Critical(why) => why.fmt(f),
            Reason::Outside(path) => {
                write!(f, "it removes {path}, which lies outside of the directories that are worked in")
            }
            Reason::Protected(path) => {
                write!(f, "it writes {path}, from which programs load their settings or code")
            }
            Reason::Guardrails => f.write_str("the guardrails want an approval"),
            Reason::NamesHosts => f.write_str("the call names hosts of its own"),
            Reason::Sandbox => f.write_str("it runs inside the sandbox"),
            Reason::Mode(mode) => write!(f, "the mode is {mode}"),
            Reason::EveryPart => f.write_str("every part of it is allowed or only reads"),
            Reason::Harmless => f.write_str("the tool needs no permission"),
            Reason::Unreadable(why) => write!(f, "the line could not be read in full: {why}"),
            Reason::TooLong => f.write_str("the line is too long to go through without asking"),
            Reason::LongPath => f.write_str("its path is longer than what any system opens"),
            Reason::Uncertain(why) => why.fmt(f),
            Reason::UnknownPath => f.write_str("which file it is about is only known once it runs"),
            Reason::Indirect(what) => {
                write!(f, "{what} may change which program runs, or run code that is not shown")
            }
            Reason::Plan => f.write_str("it may change files, and the mode is plan"),
            Reason::NotAllowed => f.write_str("no rule allows it"),
        }
    }
}
