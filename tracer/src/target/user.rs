//! Users by name and by number, from the machine's user database.

use std::{ffi::CString, mem::MaybeUninit, ptr};

/// Room for one entry of the user database, bytes.
const ROOM: usize = 64 << 10;

/// The id of a user: a number is one already.
pub(super) fn id(text: &str) -> Result<u32, String> {
    text.parse().or_else(|_| ids(text).map(|(uid, _)| uid))
}

/// User and group of a name.
///
/// # Errors
///
/// When nobody has it, in a sentence.
pub fn ids(name: &str) -> Result<(u32, u32), String> {
    let unknown = || format!("this machine has no user `{name}`: use a name that `getent passwd` knows, or a number");
    let text = CString::new(name).map_err(|_| unknown())?;
    // SAFETY: the name ends in zero, the rest are valid places of the stated size.
    let look = |entry, room, size, found| unsafe { libc::getpwnam_r(text.as_ptr(), entry, room, size, found) };
    entry(look).ok_or_else(unknown)
}

/// The group of a user, if the database knows it.
#[must_use]
pub fn group_of(uid: u32) -> Option<u32> {
    // SAFETY: valid places of the stated size.
    entry(|entry, room, size, found| unsafe { libc::getpwuid_r(uid, entry, room, size, found) }).map(|(_, gid)| gid)
}

/// User and group of the entry that is found.
fn entry(
    look: impl Fn(*mut libc::passwd, *mut libc::c_char, usize, *mut *mut libc::passwd) -> libc::c_int,
) -> Option<(u32, u32)> {
    let mut entry = MaybeUninit::<libc::passwd>::uninit();
    let mut room = vec![0; ROOM];
    let mut found = ptr::null_mut();
    if look(entry.as_mut_ptr(), room.as_mut_ptr(), room.len(), &raw mut found) != 0 || found.is_null() {
        return None;
    }
    // SAFETY: the call filled it, as the answer says.
    let entry = unsafe { entry.assume_init() };
    Some((entry.pw_uid, entry.pw_gid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_names_and_numbers() {
        assert_eq!((id("root"), id("1234")), (Ok(0), Ok(1234)));
        assert!(id("no-such-user").unwrap_err().contains("`no-such-user`"));
        assert!(id("a\0b").is_err());
        assert_eq!((ids("root"), group_of(0), group_of(u32::MAX - 1)), (Ok((0, 0)), Some(0), None));
    }
}
