//! Writes the property list of a launch agent (SLV-89..96), and reads the variables back from one.

use super::xml::{escape, unescape};
use super::{EnvironmentVariables, Job, Unwritable, check};

pub const LABEL: &str = "dev.turnbridge.daemon";

const ENVIRONMENT: &str = "<key>EnvironmentVariables</key>";

/// Returns the property list. `output` is the file for the daemon's output before its log, and in a
/// panic.
///
/// launchd ends the process group of a job with it. Agents that answer a reply have their own
/// sessions and survive (`AbandonProcessGroup` is not needed for that).
pub fn render(job: &Job, output: &str) -> Result<String, Unwritable> {
    job.check()?;
    check(output)?;
    let words = [&job.program].into_iter().chain(&job.arguments);
    let arguments: String = words.map(|word| format!("\t\t{}\n", string(word))).collect();
    let variable = |(name, value): &(String, String)| {
        format!("\t\t<key>{}</key>\n\t\t{}\n", escape(name), string(value))
    };
    let environment: String = job.environment.iter().map(variable).collect();
    let output = string(output);
    Ok(format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
\t<key>Label</key>
\t<string>{LABEL}</string>
\t<key>ProgramArguments</key>
\t<array>
{arguments}\t</array>
\t{ENVIRONMENT}
\t<dict>
{environment}\t</dict>
\t<key>RunAtLoad</key>
\t<true/>
\t<key>KeepAlive</key>
\t<true/>
\t<key>ThrottleInterval</key>
\t<integer>10</integer>
\t<key>StandardOutPath</key>
\t{output}
\t<key>StandardErrorPath</key>
\t{output}
</dict>
</plist>
"
    ))
}

fn string(text: &str) -> String {
    format!("<string>{}</string>", escape(text))
}

/// Returns the variables in a list of `render`. Of another list it may return anything.
pub fn environment_in(definition: &str) -> EnvironmentVariables {
    let lines = definition.lines().map(str::trim).skip_while(|line| *line != ENVIRONMENT).skip(2);
    let lines: Vec<_> = lines.take_while(|line| *line != "</dict>").collect();
    let variable = |pair: &[&str]| {
        let name = pair[0].strip_prefix("<key>")?.strip_suffix("</key>")?;
        let value = pair[1].strip_prefix("<string>")?.strip_suffix("</string>")?;
        Some((unescape(name), unescape(value)))
    };
    lines.chunks_exact(2).filter_map(variable).collect()
}
