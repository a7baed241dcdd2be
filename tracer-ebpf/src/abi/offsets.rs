//! Where the members of kernel structures are, as the running kernel's BTF says.

/// A member that this kernel does not have. Never 0, which is a valid offset.
pub const OFFSET_NONE: u32 = u32::MAX;

macro_rules! offsets {
    ($($field:ident = $strukt:literal . $path:literal, $need:ident;)*) => {
        /// Byte offsets of the members that the kernel program reads; [`OFFSET_NONE`] where the kernel has none.
        ///
        /// The agent resolves them from BTF before load and writes them into frozen read-only data, so that the verifier
        /// sees constants and checks each load against the member's type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(C)]
        pub struct Offsets {
            $(#[doc = concat!("`", $strukt, ".", $path, "`")] pub $field: u32,)*
        }

        impl Offsets {
            /// No member known.
            pub const NONE: Offsets = Offsets { $($field: OFFSET_NONE,)* };

            /// What to look for: (name of the field here, structure, member path, required).
            pub const WISHES: &'static [Wish] = &[
                $(Wish {
                    field: stringify!($field),
                    strukt: $strukt,
                    path: $path,
                    required: need!($need),
                    set: |offsets, value| offsets.$field = value,
                    get: |offsets| offsets.$field,
                },)*
            ];
        }
    };
}

macro_rules! need {
    (required) => {
        true
    };
    (optional) => {
        false
    };
}

/// One member to resolve.
#[derive(Clone, Copy)]
pub struct Wish {
    /// Name of the field in [`Offsets`].
    pub field: &'static str,
    /// Name of the kernel structure.
    pub strukt: &'static str,
    /// Member path, dots between levels; unnamed structures and unions in between are looked through.
    pub path: &'static str,
    /// Whether fdtide can't count without it.
    pub required: bool,
    /// Stores the offset.
    pub set: fn(&mut Offsets, u32),
    /// Reads the offset back.
    pub get: fn(&Offsets) -> u32,
}

offsets! {
    task_files = "task_struct"."files", required;
    task_signal = "task_struct"."signal", required;
    task_tgid = "task_struct"."tgid", required;
    task_pid = "task_struct"."pid", required;
    task_flags = "task_struct"."flags", required;
    task_comm = "task_struct"."comm", required;
    task_state = "task_struct"."__state", required;
    task_leader = "task_struct"."group_leader", required;
    task_real_parent = "task_struct"."real_parent", required;
    task_start = "task_struct"."start_boottime", required;
    task_exec_id = "task_struct"."self_exec_id", required;
    task_exit_code = "task_struct"."exit_code", required;
    task_status = "task_struct"."thread_info.status", required;
    task_thread_pid = "task_struct"."thread_pid", required;
    pid_level = "pid"."level", required;
    pid_numbers = "pid"."numbers", required;
    signal_live = "signal_struct"."live", required;
    signal_threads = "signal_struct"."nr_threads", required;
    signal_rlim = "signal_struct"."rlim", required;
    files_count = "files_struct"."count", required;
    files_fdt = "files_struct"."fdt", required;
    fdt_max = "fdtable"."max_fds", required;
    fdt_fd = "fdtable"."fd", required;
    fdt_open = "fdtable"."open_fds", required;
    file_mode = "file"."f_mode", required;
    file_inode = "file"."f_inode", required;
    file_private = "file"."private_data", required;
    file_dentry = "file"."f_path.dentry", required;
    inode_mode = "inode"."i_mode", required;
    inode_rdev = "inode"."i_rdev", required;
    inode_sb = "inode"."i_sb", required;
    sb_magic = "super_block"."s_magic", required;
    dentry_name = "dentry"."d_name.name", required;
    dentry_parent = "dentry"."d_parent", required;
    socket_sk = "socket"."sk", required;
    sk_family = "sock"."__sk_common.skc_family", required;
    sk_type = "sock"."sk_type", required;
    sk_protocol = "sock"."sk_protocol", required;
    bprm_filename = "linux_binprm"."filename", required;
    regs_orig_ax = "pt_regs"."orig_ax", required;
    regs_di = "pt_regs"."di", required;
    regs_si = "pt_regs"."si", required;
    regs_dx = "pt_regs"."dx", required;
    regs_r10 = "pt_regs"."r10", required;
    regs_bx = "pt_regs"."bx", required;
    regs_cx = "pt_regs"."cx", required;
    task_seccomp_filter = "task_struct"."seccomp.filter", optional;
    filter_prev = "seccomp_filter"."prev", optional;
    filter_notif = "seccomp_filter"."notif", optional;
    fdt_cloexec = "fdtable"."close_on_exec", optional;
    request_opcode = "io_kiocb"."opcode", optional;
    file_flags = "file"."f_flags", optional;
    file_mnt = "file"."f_path.mnt", optional;
    inode_ino = "inode"."i_ino", optional;
    inode_nlink = "inode"."i_nlink", optional;
    sb_dev = "super_block"."s_dev", optional;
    mount_mnt = "mount"."mnt", optional;
    mount_parent = "mount"."mnt_parent", optional;
    mount_mountpoint = "mount"."mnt_mountpoint", optional;
    socket_state = "socket"."state", optional;
    sk_state = "sock"."__sk_common.skc_state", optional;
    sk_num = "sock"."__sk_common.skc_num", optional;
    sk_dport = "sock"."__sk_common.skc_dport", optional;
    sk_rcv_saddr = "sock"."__sk_common.skc_rcv_saddr", optional;
    sk_daddr = "sock"."__sk_common.skc_daddr", optional;
    sk_v6_rcv_saddr = "sock"."__sk_common.skc_v6_rcv_saddr", optional;
    sk_v6_daddr = "sock"."__sk_common.skc_v6_daddr", optional;
    unix_addr = "unix_sock"."addr", optional;
    unix_name = "unix_address"."name", optional;
    unix_len = "unix_address"."len", optional;
    iter_seq = "bpf_iter_meta"."seq", required;
    notif_next_id = "notification"."next_id", optional;
    notif_pending = "notification"."notifications", optional;
}
