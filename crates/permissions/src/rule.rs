//! One permission rule: `Tool` or `Tool(pattern)`.
//!
//! # Grammar
//!
//! The tool's name is ASCII letters, digits, `_`, `-`, and `*` for any run of them (`mcp__github__get_*`).
//! The pattern is all that stands between the first `(` and a `)` that ends the text. For `Bash` it is a
//! [`CommandPattern`], whose errors are the rule's; the patterns of other tools have grammars of their own and
//! are kept as text. `Bash(*)` means what `Bash` means.
//!
//! This module does not decide in which lists a rule may stand, nor what it matches.

use crate::{CommandPattern, CommandPatternError};
use std::fmt;

/// A permission rule, without its origin.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rule {
    /// Which tool's calls.
    pub tool: Box<str>,
    /// Which of its calls; `None` for all.
    pub pattern: Option<Pattern>,
}

/// What stands in a rule's parentheses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Of `Bash`.
    Command(CommandPattern),
    /// Of any other tool, as written.
    Text(Box<str>),
}

/// Why a text is not a rule. Completes "`text`: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Nothing before the pattern.
    #[error("names no tool")]
    NoTool,
    /// A character that no tool's name holds.
    #[error("holds {0:?} in the tool's name")]
    ToolName(char),
    /// `Bash(ls`, `Bash(ls)x`.
    #[error("does not end with the \")\" of its pattern")]
    Unclosed,
    /// `Bash()`.
    #[error("has nothing in its parentheses; write the tool alone to cover all its calls")]
    EmptyPattern,
    /// See [`CommandPatternError`].
    #[error(transparent)]
    Command(#[from] CommandPatternError),
}

impl Rule {
    /// Reads the rule `text`.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or(RuleError::Unclosed)?)),
        };
        check_tool(tool)?;
        let pattern = pattern.map(|pattern| Pattern::parse(tool, pattern)).transpose()?;
        Ok(Rule { tool: tool.into(), pattern: pattern.filter(|pattern| !pattern.is_any_command()) })
    }
}

impl Pattern {
    fn parse(tool: &str, text: &str) -> Result<Self, RuleError> {
        if text.trim().is_empty() {
            return Err(RuleError::EmptyPattern);
        }
        Ok(match tool {
            "Bash" => Pattern::Command(CommandPattern::parse(text)?),
            _ => Pattern::Text(text.into()),
        })
    }

    fn is_any_command(&self) -> bool {
        matches!(self, Pattern::Command(CommandPattern::Any))
    }
}

fn check_tool(tool: &str) -> Result<(), RuleError> {
    if tool.is_empty() {
        return Err(RuleError::NoTool);
    }
    let forbidden = |c: &char| !c.is_ascii_alphanumeric() && !"_-*".contains(*c);
    tool.chars().find(forbidden).map_or(Ok(()), |c| Err(RuleError::ToolName(c)))
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            None => f.write_str(&self.tool),
            Some(Pattern::Command(pattern)) => write!(f, "{}({pattern})", self.tool),
            Some(Pattern::Text(pattern)) => write!(f, "{}({pattern})", self.tool),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn grammar() {
        for (text, shown) in [
            ("Bash", "Bash"),
            ("Bash(*)", "Bash"),
            ("Bash(ls:*)", "Bash(ls *)"),
            ("Bash(npm  run build)", "Bash(npm run build)"),
            ("Bash(echo (x) y)", "Bash(echo (x) y)"),
            ("Read(./src/**)", "Read(./src/**)"),
            ("WebFetch(domain:example.com)", "WebFetch(domain:example.com)"),
            ("mcp__github__get_*", "mcp__github__get_*"),
            ("*", "*"),
        ] {
            assert_eq!(Rule::parse(text).map(|rule| rule.to_string()), Ok(shown.into()), "{text}");
        }
    }

    #[test]
    fn refusals() {
        use RuleError::*;
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
        ] {
            assert_eq!(Rule::parse(text), Err(error), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_rule_shown_is_the_same_rule(text in "(Bash|Read|mcp__a_\\*)(\\([ab*:() ]{0,8}\\)?)?|\\PC{0,20}") {
            if let Ok(rule) = Rule::parse(&text) {
                prop_assert_eq!(Rule::parse(&rule.to_string()), Ok(rule));
            }
        }
    }
}
