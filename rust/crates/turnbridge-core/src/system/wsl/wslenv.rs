//! Builds `WSLENV`: the variables that Windows passes to WSL, and the conversion of their values.

/// KT-31: the pane unchanged, the paths converted (KT-20). After them the instance (KT-29, X44).
const WANTED: [(&str, char); 4] = [
    ("KAWAII_PANE_ID", 'u'),
    ("KAWAII_NOTIFY_PATH", 'p'),
    ("KAWAII_NOTIFY_DEBUG_PATH", 'p'),
    ("KAWAII_TERMINAL_INSTANCE_ID", 'u'),
];

/// Returns the value of `WSLENV` with the variables of KT-31 after the existing ones. An existing
/// variable stays in its place, and gets its missing flags.
pub fn merged_wslenv(existing: &str) -> String {
    let mut entries: Vec<String> =
        existing.split(':').filter(|entry| !entry.is_empty()).map(str::to_owned).collect();
    for (name, flag) in WANTED {
        match entries.iter_mut().find(|entry| name_of(entry) == name) {
            Some(entry) => complete(entry, flag),
            None => entries.push(format!("{name}/{flag}")),
        }
    }
    entries.join(":")
}

fn name_of(entry: &str) -> &str {
    entry.split_once('/').map_or(entry, |(name, _)| name)
}

/// Adds the missing flags. Without `u` and `w` a variable is passed in both directions.
fn complete(entry: &mut String, flag: char) {
    let flags = entry.split_once('/').map(|(_, flags)| flags).unwrap_or_default().to_owned();
    let goes_in = flags.contains('u') || !flags.contains('w');
    let mut missing = String::new();
    if !goes_in {
        missing.push('u');
    }
    if flag != 'u' && !flags.contains(flag) {
        missing.push(flag);
    }
    if !missing.is_empty() {
        *entry = format!("{}/{flags}{missing}", name_of(entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: &str = "KAWAII_PANE_ID/u:KAWAII_NOTIFY_PATH/p:KAWAII_NOTIFY_DEBUG_PATH/p\
        :KAWAII_TERMINAL_INSTANCE_ID/u";

    #[test]
    fn kt_31_kt_29_x44_the_variables_of_kawaii_terminal_join_what_is_there() {
        assert_eq!(merged_wslenv(""), ALONE);
        assert_eq!(merged_wslenv("WT_SESSION::GOPATH/l:"), format!("WT_SESSION:GOPATH/l:{ALONE}"));
        assert_eq!(merged_wslenv(ALONE), ALONE);
        let once = merged_wslenv("A/w:KAWAII_NOTIFY_PATH/up");
        assert_eq!(
            once,
            "A/w:KAWAII_NOTIFY_PATH/up:KAWAII_PANE_ID/u:KAWAII_NOTIFY_DEBUG_PATH/p\
             :KAWAII_TERMINAL_INSTANCE_ID/u"
        );
        assert_eq!(merged_wslenv(&once), once);
    }

    #[test]
    fn kt_20_a_path_that_would_come_unchanged_gets_its_flag() {
        let instance = "KAWAII_TERMINAL_INSTANCE_ID";
        let lame =
            format!("KAWAII_NOTIFY_PATH/u:KAWAII_PANE_ID/w:KAWAII_NOTIFY_DEBUG_PATH:{instance}/w");
        assert_eq!(
            merged_wslenv(&lame),
            format!(
                "KAWAII_NOTIFY_PATH/up:KAWAII_PANE_ID/wu:KAWAII_NOTIFY_DEBUG_PATH/p:{instance}/wu"
            )
        );
        assert_eq!(
            merged_wslenv(&format!("KAWAII_NOTIFY_PATHS:KAWAII_PANE_ID:{instance}")),
            format!(
                "KAWAII_NOTIFY_PATHS:KAWAII_PANE_ID:{instance}:KAWAII_NOTIFY_PATH/p\
                 :KAWAII_NOTIFY_DEBUG_PATH/p"
            )
        );
    }
}
