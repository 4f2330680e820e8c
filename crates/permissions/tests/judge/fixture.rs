//! A project to judge calls in: `/w/proj`, of the user whose home is `/home/u`.

use palisade_permissions::shell::Shell;
use palisade_permissions::{
    AdditionalDirectory, Answer, Answerer, Call, CommandPattern, Context, DefaultMode, Excluded, Input, List,
    Mode, PermissionRule, Rule, RuleAnchor, RuleSet, Verdict, judge,
};
use palisade_policy::{AbsPath, Origin};

/// Rules, and how a call runs.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) rules: RuleSet,
    pub(crate) mode: Mode,
    pub(crate) sandboxed: bool,
    pub(crate) files_disabled: bool,
    pub(crate) auto_allow: bool,
    pub(crate) guardrails: bool,
    pub(crate) folds_case: bool,
}

/// What a verdict comes to, in the words of the specification.
pub(crate) fn said(verdict: &Verdict<'_>) -> &'static str {
    match verdict.answer {
        Answer::Allow => "allow",
        Answer::Ask(Answerer::Anyone) => "ask",
        Answer::Ask(Answerer::Person) => "ask a person",
        Answer::Deny => "deny",
    }
}

pub(crate) fn path(text: &str) -> AbsPath {
    AbsPath::new(text).expect("a path of a test")
}

impl Session {
    pub(crate) fn new() -> Self {
        let directories =
            vec![AdditionalDirectory { path: path("/x/add"), origin: Origin::builtin("test", "/x/add") }];
        Session {
            rules: RuleSet { directories, allow_unsandboxed: true, ..RuleSet::default() },
            mode: Mode::Default,
            sandboxed: false,
            files_disabled: false,
            auto_allow: true,
            guardrails: false,
            folds_case: false,
        }
    }

    pub(crate) fn sandboxed() -> Self {
        Session { sandboxed: true, ..Self::new() }
    }

    pub(crate) fn mode(self, mode: Mode) -> Self {
        Session { mode, ..self }
    }

    pub(crate) fn deny(mut self, rules: &[&str]) -> Self {
        self.rules.deny.extend(rules.iter().map(|text| rule(text, List::Deny)));
        self
    }

    pub(crate) fn ask(mut self, rules: &[&str]) -> Self {
        self.rules.ask.extend(rules.iter().map(|text| rule(text, List::Ask)));
        self
    }

    pub(crate) fn allow(mut self, rules: &[&str]) -> Self {
        self.rules.allow.extend(rules.iter().map(|text| rule(text, List::Allow)));
        self
    }

    pub(crate) fn exclude(mut self, patterns: &[&str]) -> Self {
        self.rules.excluded.extend(patterns.iter().map(|text| Excluded {
            pattern: CommandPattern::parse(text).expect("a pattern of a test"),
            origin: Origin::builtin("excludedCommands", text),
        }));
        self
    }

    pub(crate) fn disable(mut self, mode: Mode) -> Self {
        let origin = Origin::builtin("permissions", mode.name());
        self.rules.disabled_modes.push(DefaultMode { mode, origin });
        self
    }

    /// Judges a call.
    pub(crate) fn judge<T>(&self, call: &Call, and: impl FnOnce(&Verdict<'_>) -> T) -> T {
        self.judge_where(&follow, call, and)
    }

    /// Judges a call where links lead as `follow` says.
    pub(crate) fn judge_where<T>(
        &self,
        follow: &dyn Fn(&AbsPath) -> AbsPath,
        call: &Call,
        and: impl FnOnce(&Verdict<'_>) -> T,
    ) -> T {
        let (root, home) = (path("/w/proj"), path("/home/u"));
        let context = Context {
            mode: self.mode,
            sandboxed: self.sandboxed,
            files_disabled: self.files_disabled,
            auto_allow: self.auto_allow,
            guardrails_want_approval: self.guardrails,
            root: &root,
            working_directory: &root,
            home: Some(&home),
            directories: &[],
            shell: Shell::Bash,
            folds_case: self.folds_case,
            follow,
        };
        and(&judge(&self.rules, call, &context))
    }

    /// What a line comes to.
    pub(crate) fn says(&self, line: &str) -> &'static str {
        self.judge(&Call::command(line), said)
    }

    #[track_caller]
    pub(crate) fn check(&self, line: &str, expected: &str) {
        let call = Call::command(line);
        let (found, shown) = self.judge(&call, |verdict| (said(verdict), format!("{verdict:#?}")));
        // Whoever asks for a question does not mind who answers it.
        let is_same = found == expected || (expected == "asks" && found.starts_with("ask"));
        assert!(is_same, "{line:?} should {expected}, in {:?}: {shown}", self.mode);
    }
}

/// The links of the project.
pub(crate) fn follow(path: &AbsPath) -> AbsPath {
    let link = AbsPath::new("/w/proj/link").expect("a path");
    if !link.covers(path) {
        return path.clone();
    }
    let below = &path.as_bytes()[link.as_bytes().len()..];
    AbsPath::new([b"/home/u/.ssh", below].concat()).expect("a path")
}

/// Checks that each of the lines is judged so.
#[track_caller]
pub(crate) fn all(session: &Session, lines: &[&str], expected: &str) {
    for line in lines {
        session.check(line, expected);
    }
}

/// A session in which every command is allowed but for these denies.
pub(crate) fn open(deny: &[&str]) -> Session {
    Session::new().allow(&["Bash"]).deny(deny)
}

pub(crate) fn rule(text: &str, list: List) -> PermissionRule {
    let anchor = RuleAnchor {
        working_directory: path("/w/proj"),
        source: Some(path("/w/proj")),
        home: Some(path("/home/u")),
        other_home: None,
        folds_case: false,
    };
    let rule = Rule::parse(text, list, &anchor).unwrap_or_else(|error| panic!("{text} {error}"));
    PermissionRule { rule, origin: Origin::builtin("permissions", text) }
}

/// A call of a tool that has no patterns of its own.
pub(crate) fn tool(name: &str, fields: &[(&str, &str)]) -> Call {
    let fields = fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    Call { tool: name.into(), input: Input::Other, fields }
}
