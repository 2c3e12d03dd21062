//! Rules of set-id bits, which the kernel leaves to a file system (`FUSE_HANDLE_KILLPRIV_V2`), and of what new files inherit.

use wane_fs::{Attr, FileKind};

/// Set-user-ID.
const SET_UID: u16 = 0o4000;
/// Set-group-ID.
pub(crate) const SET_GID: u16 = 0o2000;
/// Execution by the group, without which set-group-ID is no right.
const GROUP_EXECUTES: u16 = 0o010;

/// Permissions after others than root changed the data, or anybody the owner: no right of the file that was is left. `None` if they stay.
pub(crate) fn without_set_ids(attr: &Attr) -> Option<u16> {
    if attr.kind == FileKind::Directory {
        return None;
    }
    let gid = if attr.permissions & GROUP_EXECUTES == 0 { 0 } else { SET_GID };
    let left = attr.permissions & !(SET_UID | gid);
    (left != attr.permissions).then_some(left)
}

/// Group and permissions of what is made in a directory. In one with set-group-ID all have its group, and directories its bit.
pub(crate) fn inherited(dir: &Attr, kind: FileKind, permissions: u16, gid: u32) -> (u32, u16) {
    if dir.permissions & SET_GID == 0 {
        return (gid, permissions);
    }
    let bit = if kind == FileKind::Directory { SET_GID } else { 0 };
    (dir.gid, permissions | bit)
}

#[cfg(test)]
mod tests {
    use wane_fs::Moment;

    use super::*;

    fn attr(kind: FileKind, permissions: u16) -> Attr {
        let epoch = Moment::default();
        Attr {
            ino: 2,
            kind,
            permissions,
            links: 1,
            uid: 5,
            gid: 6,
            rdev: 0,
            size: 0,
            sectors: 0,
            accessed: epoch,
            modified: epoch,
            changed: epoch,
            born: epoch,
            generation: 0,
        }
    }

    #[test]
    fn set_ids_go_where_they_are_rights() {
        let table = [
            (FileKind::File, 0o0755, None),
            (FileKind::File, 0o4755, Some(0o0755)),
            (FileKind::File, 0o6755, Some(0o0755)),
            (FileKind::File, 0o2755, Some(0o0755)),
            // Mandatory locks once were marked so.
            (FileKind::File, 0o2745, None),
            (FileKind::File, 0o6745, Some(0o2745)),
            (FileKind::Directory, 0o6755, None),
        ];
        for (kind, before, want) in table {
            assert_eq!(without_set_ids(&attr(kind, before)), want, "{before:o}");
        }
    }

    #[test]
    fn a_directory_with_set_group_id_hands_its_group_on() {
        let (plain, shared) = (attr(FileKind::Directory, 0o755), attr(FileKind::Directory, 0o2755));
        assert_eq!(inherited(&plain, FileKind::Directory, 0o700, 9), (9, 0o700));
        assert_eq!(inherited(&shared, FileKind::Directory, 0o700, 9), (6, 0o2700));
        assert_eq!(inherited(&shared, FileKind::File, 0o600, 9), (6, 0o600));
    }
}
