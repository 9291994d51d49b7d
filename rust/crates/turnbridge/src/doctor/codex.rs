//! Checks Codex: whether it calls Turnbridge after a turn (`notify`), whether it runs the plugin's
//! hooks, which needs the user's trust, and whether its rollouts are readable.

use std::path::{Path, PathBuf};

use toml_edit::{Document, Item};
use turnbridge_config::codex_homes::codex_homes;
use turnbridge_config::codex_notify::{NotifyKeyStatus, our_argv, status};
use turnbridge_store::foreign::foreign_text::read_text;
use turnbridge_store::paths::codex_home;

use super::check_context::{AgentProgram, CheckContext, own_path};
use super::codex_hooks;
use super::codex_plugin::{self, CodexPlugin, HookListSource};
use super::finding::{Area, Finding, Repair, problem_text};

struct CodexFacts {
    config: PathBuf,
    notify: Result<NotifyKeyStatus, String>,
    plugins: Vec<CodexPlugin>,
    /// Codex homes in the config that do not exist.
    missing_homes: Vec<PathBuf>,
    /// Folders of rollouts, each with its error.
    unreadable: Vec<(PathBuf, String)>,
}

pub fn check(context: &CheckContext) -> Vec<Finding> {
    let Some(home) = codex_home() else { return Vec::new() };
    if context.codex == AgentProgram::Absent && !home.is_dir() {
        return Vec::new();
    }
    let config = home.join("config.toml");
    let text = read_text(&config).map(Option::unwrap_or_default);
    let argv = our_argv(&own_path("turnbridge").to_string_lossy());
    let further = &context.config().codex.homes;
    let homes = codex_homes(further).into_iter().map(|home| home.join("sessions"));
    findings(&CodexFacts {
        notify: text
            .as_deref()
            .map_err(Clone::clone)
            .and_then(|text| status(text, &argv).map_err(|problem| problem.to_string())),
        plugins: text.map(|text| asked(context, plugins(&home, &text))).unwrap_or_default(),
        missing_homes: further.iter().filter(|home| !home.is_dir()).cloned().collect(),
        unreadable: homes.filter_map(unreadable).collect(),
        config,
    })
}

fn plugins(home: &Path, config: &str) -> Vec<CodexPlugin> {
    Document::parse(config).map_or_else(
        |_| Vec::new(),
        |document| {
            let root: &Item = document.as_item();
            codex_plugin::find(home, root)
        },
    )
}

/// Returns the plugins with Codex's own list of the hooks that it runs.
fn asked(context: &CheckContext, plugins: Vec<CodexPlugin>) -> Vec<CodexPlugin> {
    let AgentProgram::Found { path, .. } = &context.codex else { return plugins };
    if !plugins.iter().any(|plugin| plugin.is_enabled && plugin.has_executables) {
        return plugins;
    }
    let folder = std::env::current_dir().unwrap_or_else(|_| std::env::temp_dir());
    let hooks = codex_hooks::list(path, &folder);
    plugins.into_iter().map(|plugin| plugin.told_by(&hooks)).collect()
}

fn unreadable(folder: PathBuf) -> Option<(PathBuf, String)> {
    match std::fs::read_dir(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Some((folder, error.to_string()))
        }
        _ => None,
    }
}

fn findings(facts: &CodexFacts) -> Vec<Finding> {
    let mut findings = of_notify(facts);
    findings.extend(facts.plugins.iter().flat_map(of_plugin));
    for home in &facts.missing_homes {
        let what = format!("`codex.homes` names `{}`, which is no folder", home.display());
        let why = "the sessions of that Codex are not followed";
        let wording =
            problem_text(what, why, "correct `codex.homes` in config.toml, or take it out");
        findings.push(Finding::warning(Area::Codex, "codex-home-missing", wording));
    }
    for (folder, error) in &facts.unreadable {
        let what = format!("`{}` cannot be read: {error}", folder.display());
        let why = "what Codex does without hooks is not seen";
        let wording = problem_text(what, why, "look at its owner and mode");
        findings.push(Finding::warning(Area::Codex, "codex-rollouts-unreadable", wording));
    }
    findings
}

fn of_notify(facts: &CodexFacts) -> Vec<Finding> {
    let path = facts.config.display();
    let repair = || Repair::RegisterNotify;
    let fix = "run `turnbridge codex notify apply`";
    let has_plugin = facts.plugins.iter().any(|plugin| plugin.is_enabled);
    vec![match &facts.notify {
        Err(reason) => {
            let what = format!("`{path}` cannot be read: {reason}");
            let wording = problem_text(what, "Codex does not start with it", "repair that place");
            Finding::error(Area::Codex, "codex-config-invalid", wording)
        }
        Ok(NotifyKeyStatus::Registered) => {
            Finding::ok(Area::Codex, "codex-notify", "calls Turnbridge when a turn has ended")
        }
        Ok(NotifyKeyStatus::Absent) if has_plugin => {
            Finding::ok(Area::Codex, "codex-notify", "has our plugin; `notify` is not needed")
        }
        Ok(NotifyKeyStatus::Absent) => {
            let why = "its turns are seen only while a daemon runs";
            let wording = problem_text(
                "Codex calls nothing of ours",
                why,
                format!("{fix}, or install the plugin (docs/codex.md)"),
            );
            Finding::note(Area::Codex, "codex-unregistered", wording)
        }
        Ok(NotifyKeyStatus::Outdated(argv)) => {
            let program = argv.first().map(String::as_str).unwrap_or_default();
            let finding = match Path::new(program).is_file() {
                true => {
                    let what =
                        format!("`notify` in `{path}` calls another Turnbridge: `{program}`");
                    let why = "it may not know what this one expects of it";
                    Finding::warning(
                        Area::Codex,
                        "codex-notify-outdated",
                        problem_text(what, why, fix),
                    )
                }
                false => {
                    let what =
                        format!("`notify` in `{path}` calls `{program}`, which does not exist");
                    let why = "Codex says nothing of it, and no notice of its turns is made";
                    Finding::error(
                        Area::Codex,
                        "codex-notify-missing",
                        problem_text(what, why, fix),
                    )
                }
            };
            finding.repaired_by(repair())
        }
        Ok(NotifyKeyStatus::Foreign(_)) if has_plugin => {
            Finding::ok(Area::Codex, "codex-notify", "has our plugin, and a `notify` of your own")
        }
        Ok(NotifyKeyStatus::Foreign(argv)) => {
            let program = argv.first().map(String::as_str).unwrap_or_default();
            let what =
                format!("Codex calls `{program}` when a turn has ended, and nothing of ours");
            let why = "its turns are seen only while a daemon runs; Codex calls one program only";
            let fix = "run `turnbridge codex notify apply --chain` to have both called";
            Finding::note(Area::Codex, "codex-notify-foreign", problem_text(what, why, fix))
        }
        Ok(NotifyKeyStatus::Unusable) => {
            let what = format!("`notify` in `{path}` is no list of words");
            let why = "Codex does not start with it";
            let fix = "make it a list, or run `turnbridge codex notify apply --replace`";
            Finding::error(Area::Codex, "codex-notify-unusable", problem_text(what, why, fix))
        }
    }]
}

fn of_plugin(plugin: &CodexPlugin) -> Vec<Finding> {
    let CodexPlugin { name, is_enabled, has_executables, hooks, untrusted, word } = plugin;
    if !is_enabled {
        return Vec::new();
    }
    if !has_executables {
        let what = format!("the plugin `{name}` in Codex has no executables for this machine");
        let why = "its hooks fail, and Codex's states are less exact";
        let wording = problem_text(
            what,
            why,
            format!("install it from a release: `codex plugin add {name}`"),
        );
        return vec![Finding::error(Area::Codex, "codex-plugin-executables", wording)];
    }
    if let HookListSource::Codex { changed, off } = word
        && (*changed, *off) != (0, 0)
    {
        let what = format!(
            "of the {hooks} hooks of the plugin `{name}` {untrusted} are not trusted, {changed} were \
             changed since you trusted them, and {off} are switched off"
        );
        let why = "Codex does not run them, and says so in its terminal only";
        let wording = problem_text(
            what,
            why,
            "start `codex`, open `/hooks`, and trust or switch them on there",
        );
        return vec![Finding::warning(Area::Codex, "codex-untrusted", wording)];
    }
    if *untrusted > 0 {
        let what =
            format!("{untrusted} of the {hooks} hooks of the plugin `{name}` are not trusted");
        let why = "Codex does not run them, and says so in its terminal only";
        let wording =
            problem_text(what, why, "start `codex`, open `/hooks`, and press `t` to trust them");
        return vec![Finding::warning(Area::Codex, "codex-untrusted", wording)];
    }
    vec![match word {
        HookListSource::Codex { .. } if *hooks == 0 => {
            let what = format!("Codex knows no hooks of the plugin `{name}`");
            let why = "plugins are switched off (`features.plugins`), or the plugin is damaged";
            let fix = format!(
                "look at `codex plugin list`, and install it again: `codex plugin add {name}`"
            );
            Finding::warning(Area::Codex, "codex-hooks-unknown", problem_text(what, why, fix))
        }
        HookListSource::Codex { .. } => {
            let what = format!("runs all {hooks} hooks of the plugin `{name}`");
            Finding::ok(Area::Codex, "codex-plugin", what)
        }
        HookListSource::Config => {
            let what = format!("has trusted the hooks of the plugin `{name}`");
            Finding::ok(Area::Codex, "codex-plugin", what)
        }
        HookListSource::Unanswered(reason) => {
            let what =
                format!("Codex did not say which hooks of the plugin `{name}` it runs: {reason}");
            let why = "you have trusted them, but a hook that was changed since would not run";
            let fix = "start `codex` and look at `/hooks`";
            Finding::note(Area::Codex, "codex-hooks-unasked", problem_text(what, why, fix))
        }
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> CodexFacts {
        CodexFacts {
            config: "/c.toml".into(),
            notify: Ok(NotifyKeyStatus::Registered),
            plugins: vec![],
            missing_homes: vec![],
            unreadable: vec![],
        }
    }

    fn plugin() -> CodexPlugin {
        CodexPlugin {
            name: "turnbridge@m".to_owned(),
            is_enabled: true,
            has_executables: true,
            hooks: 12,
            untrusted: 0,
            word: HookListSource::Config,
        }
    }

    #[track_caller]
    fn check(facts: CodexFacts, expected: &[&str]) {
        let found = findings(&facts);
        let ids: Vec<_> = found.iter().map(|finding| finding.id).collect();
        assert_eq!(ids, expected, "{found:#?}");
    }

    #[test]
    fn codex_calls_us_by_notify_or_by_the_plugin() {
        let words = || vec!["/gone".to_owned()];
        check(healthy(), &["codex-notify"]);
        check(
            CodexFacts { notify: Ok(NotifyKeyStatus::Absent), ..healthy() },
            &["codex-unregistered"],
        );
        check(
            CodexFacts { notify: Ok(NotifyKeyStatus::Foreign(words())), ..healthy() },
            &["codex-notify-foreign"],
        );
        check(
            CodexFacts { notify: Ok(NotifyKeyStatus::Outdated(words())), ..healthy() },
            &["codex-notify-missing"],
        );
        check(
            CodexFacts { notify: Ok(NotifyKeyStatus::Unusable), ..healthy() },
            &["codex-notify-unusable"],
        );
        check(CodexFacts { notify: Err("x".to_owned()), ..healthy() }, &["codex-config-invalid"]);
        for notify in [NotifyKeyStatus::Absent, NotifyKeyStatus::Foreign(words())] {
            let facts = CodexFacts { notify: Ok(notify), plugins: vec![plugin()], ..healthy() };
            check(facts, &["codex-notify", "codex-plugin"]);
        }
    }

    #[test]
    fn hooks_that_codex_will_not_run_are_told() {
        let with = |plugin| CodexFacts { plugins: vec![plugin], ..healthy() };
        check(with(CodexPlugin { untrusted: 3, ..plugin() }), &["codex-notify", "codex-untrusted"]);
        check(
            with(CodexPlugin { has_executables: false, ..plugin() }),
            &["codex-notify", "codex-plugin-executables"],
        );
        check(with(CodexPlugin { is_enabled: false, untrusted: 3, ..plugin() }), &["codex-notify"]);
    }

    #[test]
    fn codex_s_own_word_on_its_hooks_counts() {
        use codex_hooks::{HookStatus, ListedHook};
        let wording = |hooks: Result<Vec<ListedHook>, String>| CodexFacts {
            plugins: vec![plugin().told_by(&hooks)],
            ..healthy()
        };
        let hook = |plugin: &str, fate| ListedHook {
            key: format!("{plugin}:hooks/codex.json:stop:0:0"),
            fate,
        };
        let ours =
            |fate| Ok(vec![hook("turnbridge@m", HookStatus::Runs), hook("turnbridge@m", fate)]);
        check(wording(ours(HookStatus::Runs)), &["codex-notify", "codex-plugin"]);
        for fate in [HookStatus::Untrusted, HookStatus::Changed, HookStatus::Off] {
            check(wording(ours(fate)), &["codex-notify", "codex-untrusted"]);
        }
        let others = Ok(vec![hook("other@m", HookStatus::Runs)]);
        check(wording(others), &["codex-notify", "codex-hooks-unknown"]);
        check(wording(Err("late".to_owned())), &["codex-notify", "codex-hooks-unasked"]);
        // The findings from the config appear all the same.
        let untrusted = CodexPlugin { untrusted: 2, ..plugin() }.told_by(&Err("late".to_owned()));
        check(
            CodexFacts { plugins: vec![untrusted], ..healthy() },
            &["codex-notify", "codex-untrusted"],
        );
    }
}
