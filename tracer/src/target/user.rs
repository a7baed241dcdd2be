//! Users by name.

use std::{ffi::CString, mem::MaybeUninit, ptr};

/// Room for one entry of the user database, bytes.
const ROOM: usize = 64 << 10;

/// The id of a user: a number is one already.
pub(super) fn id(text: &str) -> Result<u32, String> {
    if let Ok(uid) = text.parse() {
        return Ok(uid);
    }
    let unknown = || format!("this machine has no user `{text}`: use a name that `getent passwd` knows, or a number");
    let name = CString::new(text).map_err(|_| unknown())?;
    let mut entry = MaybeUninit::<libc::passwd>::uninit();
    let mut room = vec![0; ROOM];
    let mut found = ptr::null_mut();
    // SAFETY: valid places for the entry, its strings and the answer; the name ends in zero.
    let error =
        unsafe { libc::getpwnam_r(name.as_ptr(), entry.as_mut_ptr(), room.as_mut_ptr(), room.len(), &raw mut found) };
    if error != 0 || found.is_null() {
        return Err(unknown());
    }
    // SAFETY: the call filled it, as the answer says.
    Ok(unsafe { entry.assume_init() }.pw_uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_names_and_numbers() {
        assert_eq!((id("root"), id("1234")), (Ok(0), Ok(1234)));
        assert!(id("no-such-user").unwrap_err().contains("`no-such-user`"));
        assert!(id("a\0b").is_err());
    }
}
