//! Memory that was needed once is given back to the system.

use std::ptr;

/// Unmaps code that has run, after the start: what goes on running is a small part of it, and is mapped again when it does.
pub(crate) fn forget_code() {
    // SAFETY: the callback has the type that is asked for, and uses nothing of the caller's.
    unsafe { libc::dl_iterate_phdr(Some(forget), ptr::null_mut()) };
}

/// Gives back memory that is free, after work that took much.
#[cfg(target_env = "gnu")]
pub(crate) fn trim() {
    // SAFETY: no preconditions.
    unsafe { libc::malloc_trim(0) };
}

/// Other C libraries do it by themselves.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn trim() {}

/// Unmaps the pages of the program's code; the first object is the program.
unsafe extern "C" fn forget(object: *mut libc::dl_phdr_info, _: usize, _: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the loader hands over a valid object with as many headers as it says.
    let (base, headers) = unsafe {
        let object = &*object;
        (object.dlpi_addr, std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)))
    };
    let page = u64::try_from(
        // SAFETY: no preconditions.
        unsafe { libc::sysconf(libc::_SC_PAGESIZE) },
    )
    .unwrap_or(4096);
    for header in headers {
        if header.p_type != libc::PT_LOAD || header.p_flags & libc::PF_X == 0 || header.p_flags & libc::PF_W != 0 {
            continue;
        }
        let from = (base + header.p_vaddr) / page * page;
        let length = base + header.p_vaddr + header.p_memsz - from;
        // SAFETY: code is mapped from the file and never written to, so that its pages come back as they were. A refusal
        // costs nothing but the memory.
        unsafe { libc::madvise(from as *mut libc::c_void, length as usize, libc::MADV_DONTNEED) };
    }
    // The first object is enough.
    1
}
