//! Lists the tests that an older agent cannot pass, because it lacks a feature. With such an agent
//! (`TURNBRIDGE_TEST_CLAUDE=oldest`) they are skipped, with the reason.

type Version = [u32; 3];

/// A test by its name, the first version that it passes with, and the gap of older ones.
type Need = (&'static str, Version, &'static str);

const CLAUDE: [Need; 16] = [
    (
        "additions::live_8_what_is_typed_while_a_tool_runs_is_listed_with_the_turn",
        [2, 1, 326],
        "it calls no hook for what is typed during a turn",
    ),
    (
        "additions::live_8_what_was_typed_before_esc_is_the_next_prompt_and_is_seen_to_work",
        [2, 1, 326],
        "it calls no hook for what is typed during a turn",
    ),
    ("daemon_terminal::esc_in_claude_reaches_the_hosts_through_the_daemon", NOTED, NO_NOTE),
    (
        "dialogs::a_dialog_of_a_sub_agent_is_one_of_the_session_and_ends_with_its_approval",
        [2, 1, 326],
        NO_BACKGROUND,
    ),
    (
        "dialogs::a_dialog_that_stays_open_is_told_again_and_its_approval_is_still_seen",
        NOTED,
        NO_NOTE,
    ),
    ("dialogs::an_approved_dialog_stays_closed_while_others_go_on", [2, 1, 326], NO_BACKGROUND),
    (
        "dialogs::ask_11_a_dialog_of_auto_mode_for_which_no_hook_is_called_is_seen_all_the_same",
        [2, 1, 326],
        "auto mode has to be switched on in a dialog",
    ),
    (
        "dialogs::ask_11_a_message_that_is_held_in_a_session_at_rest_is_seen_before_claude_s_own_notification",
        [2, 1, 326],
        "it takes no messages from other sessions",
    ),
    (
        "dialogs::three_agents_in_the_background_are_shown_until_each_has_ended_and_every_turn_is_told_once",
        [2, 1, 326],
        NO_BACKGROUND,
    ),
    (
        "interactive::an_interactive_session_shows_start_work_dialog_approval_end_and_exit",
        NOTED,
        NO_NOTE,
    ),
    (
        "interruptions::an_interrupted_session_stays_interrupted_while_a_settings_panel_is_open_x31",
        NOTED,
        "it does not show that a tool was interrupted",
    ),
    (
        "interruptions::esc_beside_an_agent_in_the_background_interrupts_the_turn_and_not_the_agent_x31",
        [2, 1, 326],
        NO_BACKGROUND,
    ),
    ("interruptions::esc_before_the_first_token_interrupts_the_turn_x31", NOTED, NO_NOTE),
    (
        "packaged::a_turn_with_a_release_archive_as_a_zip_is_told_to_everyone",
        NOTED,
        "it keeps the unpacked plugin until the last hook, and the test expects that it does not",
    ),
    (
        "plugin::claude_finds_nothing_wrong_with_the_plugin_in_any_of_its_layouts",
        NOTED,
        "`plugin validate` has no `--strict`",
    ),
    (
        "stop_gate::the_next_prompt_ends_the_speech_and_is_a_turn_of_its_own",
        NOTED,
        "it gives turns no id, so that a speech that is cut off counts for the next one, too",
    ),
];

/// The oldest version with which these tests passed; versions in between were not tried.
const NOTED: Version = [2, 1, 197];
const NO_NOTE: &str = "it does not note whether it works, waits or is idle (`sessions/PID.json`)";
const NO_BACKGROUND: &str = "its sub-agents do not work in the background";

const CODEX: [Need; 0] = [];

/// Returns why this version of the agent cannot pass the test, or `None` if it can.
pub fn lack(agent: &str, version: impl Fn() -> Version, test: &str) -> Option<String> {
    let needs = if agent == "claude" { &CLAUDE[..] } else { &CODEX[..] };
    // The version query takes time, and most tests do not need it.
    let (_, first, why) = needs.iter().find(|(name, ..)| *name == test)?;
    if version() >= *first {
        return None;
    }
    let [major, minor, patch] = first;
    Some(format!("it needs {agent} {major}.{minor}.{patch}: {why}"))
}
