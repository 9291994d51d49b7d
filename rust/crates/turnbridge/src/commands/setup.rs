//! `turnbridge setup`: passes the flags to the set-up in `crate::setup`. `turnbridge` alone in a
//! terminal runs it too (X35).

use std::io::Write;

use anyhow::Result;
use clap::Args;

use crate::output;
use crate::setup::{self, ClaudeWay, CodexWay, LanguageName, SetupOptions, slack_app};

/// Set everything up, step by step: Slack, your agents, the daemon, and a test
///
/// It tells what it found, asks before it changes anything, and can be run again at any time: what is
/// set is shown and may stay. Each question has a flag; without a terminal, or with --yes, nothing is
/// asked, and what no flag says is as by default. Tokens are read from the terminal or from stdin,
/// never from the command line.
#[derive(Debug, Default, Args)]
pub struct SetupArgs {
    /// Ask nothing: flags and defaults decide
    #[arg(long, short)]
    yes: bool,
    /// The language of this and of what is written to Slack [default: as your locale says]
    #[arg(long)]
    language: Option<LanguageName>,
    /// Leave Slack as it is
    #[arg(long, conflicts_with_all = ["bot_token_stdin", "app_token_stdin", "user"])]
    no_slack: bool,
    /// Read the bot token (xoxb-) from stdin, as its first line
    #[arg(long)]
    bot_token_stdin: bool,
    /// Read the app-level token (xapp-) from stdin, as the next line
    #[arg(long)]
    app_token_stdin: bool,
    /// Your member id in Slack: the only one who may drive the agents
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// How Claude Code calls Turnbridge
    #[arg(long, value_name = "WAY")]
    claude: Option<ClaudeWay>,
    /// How Codex calls Turnbridge
    #[arg(long, value_name = "WAY")]
    codex: Option<CodexWay>,
    /// Start the daemon in the background instead of installing a service
    #[arg(long)]
    no_service: bool,
    /// Run no test at the end
    #[arg(long)]
    no_test: bool,
    /// Test without waiting for a reply
    #[arg(long)]
    no_reply_test: bool,
    /// Run the test and nothing else
    #[arg(long, conflicts_with = "no_test")]
    only_test: bool,
    /// Print the manifest of the Slack app and exit
    #[arg(long, exclusive = true)]
    print_manifest: bool,
    /// Print the address that makes the Slack app and exit
    #[arg(long, exclusive = true)]
    print_link: bool,
}

pub fn run(arguments: SetupArgs) -> Result<()> {
    if arguments.print_manifest {
        return Ok(write!(output::stdout(), "{}", slack_app::MANIFEST)?);
    }
    if arguments.print_link {
        return Ok(writeln!(output::stdout(), "{}", slack_app::link())?);
    }
    setup::run(&SetupOptions {
        language: arguments.language,
        no_questions: arguments.yes,
        no_slack: arguments.no_slack,
        bot_token_stdin: arguments.bot_token_stdin,
        app_token_stdin: arguments.app_token_stdin,
        user: arguments.user,
        claude: arguments.claude,
        codex: arguments.codex,
        no_service: arguments.no_service,
        no_test: arguments.no_test,
        no_reply_test: arguments.no_reply_test,
        only_test: arguments.only_test,
    })
}
