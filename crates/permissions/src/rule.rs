//! One permission rule: `Tool` or `Tool(pattern)`.
//!
//! # Grammar
//!
//! The tool's name is ASCII letters, digits, `_`, `-`, and `*` for any run of them. A name with a `*` may
//! stand in a deny or an ask; in an allow only behind a whole server's name (`mcp__github__get_*`). `Task` is
//! an older name of `Agent`. The pattern is all that stands between the first `(` and a `)` that ends the
//! text:
//!
//! | rule | pattern |
//! |---|---|
//! | `Bash(npm *)`, `Monitor(…)`, `PowerShell(…)` | a [`CommandPattern`]; `Bash(*)` and `Bash(:*)` mean `Bash` |
//! | `Read(~/.ssh/**)`, `Edit(src/**)`, `Cd(…)` | a [`PathRule`] |
//! | `Write(…)`, `MultiEdit(…)`, `NotebookEdit(…)` | in a deny or an ask as for `Edit`; in an allow an error: `Edit` is what covers these tools |
//! | `Grep(…)`, `Glob(…)` | in a deny or an ask as for `Read`; in an allow an error |
//! | `WebFetch(domain:example.com)` | a [`HostPattern`], behind `domain:` |
//! | `Agent(name)`, `Skill(name)`, `Skill(name *)` | a name, with `*` for any characters |
//! | `Tool(field:value)` | in a deny or an ask: one scalar field of the call, compared letter by letter but for `*` |
//!
//! - A field's name is one that the tool is known to have, or for a tool that is not known any name. A rule
//!   on the field that the tool's own patterns speak of (`Bash(command:…)`, `Read(file_path:…)`) is an error:
//!   it would be compared before anything is normalised.
//! - `Bash(timeout:*)` is about the program `timeout`, `Bash(timeout:5000)` about the call's time limit.
//! - Another tool's pattern, in a deny or an ask, is any of the call's fields; in an allow it is an error,
//!   since nobody knows what it covers.
//!
//! This module does not decide what a caller does about an error: a deny or an ask that cannot be read must
//! stop everything, an allow costs itself.

use crate::path_rule::{PathRule, PathRuleError, RuleAnchor};
use crate::{CommandPattern, CommandPatternError};
use palisade_policy::{HostPattern, HostPatternError, PathPattern};
use std::fmt;

/// The list that a rule stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum List {
    /// Calls that are refused.
    Deny,
    /// Calls that a person is asked about.
    Ask,
    /// Calls that go through.
    Allow,
}

/// A permission rule, without its origin.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rule {
    /// Which tool's calls; a `*` stands for any characters.
    pub tool: Box<str>,
    /// Which of its calls; `None` for all.
    pub pattern: Option<Pattern>,
}

/// What stands in a rule's parentheses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Which commands, of `Bash` and its like.
    Command(CommandPattern),
    /// Which paths, of the tools that read and edit files.
    Path(PathRule),
    /// Which hosts, of `WebFetch`.
    Domain(HostPattern),
    /// Which value of one field of the call.
    Parameter {
        /// The field.
        name: Box<str>,
        /// The value; a `*` stands for any characters.
        value: Box<str>,
    },
    /// The name of an agent or a skill, or some field of a tool that is not known; a `*` stands for any
    /// characters.
    Text(Box<str>),
}

/// What a rule about paths is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileTool {
    /// `Read`: seeing what a file holds. A deny of it denies edits too.
    Read,
    /// `Edit`, and every other tool that changes files. An allow of it allows reading too.
    Edit,
}

/// Why a text is not a rule. Completes "`text`: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Nothing before the pattern.
    #[error("names no tool; write one in front of the parentheses, as in \"Bash(npm test)\"")]
    NoTool,
    /// A character that no tool's name holds.
    #[error(
        "holds {0:?} in the tool's name, which has letters, digits, \"_\" and \"-\" only; what a rule covers stands in parentheses, as in \"Bash(npm test)\""
    )]
    ToolName(char),
    /// `mcp__*` in an allow.
    #[error(
        "has a \"*\" in the tool's name; an allow rule may have one only behind a server's name, as in \"mcp__server__get_*\""
    )]
    ToolWildcard,
    /// `B*(ls)`.
    #[error("has a pattern that no one tool's name says the meaning of")]
    PatternOfMany,
    /// `Bash(ls`, `Bash(ls)x`.
    #[error("does not end with the \")\" of its pattern; close it, and put nothing behind it")]
    Unclosed,
    /// `Read(//a) Read(//b)`.
    #[error("looks like several rules; write each as an entry of its own")]
    Several,
    /// `Bash()`.
    #[error("has nothing in its parentheses; write the tool alone to cover all its calls")]
    EmptyPattern,
    /// `Write(docs/**)` in an allow.
    #[error("covers nothing, since paths are allowed to this tool by \"{0}(…)\" rules; write \"{0}({1})\"")]
    OtherTool(&'static str, Box<str>),
    /// `Bash(command:rm *)`.
    #[error("names the field {0:?}, which the tool's own patterns are about; write the pattern alone")]
    PrimaryField(Box<str>),
    /// `Agent(model:opus)` in an allow.
    #[error("is about one field of the call, which only deny and ask rules can be")]
    AllowedField,
    /// `WebFetch(https://example.com)`.
    #[error("names no domain; write \"WebFetch(domain:example.com)\"")]
    NoDomain,
    /// `WebFetch(domain:010.0.0.5)` in a deny or an ask. Holds what it may mean.
    #[error("could mean \"{0}\" or \"{1}\"; write a rule for each that is meant")]
    SeveralHosts(Box<HostPattern>, Box<HostPattern>),
    /// `WebSearch(x)`, `mcp__server__tool(x)`; in an allow, a pattern of any tool that is not known.
    #[error("has a pattern that calls of this tool cannot be compared with; write the tool alone")]
    UnknownPattern,
    /// See [`CommandPatternError`].
    #[error(transparent)]
    Command(#[from] CommandPatternError),
    /// See [`PathRuleError`].
    #[error(transparent)]
    Path(#[from] PathRuleError),
    /// See [`HostPatternError`].
    #[error(transparent)]
    Host(#[from] HostPatternError),
}

impl Rule {
    /// Reads the rule `text` of `list`.
    pub fn parse(text: &str, list: List, anchor: &RuleAnchor) -> Result<Self, RuleError> {
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or(RuleError::Unclosed)?)),
        };
        check_tool(tool, list)?;
        if pattern.is_some_and(holds_next_rule) {
            return Err(RuleError::Several);
        }
        let tool = if tool == "Task" { "Agent" } else { tool };
        let pattern = match pattern {
            Some(text) => Pattern::parse(tool, text, list, anchor)?,
            None => None,
        };
        Ok(Rule { tool: tool.into(), pattern })
    }

    /// The paths that the rule adds to the sandbox's file lists, and as what.
    ///
    /// Rules on the tools that search (`Grep`, `Glob`) add none: they are about those tools' calls.
    pub fn files(&self) -> Option<(FileTool, &[PathPattern])> {
        let Some(Pattern::Path(paths)) = &self.pattern else { return None };
        match &*self.tool {
            "Read" => Some((FileTool::Read, paths.patterns())),
            "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => Some((FileTool::Edit, paths.patterns())),
            _ => None,
        }
    }

    /// The hosts that the rule adds to the sandbox's host lists.
    pub fn domain(&self) -> Option<&HostPattern> {
        match &self.pattern {
            Some(Pattern::Domain(hosts)) => Some(hosts),
            _ => None,
        }
    }
}

impl Pattern {
    /// Reads what stands in the parentheses; `None` where that covers all calls of the tool.
    fn parse(tool: &str, text: &str, list: List, anchor: &RuleAnchor) -> Result<Option<Self>, RuleError> {
        if text.trim().is_empty() {
            return Err(RuleError::EmptyPattern);
        }
        if let Some(parameter) = parameter(tool, text, list)? {
            return Ok(Some(parameter));
        }
        if tool.contains('*') {
            return Err(RuleError::PatternOfMany);
        }
        let instead = |tool| Err(RuleError::OtherTool(tool, text.into()));
        match tool {
            "Bash" | "Monitor" | "PowerShell" => return command(text),
            "Read" | "Edit" | "Cd" => {}
            "Write" | "MultiEdit" | "NotebookEdit" if list == List::Allow => return instead("Edit"),
            "Grep" | "Glob" | "LS" | "NotebookRead" if list == List::Allow => return instead("Read"),
            "Write" | "MultiEdit" | "NotebookEdit" | "Grep" | "Glob" | "LS" | "NotebookRead" => {}
            "WebFetch" => return domain(text, list).map(Some),
            "Agent" | "Skill" => return Ok(Some(Pattern::Text(text.into()))),
            "WebSearch" => return Err(RuleError::UnknownPattern),
            _ if list == List::Allow || tool.starts_with("mcp__") => return Err(RuleError::UnknownPattern),
            _ => return Ok(Some(Pattern::Text(text.into()))),
        }
        Ok(Some(Pattern::Path(PathRule::parse(text, list, anchor)?)))
    }
}

/// Whether a pattern goes on behind a `)` with the start of another rule: `//a) Read(//b`.
fn holds_next_rule(pattern: &str) -> bool {
    pattern.split(')').skip(1).any(|rest| {
        let next = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
        let tool = next.split_once('(').map(|(tool, _)| tool);
        next.len() < rest.len() && tool.is_some_and(|tool| TOOLS.contains(&tool))
    })
}

/// The tools that more than one rule in a text may be about.
const TOOLS: &[&str] = &[
    "Agent",
    "Bash",
    "Cd",
    "Edit",
    "Glob",
    "Grep",
    "LS",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "PowerShell",
    "Read",
    "Skill",
    "Task",
    "WebFetch",
    "WebSearch",
    "Write",
];

fn command(text: &str) -> Result<Option<Pattern>, RuleError> {
    Ok(match text {
        ":*" => None,
        _ => Some(CommandPattern::parse(text)?)
            .filter(|pattern| *pattern != CommandPattern::Any)
            .map(Pattern::Command),
    })
}

/// `domain:example.com`; a dot at the end makes no difference to a name. An allow covers what programs would read.
fn domain(text: &str, list: List) -> Result<Pattern, RuleError> {
    let host = text.strip_prefix("domain:").ok_or(RuleError::NoDomain)?.trim();
    let host = host.strip_suffix('.').filter(|host| !host.is_empty()).unwrap_or(host);
    let hosts = HostPattern::parse(host)?;
    match HostPattern::parse_deny(host)?.iter().find(|other| **other != hosts && list != List::Allow) {
        Some(other) => Err(RuleError::SeveralHosts(hosts.into(), other.clone().into())),
        None => Ok(Pattern::Domain(hosts)),
    }
}

/// The fields of the tools whose patterns could be taken for one: the first is what the patterns are about.
const FIELDS: &[(&str, &[&str])] = &[
    ("Bash", &["command", "description", "timeout", "run_in_background", "dangerouslyDisableSandbox"]),
    ("Monitor", &["command", "description", "timeout", "timeout_ms", "persistent"]),
    ("PowerShell", &["command", "description", "timeout", "run_in_background", "dangerouslyDisableSandbox"]),
    ("Read", &["file_path", "offset", "limit", "pages"]),
    ("Edit", &["file_path", "old_string", "new_string", "replace_all"]),
    ("MultiEdit", &["file_path"]),
    ("Write", &["file_path", "content"]),
    ("NotebookEdit", &["notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"]),
    ("Glob", &["path", "pattern"]),
    ("Grep", &["path", "pattern", "glob", "output_mode", "type", "multiline", "head_limit"]),
    ("LS", &["path"]),
    ("NotebookRead", &["notebook_path"]),
    ("Cd", &["path"]),
    ("WebFetch", &["url", "prompt"]),
    (
        "Agent",
        &[
            "subagent_type",
            "description",
            "prompt",
            "model",
            "resume",
            "run_in_background",
            "max_turns",
            "name",
            "team_name",
            "mode",
            "isolation",
        ],
    ),
    ("Skill", &["skill", "args"]),
];

/// Reads `field:value`; `None` where the text is a pattern of the tool's own.
fn parameter(tool: &str, text: &str, list: List) -> Result<Option<Pattern>, RuleError> {
    let Some((name, value)) = text.split_once(':') else { return Ok(None) };
    let (name, value) = (name.trim_end(), value.trim_start());
    let known = FIELDS.iter().find(|(known, _)| *known == tool).map(|(_, fields)| *fields);
    let is_field = match known {
        Some(fields) => fields.contains(&name) && !(value == "*" && is_program(tool, name)),
        None => is_identifier(name),
    };
    if !is_field {
        return Ok(None);
    }
    match known {
        Some([primary, ..]) if *primary == name && tool != "Agent" => {
            Err(RuleError::PrimaryField(name.into()))
        }
        _ if list == List::Allow => Err(RuleError::AllowedField),
        _ => Ok(Some(Pattern::Parameter { name: name.into(), value: value.into() })),
    }
}

/// Whether a field's name is a command's, too, so that `name:*` is about that command.
fn is_program(tool: &str, name: &str) -> bool {
    matches!(tool, "Bash" | "Monitor" | "PowerShell") && matches!(name, "command" | "timeout")
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn check_tool(tool: &str, list: List) -> Result<(), RuleError> {
    if tool.is_empty() {
        return Err(RuleError::NoTool);
    }
    let forbidden = |c: &char| !c.is_ascii_alphanumeric() && !"_-*".contains(*c);
    if let Some(c) = tool.chars().find(forbidden) {
        return Err(RuleError::ToolName(c));
    }
    if list == List::Allow && tool.contains('*') && !is_below_server(tool) {
        return Err(RuleError::ToolWildcard);
    }
    Ok(())
}

/// Whether the first `*` of a tool's name stands behind `mcp__server__`.
fn is_below_server(tool: &str) -> bool {
    let fixed = tool.split('*').next().unwrap_or_default();
    fixed.strip_prefix("mcp__").and_then(|rest| rest.find("__")).is_some_and(|at| at > 0)
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = &self.tool;
        match &self.pattern {
            None => f.write_str(tool),
            Some(Pattern::Command(pattern)) => write!(f, "{tool}({pattern})"),
            Some(Pattern::Path(paths)) => write!(f, "{tool}({paths})"),
            Some(Pattern::Domain(hosts)) => write!(f, "{tool}(domain:{hosts})"),
            Some(Pattern::Parameter { name, value }) => write!(f, "{tool}({name}:{value})"),
            Some(Pattern::Text(text)) => write!(f, "{tool}({text})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::AbsPath;
    use proptest::prelude::*;

    fn parse(text: &str, list: List) -> Result<Rule, RuleError> {
        let path = |text: &str| AbsPath::new(text).expect("a path of a test");
        let anchor = RuleAnchor {
            working_directory: path("/w/proj"),
            source: Some(path("/w")),
            home: Some(path("/home/u")),
            other_home: None,
            folds_case: false,
        };
        Rule::parse(text, list, &anchor)
    }

    fn shown(text: &str, list: List) -> Result<String, RuleError> {
        parse(text, list).map(|rule| rule.to_string())
    }

    #[test]
    fn grammar() {
        for (text, same) in [
            ("Bash", "Bash"),
            ("Bash(*)", "Bash"),
            ("Bash(:*)", "Bash"),
            ("Bash(ls:*)", "Bash(ls *)"),
            ("Bash(npm  run build)", "Bash(npm run build)"),
            ("Bash(echo (x) y)", "Bash(echo (x) y)"),
            ("Bash(npm run test:watch)", "Bash(npm run test:watch)"),
            ("Bash(timeout:*)", "Bash(timeout *)"),
            ("Bash(command:*)", "Bash(command *)"),
            ("Monitor(tail *)", "Monitor(tail *)"),
            ("Read(./src/**)", "Read(./src/**)"),
            ("Read(a:b)", "Read(a:b)"),
            ("Edit(//srv/x (1)/**)", "Edit(//srv/x (1)/**)"),
            ("WebFetch(domain:Example.com.)", "WebFetch(domain:example.com)"),
            ("WebFetch(domain:*)", "WebFetch(domain:*)"),
            ("WebFetch(domain:*.example.com:8443)", "WebFetch(domain:*.example.com:8443)"),
            ("WebFetch(domain:a.*.example.com)", "WebFetch(domain:a.*.example.com)"),
            ("WebSearch", "WebSearch"),
            ("mcp__github", "mcp__github"),
            ("mcp__github__*", "mcp__github__*"),
            ("mcp__github__get_*", "mcp__github__get_*"),
            ("Task(Explore)", "Agent(Explore)"),
            ("Agent(my-plugin:reviewer)", "Agent(my-plugin:reviewer)"),
            ("Skill(deploy *)", "Skill(deploy *)"),
            ("Write", "Write"),
        ] {
            for list in [List::Deny, List::Ask, List::Allow] {
                assert_eq!(shown(text, list), Ok(same.into()), "{text}");
            }
        }
    }

    #[test]
    fn only_what_denies_or_asks() {
        use RuleError::*;
        for (text, same, error) in [
            ("*", "*", ToolWildcard),
            ("mcp__*", "mcp__*", ToolWildcard),
            ("mcp__*__get", "mcp__*__get", ToolWildcard),
            ("mcp____*", "mcp____*", ToolWildcard),
            ("B*", "B*", ToolWildcard),
            ("Bash(timeout:5000)", "Bash(timeout:5000)", AllowedField),
            ("Bash(run_in_background : true)", "Bash(run_in_background:true)", AllowedField),
            ("Bash(dangerouslyDisableSandbox:*)", "Bash(dangerouslyDisableSandbox:*)", AllowedField),
            ("Agent(model:opus)", "Agent(model:opus)", AllowedField),
            ("mcp__x__y(field:z)", "mcp__x__y(field:z)", AllowedField),
            ("Write(docs/**)", "Write(docs/**)", OtherTool("Edit", "docs/**".into())),
            ("NotebookEdit(x)", "NotebookEdit(x)", OtherTool("Edit", "x".into())),
            ("Glob(docs/**)", "Glob(docs/**)", OtherTool("Read", "docs/**".into())),
            ("Unknown(x)", "Unknown(x)", UnknownPattern),
        ] {
            assert_eq!(shown(text, List::Deny), Ok(same.into()), "{text}");
            assert_eq!(shown(text, List::Ask), Ok(same.into()), "{text}");
            assert_eq!(shown(text, List::Allow), Err(error), "{text}");
        }
    }

    #[test]
    fn refusals() {
        use RuleError::*;
        let host = |text: &str| Box::new(HostPattern::parse(text).expect("a host"));
        for (text, error) in [
            ("", NoTool),
            ("(x)", NoTool),
            ("Ba sh(x)", ToolName(' ')),
            ("Bash)", ToolName(')')),
            ("Bash(ls", Unclosed),
            ("Bash(git commit -m *)bad", Unclosed),
            ("Bash()", EmptyPattern),
            ("Read( )", EmptyPattern),
            ("Bash(npm:* publish)", Command(CommandPatternError::ColonStar)),
            ("Bash(command:rm *)", PrimaryField("command".into())),
            ("Read(file_path:/etc/x)", PrimaryField("file_path".into())),
            ("WebFetch(url:https://x.org)", PrimaryField("url".into())),
            ("WebFetch(https://x.org)", NoDomain),
            ("WebFetch(domain:https://x.org)", Host(HostPatternError::Scheme("x.org".into()))),
            ("WebFetch(domain:example.*)", Host(HostPatternError::PartialStar)),
            ("WebFetch(domain:010.0.0.5:80)", SeveralHosts(host("8.0.0.5:80"), host("10.0.0.5:80"))),
            ("WebSearch(x)", UnknownPattern),
            ("mcp__server__tool(x)", UnknownPattern),
            ("Read(!x)", Path(PathRuleError::Negation)),
        ] {
            assert_eq!(parse(text, List::Deny), Err(error), "{text:?}");
        }
        assert_eq!(parse("B*(ls)", List::Deny), Err(PatternOfMany));
        let allowed = parse("WebFetch(domain:010.0.0.5:80)", List::Allow).expect("what programs would read");
        assert_eq!(allowed.to_string(), "WebFetch(domain:8.0.0.5:80)");
    }

    #[test]
    fn what_a_rule_adds_to_the_sandbox() {
        let files = |text| parse(text, List::Deny).ok().and_then(|rule| rule.files().map(|(tool, _)| tool));
        assert_eq!(files("Read(x)"), Some(FileTool::Read));
        assert_eq!(files("Edit(x)"), Some(FileTool::Edit));
        assert_eq!(files("Write(x)"), Some(FileTool::Edit));
        assert_eq!([files("Read"), files("Grep(x)"), files("Cd(x)"), files("Bash(x)")], [None; 4]);
        let rule = parse("WebFetch(domain:*.x.org)", List::Deny).expect("a rule");
        assert_eq!(rule.domain().map(ToString::to_string), Some("*.x.org".into()));
    }

    proptest! {
        #[test]
        fn a_rule_shown_is_the_same_rule(text in "(Bash|Read|WebFetch|Agent|mcp__a_\\*)(\\([abdomin*:()/ .]{0,12}\\)?)?|\\PC{0,20}") {
            for list in [List::Deny, List::Allow] {
                if let Ok(rule) = parse(&text, list) {
                    prop_assert_eq!(parse(&rule.to_string(), list), Ok(rule));
                }
            }
        }
    }
}
