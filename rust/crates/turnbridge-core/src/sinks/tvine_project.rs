//! Names the folder of a project below `~/.tvine/projects` (TV-9), for agents that no host
//! application has started.
//!
//! The name is the project's path with `-` for each separator, as Claude Code names its folders.
//! With this alone `/a/b-c` and `/a-b/c` have one name (TV-30), so a path with `-` gets a hash.

/// A file's name has at most 255 bytes, and the hash takes nine.
const LONGEST: usize = 200;

/// Returns the name. `path` is absolute: the root of the git repository, else the folder itself.
pub fn project_id(path: &str) -> String {
    let is_separator = |letter: char| letter == '/' || (cfg!(windows) && "\\:".contains(letter));
    let trimmed = path.trim_end_matches(is_separator);
    let name = trimmed.replace(is_separator, "-");
    let is_ambiguous = trimmed.contains('-') || name.is_empty() || name.len() > LONGEST;
    if !is_ambiguous {
        return name;
    }
    let end = name.floor_char_boundary(LONGEST);
    format!("{}-{:08x}", &name[..end], hash(trimmed))
}

/// Computes FNV-1a, which stays the same in every version and on every system.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tv_30_a_project_is_named_by_its_path_with_dashes() {
        assert_eq!(project_id("/Users/aki/dev/myapp"), "-Users-aki-dev-myapp");
        assert_eq!(project_id("/Users/aki/dev/myapp/"), "-Users-aki-dev-myapp");
    }

    #[test]
    fn tv_30_two_projects_never_have_one_name() {
        let paths = ["/a/b/c", "/a/b-c", "/a-b/c", "/a-b-c", "/a/b/c-", "/", "/a//b/c"];
        let mut names = paths.map(project_id).to_vec();
        assert_eq!(project_id("/a/b-c"), "-a-b-c-0c7087b0");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), paths.len(), "{names:?}");
        let long = |end: &str| project_id(&format!("/{}{end}", "長い".repeat(300)));
        assert!(long("a").len() <= 209 && long("a") != long("b"), "{}", long("a"));
    }
}
