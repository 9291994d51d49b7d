//! Checks whether Claude Code calls Turnbridge: by the plugin, by `settings.json`, by both or by
//! neither; and when it last did. Sessions store their last event, so that the last call is known
//! without extra writes in hooks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use turnbridge_core::agents::claude::settings_edit::StopGate;
use turnbridge_core::agents::hook_table::HookEventName;
use turnbridge_core::session::Session;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::paths::claude_config_dir;
use turnbridge_store::state::session_store;
use turnbridge_system::registration::claude_plugin::{
    self, Layers, PluginInstallation, is_plugin_dir_seen,
};

use super::check_context::{AgentProgram, CheckContext, OWN_VERSION};
use super::claude_settings::{self, ClaudeSettings};
use super::finding::{Area, Finding, Repair, Severity, problem_text};
use super::report::ago;

struct ClaudeHooksFacts {
    now: Timestamp,
    has_claude: bool,
    settings_path: PathBuf,
    settings: ClaudeSettings,
    plugins: Vec<PluginInstallation>,
    /// The file whose `disableAllHooks` is in force.
    off_in: Option<PathBuf>,
    managed_only_in: Option<PathBuf>,
    /// When each event was last seen, the newest first. `None` if that cannot be known.
    seen: Option<Vec<(HookEventName, Timestamp)>>,
    /// `--plugin-dir` has loaded the plugin recently.
    is_plugin_dir_seen: bool,
}

pub fn check(context: &CheckContext) -> Vec<Finding> {
    let Some(config_dir) = claude_config_dir() else { return Vec::new() };
    let project = std::env::current_dir().ok();
    let layers = Layers::read(project.as_deref());
    let settings_path = config_dir.join("settings.json");
    let sessions = context.paths.as_ref().and_then(|paths| session_store::read_all(paths).ok());
    let off = layers.switch("disableAllHooks").filter(|(is_off, _)| *is_off);
    findings(&ClaudeHooksFacts {
        now: context.now,
        has_claude: context.claude != AgentProgram::Absent,
        settings: claude_settings::read_settings(&settings_path, context.claude.version()),
        settings_path,
        plugins: claude_plugin::find(&config_dir, &layers),
        off_in: off.map(|(_, path)| path.to_owned()),
        managed_only_in: layers.managed("allowManagedHooksOnly").map(Path::to_owned),
        seen: sessions.as_deref().map(seen),
        is_plugin_dir_seen: is_plugin_dir_seen(&sessions.unwrap_or_default(), context.now),
    })
}

fn seen(sessions: &[Session]) -> Vec<(HookEventName, Timestamp)> {
    let mut newest: BTreeMap<HookEventName, Timestamp> = BTreeMap::new();
    let runs = sessions.iter().flat_map(|session| {
        let agent = session.key.agent;
        let runs = session.runs.iter().filter(move |_| agent.has_hooks_in_settings());
        runs.map(move |run| (agent, run))
    });
    for (agent, run) in runs {
        if let Some(event) = HookEventName::parse(&run.last_event, agent) {
            let at = newest.entry(event).or_insert(run.last_at);
            *at = run.last_at.max(*at);
        }
    }
    let mut seen: Vec<_> = newest.into_iter().collect();
    seen.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
    seen
}

fn findings(facts: &ClaudeHooksFacts) -> Vec<Finding> {
    let mut findings: Vec<_> = facts.plugins.iter().filter_map(of_plugin).collect();
    let path = facts.settings_path.display();
    findings.extend(switched_off(facts));
    let by_plugin = facts.plugins.iter().find(|plugin| plugin.is_enabled && plugin.is_installed);
    let is_registered = match (&facts.settings, by_plugin) {
        (ClaudeSettings::Invalid(reason), _) => {
            let what = format!("`{path}` cannot be read: {reason}");
            let why =
                "Claude Code ignores the whole file without a word: hooks, permissions, all of it";
            let wording =
                problem_text(what, why, "repair that place; `turnbridge hooks status` looks again");
            findings.push(Finding::error(Area::Hooks, "settings-invalid", wording));
            false
        }
        (ClaudeSettings::NotRegistered, None) => {
            findings.extend(unregistered(facts));
            facts.is_plugin_dir_seen
        }
        (ClaudeSettings::NotRegistered, Some(plugin)) => {
            let what = format!("registered by the plugin `{}`", plugin.name);
            findings.push(Finding::ok(Area::Hooks, "hooks", what));
            true
        }
        (ClaudeSettings::Registered, None) => {
            findings.push(Finding::ok(Area::Hooks, "hooks", format!("registered in `{path}`")));
            true
        }
        (ClaudeSettings::Registered, Some(plugin)) => {
            let what = format!("registered twice: by the plugin `{}` and in `{path}`", plugin.name);
            let why = "every event counts once, but each costs two processes";
            let wording =
                problem_text(what, why, "run `turnbridge hooks remove` to leave it to the plugin");
            findings.push(Finding::note(Area::Hooks, "hooks-twice", wording));
            true
        }
        (ClaudeSettings::Outdated { gate, gone, others }, _) => {
            findings.push(outdated(&facts.settings_path, *gate, gone, others));
            true
        }
    };
    findings.extend(last_seen(facts, is_registered));
    findings
}

fn of_plugin(plugin: &PluginInstallation) -> Option<Finding> {
    let PluginInstallation { name, is_enabled, is_installed, root, version } = plugin;
    let (what, id, severity, fix) = match (is_enabled, is_installed, root, version) {
        (false, ..) => return None,
        (true, false, ..) => (
            format!("the plugin `{name}` is switched on, but not installed"),
            "plugin-not-installed",
            Severity::Warning,
            format!("run `claude plugin install {name}`"),
        ),
        (true, true, None, _) => (
            format!("the plugin `{name}` has no executables for this machine"),
            "plugin-executables-missing",
            Severity::Error,
            "run `scripts/build` in its folder, or install it from a release".to_owned(),
        ),
        (true, true, Some(_), Some(version)) if version == OWN_VERSION => return None,
        (true, true, Some(root), version) => (
            match version {
                Some(version) => {
                    format!("the plugin `{name}` is {version}, this Turnbridge is {OWN_VERSION}")
                }
                None => format!("the executables of the plugin in `{}` do not run", root.display()),
            },
            "plugin-version",
            Severity::Warning,
            format!("run `claude plugin update {name}`, or update this Turnbridge"),
        ),
    };
    let why = "Claude Code runs the hooks that lie in the plugin's folder";
    Some(Finding::problem(severity, Area::Hooks, id, problem_text(what, why, fix)))
}

fn switched_off(facts: &ClaudeHooksFacts) -> Vec<Finding> {
    let why = "Claude Code runs none of our hooks";
    let off = facts.off_in.as_ref().map(|path| {
        let what = format!("`disableAllHooks` is set in `{}`", path.display());
        let wording =
            problem_text(what, why, "take `disableAllHooks` out of that file, or set it to false");
        Finding::error(Area::Hooks, "hooks-switched-off", wording)
    });
    let managed = facts.managed_only_in.as_ref().map(|path| {
        let what = format!("`allowManagedHooksOnly` is set in `{}`", path.display());
        let fix =
            "ask the administrator of this machine to allow the hooks, or to register them there";
        Finding::error(Area::Hooks, "hooks-managed-only", problem_text(what, why, fix))
    });
    off.into_iter().chain(managed).collect()
}

fn unregistered(facts: &ClaudeHooksFacts) -> Option<Finding> {
    if facts.is_plugin_dir_seen {
        let what = "not registered, but a session lately had the plugin by `--plugin-dir`";
        return Some(Finding::ok(Area::Hooks, "hooks", what));
    }
    if facts.plugins.iter().any(|plugin| plugin.is_enabled) {
        // Another finding reports that it is not installed.
        return None;
    }
    let why = "none of its sessions is seen (no file names a plugin that `--plugin-dir` gives)";
    if let Some(plugin) = facts.plugins.iter().find(|plugin| plugin.is_installed) {
        let what = format!("the plugin `{}` is installed, but switched off", plugin.name);
        let fix = format!("run `claude plugin enable {}`", plugin.name);
        return Some(Finding::warning(
            Area::Hooks,
            "plugin-disabled",
            problem_text(what, why, fix),
        ));
    }
    if !facts.has_claude {
        return Some(Finding::ok(Area::Hooks, "hooks", "not registered; there is no Claude Code"));
    }
    let wording = problem_text(
        "Claude Code calls no hook of ours",
        why,
        "install the plugin, or run `turnbridge hooks apply`",
    );
    Some(Finding::warning(Area::Hooks, "hooks-none", wording))
}

fn outdated(
    path: &Path,
    gate: StopGate,
    gone: &[String],
    others: &[(String, Option<String>)],
) -> Finding {
    let fix = match gate {
        StopGate::On => "run `turnbridge hooks apply --gate`",
        StopGate::Off => "run `turnbridge hooks apply`",
    };
    let path = path.display();
    let finding = match (gone.first(), others.first()) {
        (Some(program), _) => {
            let what = format!("`{path}` calls `{program}`, which does not exist");
            let why = "these hooks fail, and nothing is seen of the sessions";
            Finding::error(Area::Hooks, "hooks-program-missing", problem_text(what, why, fix))
        }
        (None, Some((program, version))) => {
            let version = version.as_deref().unwrap_or("one that does not run");
            let what = format!("`{path}` calls another Turnbridge: `{program}` ({version})");
            let why = "its hooks may not know what this one expects of them";
            Finding::warning(Area::Hooks, "hooks-outdated", problem_text(what, why, fix))
        }
        (None, None) => {
            let what = format!("`{path}` has not all of our hooks, or in another form");
            let why = "some events are not seen";
            Finding::warning(Area::Hooks, "hooks-outdated", problem_text(what, why, fix))
        }
    };
    finding.repaired_by(Repair::RegisterHooks(gate))
}

fn last_seen(facts: &ClaudeHooksFacts, is_registered: bool) -> Option<Finding> {
    let seen = facts.seen.as_ref()?;
    if seen.is_empty() {
        let why = "sessions that ran before the hooks were registered do not call them";
        let fix = "restart running sessions, or open `/hooks` in them";
        let wording = problem_text("no hook has been called yet", why, fix);
        return is_registered.then(|| Finding::note(Area::Hooks, "hooks-unseen", wording));
    }
    let newest = seen.iter().take(3);
    let newest: Vec<_> = newest
        .map(|(event, at)| format!("{} {}", event.as_str(), ago(facts.now.since(*at))))
        .collect();
    let what = format!("last seen: {}", newest.join(", "));
    Some(Finding::ok(Area::Hooks, "hooks-seen", what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> ClaudeHooksFacts {
        ClaudeHooksFacts {
            now: Timestamp::from_millis(60_000),
            has_claude: true,
            settings_path: "/s.json".into(),
            settings: ClaudeSettings::Registered,
            plugins: Vec::new(),
            off_in: None,
            managed_only_in: None,
            seen: Some(vec![(HookEventName::Stop, Timestamp::from_millis(0))]),
            is_plugin_dir_seen: false,
        }
    }

    fn plugin() -> PluginInstallation {
        PluginInstallation {
            name: "turnbridge@m".to_owned(),
            is_enabled: true,
            is_installed: true,
            root: Some("/p".into()),
            version: Some(OWN_VERSION.to_owned()),
        }
    }

    #[track_caller]
    fn check(facts: ClaudeHooksFacts, expected: &[&str]) {
        let found = findings(&facts);
        let ids: Vec<_> = found.iter().map(|finding| finding.id).collect();
        assert_eq!(ids, expected, "{found:#?}");
    }

    #[test]
    fn every_way_to_be_registered_is_told_apart() {
        let ours = |plugins| ClaudeHooksFacts {
            plugins,
            settings: ClaudeSettings::NotRegistered,
            ..healthy()
        };
        check(healthy(), &["hooks", "hooks-seen"]);
        check(ours(vec![plugin()]), &["hooks", "hooks-seen"]);
        check(
            ClaudeHooksFacts { plugins: vec![plugin()], ..healthy() },
            &["hooks-twice", "hooks-seen"],
        );
        check(ours(vec![]), &["hooks-none", "hooks-seen"]);
        check(
            ours(vec![PluginInstallation { is_enabled: false, ..plugin() }]),
            &["plugin-disabled", "hooks-seen"],
        );
        check(
            ours(vec![PluginInstallation { is_installed: false, ..plugin() }]),
            &["plugin-not-installed", "hooks-seen"],
        );
        check(
            ClaudeHooksFacts { is_plugin_dir_seen: true, ..ours(vec![]) },
            &["hooks", "hooks-seen"],
        );
        check(ClaudeHooksFacts { has_claude: false, ..ours(vec![]) }, &["hooks", "hooks-seen"]);
        check(ClaudeHooksFacts { seen: Some(vec![]), ..healthy() }, &["hooks", "hooks-unseen"]);
        check(ClaudeHooksFacts { seen: Some(vec![]), ..ours(vec![]) }, &["hooks-none"]);
    }

    #[test]
    fn what_keeps_registered_hooks_from_running_is_an_error() {
        check(
            ClaudeHooksFacts { off_in: Some("/s".into()), ..healthy() },
            &["hooks-switched-off", "hooks", "hooks-seen"],
        );
        check(
            ClaudeHooksFacts { managed_only_in: Some("/m".into()), ..healthy() },
            &["hooks-managed-only", "hooks", "hooks-seen"],
        );
        let invalid = ClaudeSettings::Invalid("a comment".to_owned());
        check(
            ClaudeHooksFacts { settings: invalid, ..healthy() },
            &["settings-invalid", "hooks-seen"],
        );
        let empty = PluginInstallation { root: None, version: None, ..plugin() };
        let ours = |plugins| ClaudeHooksFacts {
            plugins,
            settings: ClaudeSettings::NotRegistered,
            ..healthy()
        };
        check(ours(vec![empty]), &["plugin-executables-missing", "hooks", "hooks-seen"]);
        let old = PluginInstallation { version: Some("0.0.1".to_owned()), ..plugin() };
        check(ours(vec![old]), &["plugin-version", "hooks", "hooks-seen"]);
    }

    #[test]
    fn a_registration_is_brought_up_to_date_with_the_gate_that_it_had() {
        let outdated = |gate, gone: &[&str]| ClaudeSettings::Outdated {
            gate,
            gone: gone.iter().map(|program| (*program).to_owned()).collect(),
            others: vec![("/old".to_owned(), Some("0.0.1".to_owned()))],
        };
        let found =
            findings(&ClaudeHooksFacts { settings: outdated(StopGate::On, &[]), ..healthy() });
        assert_eq!(found[0].id, "hooks-outdated");
        assert_eq!(found[0].repair, Some(Repair::RegisterHooks(StopGate::On)));
        let found = findings(&ClaudeHooksFacts {
            settings: outdated(StopGate::Off, &["/gone"]),
            ..healthy()
        });
        assert_eq!((found[0].id, found[0].severity), ("hooks-program-missing", Severity::Error));
        assert_eq!(found[0].repair, Some(Repair::RegisterHooks(StopGate::Off)));
    }
}
