//! What agents may run by the work they are there for: the command policy of an orchestrator, as rules of the
//! same engine.
//!
//! The lists are data. What they miss when compared word by word is the engine's to find: another command
//! behind a line break, a `&`, `$(…)` or parentheses, wrappers (`env`, `nice`, `timeout`, `xargs`, `find
//! -exec`), variables in front, quotes and backslashes, options in another order. What nobody lists goes
//! through, so this is a list of what is known to be harmful, and no boundary. In the modes that only look,
//! the sandbox keeps the files.
//!
//! This module does not say what an agent's tools may do, nor what the sandbox of a mode holds.

use crate::removal::Critical;
use crate::{
    Answer, Call, CommandPattern, Context, Pattern, PermissionRule, Reason, Rule, RuleSet, Verdict, judge,
};
use palisade_policy::Origin;
use std::fmt;

/// What an agent is there for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum AgentMode {
    /// It works: what cannot be taken back is asked about.
    #[default]
    Chat,
    /// It looks at what others did, and changes nothing.
    Review,
    /// It plans, and changes nothing.
    Plan,
    /// It has others work, and changes nothing.
    Orchestrate,
}

/// Refused in every mode: what takes the machine down, erases it, or leaves the sandbox.
const DENY: &[&str] = &[
    "sudo *",
    "doas *",
    "su *",
    "shutdown *",
    "reboot *",
    "halt *",
    "poweroff *",
    "init *",
    "telinit *",
    "systemctl poweroff *",
    "systemctl reboot *",
    "systemctl halt *",
    "mkfs*",
    "fdisk *",
    "parted *",
    "dd *if=*",
    "dd *of=/dev/*",
    "docker run *-v /:/*",
    "docker run *-v=/:/*",
    "docker run *--volume /:/*",
    "docker run *--volume=/:/*",
    "docker run *--mount *source=/,*",
    "docker run *--privileged*",
    "docker container run *-v /:/*",
    "docker container run *--privileged*",
    "chroot *",
    "unshare *",
    "nsenter *",
];

/// Asked about where an agent works, refused where it only looks: what others see, and what cannot be taken
/// back.
const PROMPT: &[&str] = &[
    "git push *",
    "git reset *--hard*",
    "git clean *",
    "npm publish *",
    "pnpm publish *",
    "yarn publish *",
    "yarn npm publish *",
    "cargo publish *",
    "twine upload *",
    "gem push *",
    "gh pr create *",
    "gh pr merge *",
    "gh pr close *",
    "gh pr review *",
    "gh release create *",
    "gh release delete *",
    "gh repo create *",
    "gh repo fork *",
    "gh repo delete *",
    "gh secret set *",
    "gh secret delete *",
    "gh workflow run *",
    "docker run *",
    "docker container run *",
    "npm install *",
    "npm i *",
    "npm add *",
    "pip install *",
    "pip3 install *",
    "python -m pip install *",
    "python3 -m pip install *",
    "cargo add *",
    "bun add *",
];

/// Refused where an agent only looks: what changes the project or something that runs elsewhere.
const MUTATING: &[&str] = &[
    "git add *",
    "git commit *",
    "git reset *",
    "git merge *",
    "git rebase *",
    "git checkout -- *",
    "git checkout * -- *",
    "git restore *",
    "docker *",
    "kubectl *",
    "terraform *",
];

impl AgentMode {
    /// All modes.
    pub const ALL: [AgentMode; 4] =
        [AgentMode::Chat, AgentMode::Review, AgentMode::Plan, AgentMode::Orchestrate];

    /// The mode of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Its name in a specification.
    pub fn name(self) -> &'static str {
        match self {
            AgentMode::Chat => "chat",
            AgentMode::Review => "review",
            AgentMode::Plan => "plan",
            AgentMode::Orchestrate => "orchestrate",
        }
    }

    /// Whether an agent in this mode may change its own copy of the project.
    pub fn is_writing(self) -> bool {
        self == AgentMode::Chat
    }

    /// The rules about commands: what is refused, what is asked about; all else goes through.
    pub fn rules(self) -> RuleSet {
        let (deny, ask): (Vec<&[&str]>, Vec<&[&str]>) = match self {
            AgentMode::Chat => (vec![DENY], vec![PROMPT]),
            AgentMode::Review | AgentMode::Plan | AgentMode::Orchestrate => {
                (vec![DENY, PROMPT, MUTATING], Vec::new())
            }
        };
        let all = PermissionRule {
            rule: Rule { tool: "Bash".into(), pattern: None },
            origin: origin("agentMode.allow", "Bash"),
        };
        RuleSet {
            deny: rules("agentMode.deny", &deny),
            ask: rules("agentMode.prompt", &ask),
            allow: vec![all],
            ..RuleSet::default()
        }
    }
}

/// What `rules`, which are a mode's own or more, say about a call of an agent. Removing the file system, or
/// everything in a directory at the top of it, is refused however it is spelled, where it would otherwise be
/// asked about.
pub fn judge_agent<'a>(rules: &'a RuleSet, call: &Call, context: &Context<'_>) -> Verdict<'a> {
    let verdict = judge(rules, call, context);
    let Reason::Critical(critical) = verdict.reason else { return verdict };
    // Everything at the top may be the workspace as well, which is then what the reason names.
    let all =
        verdict.about.as_deref().is_some_and(|about| about.split(' ').any(|word| word.starts_with("/*")));
    if all || matches!(critical, Critical::FileSystem | Critical::TopLevel) {
        return Verdict { answer: Answer::Deny, ..verdict };
    }
    verdict
}

fn rules(key: &str, lists: &[&[&str]]) -> Vec<PermissionRule> {
    let rule = |text: &&str| {
        let pattern = CommandPattern::parse(text).ok()?;
        let rule = Rule { tool: "Bash".into(), pattern: Some(Pattern::Command(pattern)) };
        Some(PermissionRule { rule, origin: origin(key, text) })
    };
    lists.iter().flat_map(|list| list.iter()).filter_map(rule).collect()
}

fn origin(key: &str, text: &str) -> Origin {
    Origin::builtin(key, text)
}

impl fmt::Display for AgentMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_lists_is_a_pattern() {
        for text in DENY.iter().chain(PROMPT).chain(MUTATING) {
            assert!(CommandPattern::parse(text).is_ok(), "{text}");
        }
        assert_eq!(AgentMode::Chat.rules().deny.len(), DENY.len());
        assert_eq!(AgentMode::Plan.rules().deny.len(), DENY.len() + PROMPT.len() + MUTATING.len());
    }

    #[test]
    fn a_mode_is_found_by_its_name() {
        for mode in AgentMode::ALL {
            assert_eq!(AgentMode::parse(mode.name()), Some(mode));
        }
        assert_eq!(AgentMode::parse("default"), None);
    }
}
