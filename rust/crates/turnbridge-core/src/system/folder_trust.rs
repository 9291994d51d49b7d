//! Decides by owner and mode whether other users could have changed a file or folder that
//! Turnbridge uses: they could add, for example, a reply that an agent then runs. It is for Unix,
//! and reads no file itself.

use std::fmt;

/// The owner and the permissions of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub owner: u32,
    pub group: u32,
    /// With the sticky bit.
    pub mode: u32,
}

/// The user and group of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnIdentity {
    pub user: u32,
    pub group: u32,
    /// In a user namespace, which shows `OVERFLOW_ID` for all users that it does not know.
    pub is_in_namespace: bool,
}

/// The position of a path relative to Turnbridge's file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Turnbridge's file or folder.
    Own,
    /// A link on the path to it. The mode of a link has no meaning.
    Link,
    /// A folder above: a user who can write to it can replace Turnbridge's folder.
    Above,
}

/// Why other users could have changed a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Danger {
    /// It belongs to this user.
    OtherOwner(u32),
    /// Its group, or all users, can write to it. The mode, without the kind of file.
    Writable(u32),
}

const ROOT: u32 = 0;
/// The user that a user namespace shows for all users that it does not know, root among them.
/// Outside a namespace it is a user like others.
pub const OVERFLOW_ID: u32 = 65_534;

const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// Returns the danger of a path with this owner and mode, or `None` if there is none.
pub fn judge(access: Access, own: OwnIdentity, role: Role) -> Option<Danger> {
    let may_be_root = own.is_in_namespace && role != Role::Own && access.owner == OVERFLOW_ID;
    let is_known_owner = [own.user, ROOT].contains(&access.owner) || may_be_root;
    if !is_known_owner {
        return Some(Danger::OtherOwner(access.owner));
    }
    let is_writable = match role {
        Role::Own => access.mode & (GROUP_WRITES | OTHERS_WRITE) != 0,
        Role::Link => false,
        // Many systems give each user a group, and make folders writable to it.
        Role::Above => {
            let is_own_group = [own.group, ROOT].contains(&access.group);
            let by_group = access.mode & GROUP_WRITES != 0 && !is_own_group;
            access.mode & STICKY == 0 && (by_group || access.mode & OTHERS_WRITE != 0)
        }
    };
    is_writable.then_some(Danger::Writable(access.mode & 0o7777))
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Danger::OtherOwner(user) => write!(f, "belongs to another user (uid {user})"),
            Danger::Writable(mode) => write!(f, "can be written to by others (mode {mode:04o})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: OwnIdentity = OwnIdentity { user: 1000, group: 1000, is_in_namespace: true };

    #[track_caller]
    fn check(role: Role, owner: u32, group: u32, mode: u32, expected: Option<Danger>) {
        assert_eq!(judge(Access { owner, group, mode }, OWN, role), expected);
    }

    #[test]
    fn what_is_ours_belongs_to_us_or_root_and_nobody_else_writes_to_it() {
        check(Role::Own, 1000, 1000, 0o700, None);
        check(Role::Own, 0, 0, 0o755, None);
        check(Role::Own, 1000, 1000, 0o777, Some(Danger::Writable(0o777)));
        check(Role::Own, 1000, 1000, 0o770, Some(Danger::Writable(0o770)));
        check(Role::Own, 1000, 1000, 0o1777, Some(Danger::Writable(0o1777)));
        check(Role::Own, 1001, 1000, 0o700, Some(Danger::OtherOwner(1001)));
        check(Role::Own, OVERFLOW_ID, OVERFLOW_ID, 0o700, Some(Danger::OtherOwner(OVERFLOW_ID)));
    }

    #[test]
    fn a_link_is_judged_by_its_owner_alone() {
        check(Role::Link, 1000, 1000, 0o777, None);
        check(Role::Link, 0, 0, 0o777, None);
        check(Role::Link, OVERFLOW_ID, OVERFLOW_ID, 0o777, None);
        check(Role::Link, 1001, 1000, 0o777, Some(Danger::OtherOwner(1001)));
    }

    #[test]
    fn nobody_is_a_user_like_others_outside_of_a_namespace() {
        let own = OwnIdentity { is_in_namespace: false, ..OWN };
        let access = Access { owner: OVERFLOW_ID, group: OVERFLOW_ID, mode: 0o755 };
        for role in [Role::Link, Role::Above, Role::Own] {
            assert_eq!(judge(access, own, role), Some(Danger::OtherOwner(OVERFLOW_ID)), "{role:?}");
        }
    }

    #[test]
    fn a_folder_above_may_be_a_shared_one_with_the_sticky_bit() {
        check(Role::Above, 0, 0, 0o1777, None);
        check(Role::Above, 0, 0, 0o777, Some(Danger::Writable(0o777)));
        check(Role::Above, 1000, 1000, 0o775, None);
        check(Role::Above, 1000, 100, 0o775, Some(Danger::Writable(0o775)));
        check(Role::Above, OVERFLOW_ID, OVERFLOW_ID, 0o755, None);
        check(Role::Above, 1001, 1001, 0o755, Some(Danger::OtherOwner(1001)));
    }
}
