//! Merging layers: what a higher layer says together with what a lower one says.
//!
//! Laws, which property tests hold: [`Combine::combine`] is associative, and options that say nothing change
//! nothing on either side. Each implementation for a struct takes it apart without `..`, so that a key that is
//! added cannot be forgotten here.

use crate::{CredentialOptions, FilesystemOptions, NetworkOptions, Options, Setting};

/// What two layers say together.
pub trait Combine {
    /// Puts `self` above `lower`.
    #[must_use]
    fn combine(self, lower: Self) -> Self;
}

/// The highest layer that sets it.
impl<T> Combine for Option<Setting<T>> {
    fn combine(self, lower: Self) -> Self {
        self.or(lower)
    }
}

/// All entries, those of the higher layer first. What is said twice stays until the policy is made.
impl<T> Combine for Vec<T> {
    fn combine(mut self, lower: Self) -> Self {
        self.extend(lower);
        self
    }
}

impl Combine for Options {
    fn combine(self, lower: Self) -> Self {
        let Options {
            enabled,
            fail_if_unavailable,
            auto_allow_bash_if_sandboxed,
            allow_unsandboxed_commands,
            excluded_commands,
            filesystem,
            network,
            credentials,
        } = self;
        Options {
            enabled: enabled.combine(lower.enabled),
            fail_if_unavailable: fail_if_unavailable.combine(lower.fail_if_unavailable),
            auto_allow_bash_if_sandboxed: auto_allow_bash_if_sandboxed
                .combine(lower.auto_allow_bash_if_sandboxed),
            allow_unsandboxed_commands: allow_unsandboxed_commands.combine(lower.allow_unsandboxed_commands),
            excluded_commands: excluded_commands.combine(lower.excluded_commands),
            filesystem: filesystem.combine(lower.filesystem),
            network: network.combine(lower.network),
            credentials: credentials.combine(lower.credentials),
        }
    }
}

impl Combine for FilesystemOptions {
    fn combine(self, lower: Self) -> Self {
        let FilesystemOptions { allow_write, deny_write, deny_read, allow_read, disabled } = self;
        FilesystemOptions {
            allow_write: allow_write.combine(lower.allow_write),
            deny_write: deny_write.combine(lower.deny_write),
            deny_read: deny_read.combine(lower.deny_read),
            allow_read: allow_read.combine(lower.allow_read),
            disabled: disabled.combine(lower.disabled),
        }
    }
}

impl Combine for NetworkOptions {
    fn combine(self, lower: Self) -> Self {
        let NetworkOptions {
            allowed_domains,
            denied_domains,
            strict_allowlist,
            allow_unix_sockets,
            allow_all_unix_sockets,
            allow_local_binding,
        } = self;
        NetworkOptions {
            allowed_domains: allowed_domains.combine(lower.allowed_domains),
            denied_domains: denied_domains.combine(lower.denied_domains),
            strict_allowlist: strict_allowlist.combine(lower.strict_allowlist),
            allow_unix_sockets: allow_unix_sockets.combine(lower.allow_unix_sockets),
            allow_all_unix_sockets: allow_all_unix_sockets.combine(lower.allow_all_unix_sockets),
            allow_local_binding: allow_local_binding.combine(lower.allow_local_binding),
        }
    }
}

impl Combine for CredentialOptions {
    fn combine(self, lower: Self) -> Self {
        let CredentialOptions { files, env_vars } = self;
        CredentialOptions { files: files.combine(lower.files), env_vars: env_vars.combine(lower.env_vars) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::Source;
    use palisade_policy::{AbsPath, Anchor, Layer};
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::{Map, Value, json};

    /// One layer's settings, as they are read from a text with any of the keys.
    fn options() -> impl Strategy<Value = Options> {
        let layer = select(vec![Layer::User, Layer::Project, Layer::Local, Layer::Flag]);
        (layer, object(sandbox_key())).prop_map(|(layer, sandbox)| {
            let anchor = Anchor { base: AbsPath::root(), home: None };
            let source = Source { layer, file: layer.to_string().into(), anchor };
            let text = json!({ "sandbox": sandbox }).to_string();
            Options::read(&source, &text, &mut Vec::new()).expect("settings without a mistake")
        })
    }

    fn object(field: impl Strategy<Value = (&'static str, Value)>) -> impl Strategy<Value = Value> {
        vec(field, 0..8)
            .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            .prop_map(|fields: Map<String, Value>| fields.into())
    }

    fn sandbox_key() -> impl Strategy<Value = (&'static str, Value)> {
        prop_oneof![
            switch(&["enabled", "failIfUnavailable", "autoAllowBashIfSandboxed", "allowUnsandboxedCommands"]),
            list(&["excludedCommands"]),
            section("filesystem", &["disabled"], &["allowWrite", "denyWrite", "denyRead", "allowRead"]),
            section(
                "network",
                &["strictAllowlist", "allowAllUnixSockets", "allowLocalBinding"],
                &["allowedDomains", "deniedDomains", "allowUnixSockets"]
            ),
            section("credentials", &[], &["files", "envVars"]),
        ]
    }

    fn section(
        name: &'static str,
        switches: &'static [&'static str],
        lists: &'static [&'static str],
    ) -> BoxedStrategy<(&'static str, Value)> {
        let field = if switches.is_empty() {
            list(lists)
        } else {
            prop_oneof![switch(switches), list(lists)].boxed()
        };
        object(field).prop_map(move |value| (name, value)).boxed()
    }

    fn switch(names: &'static [&'static str]) -> BoxedStrategy<(&'static str, Value)> {
        (select(names), any::<bool>()).prop_map(|(name, value)| (name, json!(value))).boxed()
    }

    fn list(names: &'static [&'static str]) -> BoxedStrategy<(&'static str, Value)> {
        (select(names), vec(select(&["a", "b", "c"][..]), 0..4))
            .prop_map(|(name, value)| (name, json!(value)))
            .boxed()
    }

    proptest! {
        /// Law 4.
        #[test]
        fn combining_is_associative_and_nothing_changes_nothing(a in options(), b in options(), c in options()) {
            let left = a.clone().combine(b.clone()).combine(c.clone());
            let right = a.clone().combine(b.combine(c));
            prop_assert_eq!(left, right);
            prop_assert_eq!(a.clone().combine(Options::default()), a.clone());
            prop_assert_eq!(Options::default().combine(a.clone()), a);
        }

        /// Every rule of either layer is in force, and every switch of the higher one.
        #[test]
        fn nothing_that_was_said_gets_lost(high in options(), low in options()) {
            let (merged, rules) = high.clone().combine(low.clone()).in_force();
            for (policy, own) in [high.in_force(), low.in_force()] {
                let patterns = merged.files.rules().map(|rule| &rule.pattern).collect::<Vec<_>>();
                prop_assert!(policy.files.rules().all(|rule| patterns.contains(&&rule.pattern)));
                let denied = merged.network.denied.iter().map(|rule| &rule.pattern).collect::<Vec<_>>();
                prop_assert!(policy.network.denied.iter().all(|rule| denied.contains(&&rule.pattern)));
                let excluded = rules.excluded.iter().map(|rule| &rule.pattern).collect::<Vec<_>>();
                prop_assert!(own.excluded.iter().all(|rule| excluded.contains(&&rule.pattern)));
            }
            if let Some(enabled) = high.enabled {
                prop_assert_eq!(merged.enabled, enabled.value);
            }
        }
    }
}
