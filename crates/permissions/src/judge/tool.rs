//! Calls that run no shell: files, hosts, and tools that are known by their name alone.

use super::access::Touch;
use super::breadth::is_broad;
use super::files::{Files, Hit, refuses};
use super::place::Place;
use super::{Answer, Answerer, Call, Context, Input, Reason, Verdict, find, has_field, names_tool};
use crate::command_pattern::covers_wildcard;
use crate::protected::is_protected;
use crate::removal::Critical;
use crate::{Mode, Pattern, PermissionRule, RuleSet, spell_path};
use palisade_policy::{AbsPath, Access, Endpoint};

/// Tools that change nothing that a person would be asked about.
const HARMLESS: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "BashOutput",
    "EnterPlanMode",
    "ExitPlanMode",
    "KillBash",
    "KillShell",
    "ListMcpResourcesTool",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
];

const PERSON: Answer = Answer::Ask(Answerer::Person);
const ANYONE: Answer = Answer::Ask(Answerer::Anyone);

pub(super) fn judge<'a>(rules: &'a RuleSet, call: &Call, context: &Context<'_>) -> Verdict<'a> {
    if let Input::Read(path) | Input::Edit(path) | Input::Remove(path) = &call.input
        && path.is_too_long()
    {
        return Verdict::new(Answer::Deny, Reason::LongPath, context.mode);
    }
    let files = Files { rules, context };
    let touch = touch(call, context);
    let hit = |rule: &PermissionRule| hit(rule, call, touch.as_ref(), &files) == Hit::Yes;
    if let Some(rule) = find(&rules.deny, hit) {
        return Verdict::new(Answer::Deny, Reason::Rule(rule), context.mode);
    }
    if let Some(rule) = find(&rules.ask, hit) {
        return Verdict::new(PERSON, Reason::Rule(rule), context.mode);
    }
    match &call.input {
        Input::Read(path) => judge_read(&files, call, path),
        Input::Edit(path) => judge_edit(&files, call, path, false),
        Input::Remove(path) => judge_edit(&files, call, path, true),
        _ => judge_rest(rules, call, context),
    }
}

/// What a host that no list of the sandbox decides comes to: it is judged as a `WebFetch` of it.
pub fn judge_host<'a>(rules: &'a RuleSet, endpoint: &Endpoint, mode: Mode) -> Verdict<'a> {
    let mode = rules.mode_for(mode);
    let covers = |rule: &PermissionRule| covers_host(rule, endpoint);
    if let Some(rule) = find(&rules.deny, covers) {
        return Verdict::new(Answer::Deny, Reason::Rule(rule), mode);
    }
    if let Some(rule) = find(&rules.ask, covers) {
        return Verdict::new(PERSON, Reason::Rule(rule), mode);
    }
    if let Some(rule) = find(&rules.allow, covers) {
        return Verdict::new(Answer::Allow, Reason::Rule(rule), mode);
    }
    match mode {
        Mode::BypassPermissions => Verdict::new(Answer::Allow, Reason::Mode(mode), mode),
        Mode::Auto | Mode::DontAsk => Verdict::new(Answer::Deny, Reason::Mode(mode), mode),
        Mode::Default | Mode::AcceptEdits | Mode::Plan => {
            let remedy = vec![format!("WebFetch(domain:{})", endpoint.host).into()];
            Verdict { remedy, ..Verdict::new(PERSON, Reason::NotAllowed, mode) }
        }
    }
}

fn touch(call: &Call, context: &Context<'_>) -> Option<Touch> {
    let (access, path) = match &call.input {
        Input::Read(path) => (Access::Read, path),
        Input::Edit(path) | Input::Remove(path) => (Access::Write, path),
        _ => return None,
    };
    Some(Touch::new(access, Place::Paths(vec![path.clone()]), &call.tool, context))
}

/// Whether a deny or an ask rule covers the call.
fn hit(rule: &PermissionRule, call: &Call, touch: Option<&Touch>, files: &Files<'_, '_>) -> Hit {
    let is_tools = names_tool(&rule.rule.tool, &call.tool);
    let covers = match (&rule.rule.pattern, &call.input) {
        (Some(Pattern::Path(paths)), _) => {
            return match touch {
                Some(touch) if refuses(&rule.rule.tool, touch.access) => files.hit(paths, touch),
                _ => Hit::No,
            };
        }
        // What must not be read at all must not be edited either.
        (None, Input::Edit(_) | Input::Remove(_)) => {
            is_tools || &*rule.rule.tool == "Read" || &*rule.rule.tool == "Edit"
        }
        (None, _) => is_tools,
        (Some(Pattern::Domain(hosts)), Input::Fetch(endpoint)) => is_tools && hosts.matches(endpoint),
        (Some(Pattern::Parameter { name, value }), _) => is_tools && has_field(call, name, value),
        (Some(Pattern::Text(text)), _) => is_tools && covers_text(text, call),
        (Some(Pattern::Command(_) | Pattern::Domain(_)), _) => false,
    };
    if covers { Hit::Yes } else { Hit::No }
}

/// Whether the name of an agent or a skill, or any field of another tool, is `text`; `name *` is also the
/// name alone.
fn covers_text(text: &str, call: &Call) -> bool {
    let fields: &[&str] = match &*call.tool {
        "Agent" | "Task" => &["subagent_type", "name"],
        "Skill" => &["skill", "command"],
        _ => &[],
    };
    let counts = |name: &str| fields.is_empty() || fields.contains(&name);
    let covers = |value: &str| {
        covers_wildcard(text, value)
            || text.strip_suffix(" *").is_some_and(|text| covers_wildcard(text, value))
    };
    call.fields.iter().any(|(name, value)| counts(name) && covers(value))
}

fn covers_host(rule: &PermissionRule, endpoint: &Endpoint) -> bool {
    names_tool(&rule.rule.tool, "WebFetch")
        && match &rule.rule.pattern {
            None => true,
            Some(Pattern::Domain(hosts)) => hosts.matches(endpoint),
            Some(_) => false,
        }
}

fn judge_read<'a>(files: &Files<'a, '_>, call: &Call, path: &AbsPath) -> Verdict<'a> {
    let mode = files.context.mode;
    if mode == Mode::BypassPermissions {
        return Verdict::new(Answer::Allow, Reason::Mode(mode), mode);
    }
    if files.is_inside(path) {
        return Verdict::new(Answer::Allow, Reason::EveryPart, mode);
    }
    match allowing_call(files, call, Access::Read, path) {
        Some(rule) => Verdict::new(Answer::Allow, Reason::Rule(rule), mode),
        None => Verdict { remedy: remedy("Read", path), ..Verdict::new(ANYONE, Reason::NotAllowed, mode) },
    }
}

fn judge_edit<'a>(files: &Files<'a, '_>, call: &Call, path: &AbsPath, removes: bool) -> Verdict<'a> {
    let context = files.context;
    let mode = context.mode;
    let real = (context.follow)(path);
    if removes && let Some(critical) = critical(path, context).or_else(|| critical(&real, context)) {
        return Verdict::new(PERSON, Reason::Critical(critical), mode);
    }
    if mode == Mode::BypassPermissions {
        return Verdict::new(Answer::Allow, Reason::Mode(mode), mode);
    }
    if removes && !files.is_inside(path) {
        return Verdict::new(PERSON, Reason::Outside(path.clone()), mode);
    }
    if let Some(path) = [path, &real].into_iter().find(|path| is_protected(path, context.folds_case)) {
        return Verdict::new(ANYONE, Reason::Protected(path.clone()), mode);
    }
    if mode == Mode::Plan {
        return Verdict::new(ANYONE, Reason::Plan, mode);
    }
    if matches!(mode, Mode::AcceptEdits | Mode::Auto) && files.is_inside(path) {
        return Verdict::new(Answer::Allow, Reason::Mode(mode), mode);
    }
    match allowing_call(files, call, Access::Write, path) {
        Some(rule) => Verdict::new(Answer::Allow, Reason::Rule(rule), mode),
        None => Verdict { remedy: remedy("Edit", path), ..Verdict::new(ANYONE, Reason::NotAllowed, mode) },
    }
}

/// Why the removal of a path by a tool is asked about in every mode. A tool removes no wildcards and nothing
/// that a shell decides.
fn critical(path: &AbsPath, context: &Context<'_>) -> Option<Critical> {
    let is_git =
        |name: &[u8]| if context.folds_case { name.eq_ignore_ascii_case(b".git") } else { name == b".git" };
    if path.is_root() {
        return Some(Critical::FileSystem);
    }
    if path.covers(context.root) {
        return Some(Critical::Root);
    }
    if context.home.is_some_and(|home| path.covers(home)) {
        return Some(Critical::Home);
    }
    if path.components().any(is_git) {
        return Some(Critical::Git);
    }
    (path.components().count() == 1).then_some(Critical::TopLevel)
}

fn allowing_call<'a>(
    files: &Files<'a, '_>,
    call: &Call,
    access: Access,
    path: &AbsPath,
) -> Option<&'a PermissionRule> {
    let bare = find(&files.rules.allow, |rule| {
        rule.rule.pattern.is_none() && names_tool(&rule.rule.tool, &call.tool)
    });
    bare.or_else(|| files.allowing(access, path))
}

fn judge_rest<'a>(rules: &'a RuleSet, call: &Call, context: &Context<'_>) -> Verdict<'a> {
    let mode = context.mode;
    if mode == Mode::BypassPermissions {
        return Verdict::new(Answer::Allow, Reason::Mode(mode), mode);
    }
    let covers = |rule: &PermissionRule| {
        let is_left_out = mode == Mode::Auto && is_broad(&rule.rule);
        !is_left_out && names_tool(&rule.rule.tool, &call.tool) && allows(rule, call)
    };
    if let Some(rule) = find(&rules.allow, covers) {
        return Verdict::new(Answer::Allow, Reason::Rule(rule), mode);
    }
    if HARMLESS.contains(&&*call.tool) {
        return Verdict::new(Answer::Allow, Reason::Harmless, mode);
    }
    let rule = match &call.input {
        Input::Fetch(endpoint) => format!("WebFetch(domain:{})", endpoint.host),
        _ => call.tool.to_string(),
    };
    Verdict { remedy: vec![rule.into()], ..Verdict::new(ANYONE, Reason::NotAllowed, mode) }
}

fn allows(rule: &PermissionRule, call: &Call) -> bool {
    match (&rule.rule.pattern, &call.input) {
        (None, _) => true,
        (Some(Pattern::Domain(hosts)), Input::Fetch(endpoint)) => hosts.matches(endpoint),
        (Some(Pattern::Text(text)), _) => covers_text(text, call),
        _ => false,
    }
}

fn remedy(tool: &str, path: &AbsPath) -> Vec<Box<str>> {
    spell_path(path)
        .map(|text| format!("{tool}({})", text.trim_end_matches("/**")).into())
        .into_iter()
        .collect()
}
