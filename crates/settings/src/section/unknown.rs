//! The keys of an object that nobody asked for.
//!
//! A key that was plainly meant for another is an error where its loss leaves something open: the key denies, or is a
//! switch with its stricter value, or holds a whole section; in an administrator's file any such key. All others of
//! `sandbox` and `permissions` are a warning. At the top most keys are Claude Code's own: only what is near to a name of
//! ours is spoken of there.

use super::Section;
use crate::error::shown_key;
use crate::keys::{Key, Support, Tightens};
use crate::meant::sounds_like_deny;
use crate::tree::{Field, Value};
use crate::{Error, Warning, WarningKind};
use palisade_policy::Layer;

/// Keys of Claude Code's at the top of a file. There are more, and new ones: this only keeps those that it has from
/// being taken for slips of the pen.
const CLAUDE_CODES: &[&str] = &[
    "$schema",
    "agent",
    "agents",
    "allowAllClaudeAiMcps",
    "allowManagedHooksOnly",
    "allowManagedMcpServersOnly",
    "allowedChannelPlugins",
    "allowedHttpHookUrls",
    "allowedMcpServers",
    "alwaysThinkingEnabled",
    "apiKeyHelper",
    "attribution",
    "autoMemoryDirectory",
    "autoMemoryEnabled",
    "autoMode",
    "autoUpdatesChannel",
    "availableModels",
    "awsAuthRefresh",
    "awsCredentialExport",
    "blockedMarketplaces",
    "channelsEnabled",
    "cleanupPeriodDays",
    "companyAnnouncements",
    "crossSessionInbound",
    "defaultShell",
    "deniedMcpServers",
    "disableAllHooks",
    "disableClaudeAiConnectors",
    "disableCommandPluginSources",
    "disableDeepLinkRegistration",
    "disableSkillShellExecution",
    "disabledMcpjsonServers",
    "effortLevel",
    "enableAllProjectMcpServers",
    "enabledMcpjsonServers",
    "enabledPlugins",
    "enforceAvailableModels",
    "env",
    "extraKnownMarketplaces",
    "fallbackModel",
    "fastMode",
    "feedbackSurveyRate",
    "fileSuggestion",
    "forceLoginMethod",
    "forceLoginOrgUUID",
    "forceRemoteSettingsRefresh",
    "gcpAuthRefresh",
    "hooks",
    "httpHookAllowedEnvVars",
    "includeCoAuthoredBy",
    "includeGitInstructions",
    "isolatePeerMachines",
    "language",
    "managedSourcesBehavior",
    "minimumVersion",
    "model",
    "modelOverrides",
    "modelPicker",
    "otelHeadersHelper",
    "outputStyle",
    "plansDirectory",
    "pluginConfigs",
    "pluginTrustMessage",
    "policyHelper",
    "prefersReducedMotion",
    "remoteControlAtStartup",
    "respectGitignore",
    "showThinkingSummaries",
    "skipDangerousModePermissionPrompt",
    "spinnerTipsEnabled",
    "spinnerTipsOverride",
    "spinnerVerbs",
    "statusLine",
    "strictKnownMarketplaces",
    "syncClaudeAiSkills",
    "teammateMode",
    "theme",
    "useAutoModeDuringPlan",
    "verbose",
    "viewMode",
    "voiceEnabled",
    "worktree",
];

impl Section<'_> {
    /// Looks at the keys that nobody asked for.
    pub(crate) fn finish(mut self) {
        // Looking for what was meant takes time; nobody misspells more keys than this.
        const EXPLAINED: usize = 32;
        let mut unknown = 0;
        let taken = std::mem::take(&mut self.taken);
        for field in self.fields.iter().filter(|field| !taken.contains(&field.key.as_str())) {
            let key = self.full_name(&shown_key(&field.key));
            let kind = match Key::find(&self.key, &field.key).map(|key| key.support) {
                Some(Support::LeftOut(why)) => WarningKind::LeftOut { why },
                _ => {
                    let meant = Key::meant(&self.key, &field.key);
                    if self.leaves_alone(field, meant) || self.finds_lost(&key, meant, field) {
                        continue;
                    }
                    unknown += 1;
                    self.unknown(field, meant, unknown <= EXPLAINED)
                }
            };
            let place = self.source.place(field.at);
            self.findings.warnings.push(Warning { place, key: key.into(), kind });
        }
    }

    /// Whether a key is Claude Code's business.
    fn leaves_alone(&self, field: &Field, meant: Option<&Key>) -> bool {
        self.key.is_empty() && (meant.is_none() || CLAUDE_CODES.contains(&field.key.as_str()))
    }

    fn unknown(&self, field: &Field, meant: Option<&'static Key>, explained: bool) -> WarningKind {
        let nearest = meant.or_else(|| if explained { Key::nearest(&self.key, &field.key) } else { None });
        // An administrator counts on every word of his.
        let denies = sounds_like_deny(&field.key) || self.source.layer == Layer::Managed;
        WarningKind::Unknown { nearest: nearest.map(Key::full_name), denies }
    }

    /// Whether a key that is not known was plainly meant for one that must not get lost, or holds such a one.
    fn finds_lost(&mut self, key: &str, meant: Option<&Key>, field: &Field) -> bool {
        if let Some((meant, lost)) =
            meant.and_then(|meant| Some((meant, self.lost(meant, &field.node.value)?)))
        {
            let (place, meant) = (self.source.place(field.at), meant.full_name());
            self.findings.errors.push(Error::Misspelt { place, key: key.into(), lost, meant });
            return true;
        }
        self.finds_lost_inside(key, &field.node.value)
    }

    fn finds_lost_inside(&mut self, key: &str, value: &Value) -> bool {
        let mut found = false;
        match value {
            Value::Object(fields) => {
                for field in fields {
                    let meant = Key::meant(&self.key, &field.key);
                    found |= self.finds_lost(&format!("{key}.{}", shown_key(&field.key)), meant, field);
                }
            }
            Value::List(nodes) => {
                for (index, node) in nodes.iter().enumerate().filter(|(_, node)| node.holds_keys()) {
                    found |= self.finds_lost_inside(&format!("{key}[{index}]"), &node.value);
                }
            }
            _ => {}
        }
        found
    }

    /// What is lost where `value` does not come to the key `meant`; nothing where that leaves nothing open.
    fn lost(&self, meant: &Key, value: &Value) -> Option<&'static str> {
        let Support::Read(_, layers, tightens) = meant.support else { return None };
        let is_set = |to: bool| matches!(value, Value::Bool(value) if *value == to);
        let counts = layers.hold(self.source.layer);
        match tightens {
            Tightens::Always => Some("denies nothing"),
            Tightens::ByKey if matches!(value, Value::Object(_)) => Some("is not looked into"),
            Tightens::WhenTrue if is_set(true) && counts => Some("switches nothing on"),
            Tightens::WhenFalse if is_set(false) && counts => Some("switches nothing off"),
            _ if self.source.layer == Layer::Managed => Some("does nothing"),
            _ => None,
        }
    }
}
