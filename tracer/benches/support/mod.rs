//! Records as the kernel program writes them, of a made-up run: a spawner whose every child execs and ends.

use fdtide_abi::{
    ProcRow, TableHead,
    event::{ExecRecord, ExitRecord, Header, ProcRecord, Record, TableRecord, exec_flag, record, table_reason},
    table::proc_flag,
};

/// Process that spawns.
const SPAWNER: u32 = 100;
/// One millisecond, nanoseconds.
const MS: u64 = 1_000_000;

/// All records of a run of so many execs, in their order, each by itself.
pub fn run(execs: u32) -> Vec<Vec<u8>> {
    let mut records = vec![bytes(&proc(0, row(SPAWNER, 1), 8))];
    for exec in 0..execs {
        let (pid, at) = (1000 + exec, u64::from(exec) * 10 * MS);
        let table = u64::from(exec) + 2;
        records.push(bytes(&proc(at, row(pid, table), 12)));
        records.push(bytes(&self::exec(at + MS, row(pid, table), 12 + exec % 900)));
        records.push(bytes(&exit(at + 5 * MS, row(pid, table))));
    }
    let mut last = zeroed::<TableRecord>(record::TABLE, u64::from(execs) * 10 * MS);
    last.reason = table_reason::SNAPSHOT;
    last.table = head(1, 8, 995);
    records.push(bytes(&last));
    records
}

/// One exec record.
pub fn one_exec() -> Vec<u8> {
    bytes(&exec(MS, row(1000, 2), 995))
}

fn proc(at_ns: u64, row: ProcRow, live: u32) -> ProcRecord {
    ProcRecord { row, live, soft: 1024, ..zeroed(record::PROC, at_ns) }
}

fn exec(at_ns: u64, row: ProcRow, high: u32) -> ExecRecord {
    let mut exec = zeroed::<ExecRecord>(record::EXEC, at_ns);
    exec.row = row;
    exec.flags = exec_flag::HAS_BEFORE | exec_flag::HAS_SPAWNER;
    (exec.old_tid, exec.live, exec.highest, exec.soft) = (row.tgid, 3, 2, 1024);
    exec.filename[..9].copy_from_slice(b"/bin/true");
    exec.kinds[1] = 3;
    exec.before = head(row.table_id, 12, 12);
    exec.spawner = head(1, 12, high);
    exec
}

fn exit(at_ns: u64, row: ProcRow) -> ExitRecord {
    let mut table = head(row.table_id, 3, 4);
    table.users = 0;
    ExitRecord { row, has_table: 1, table, ..zeroed(record::EXIT, at_ns) }
}

fn row(pid: u32, table_id: u64) -> ProcRow {
    let mut row = zeroed::<ProcRecord>(record::PROC, 0).row;
    (row.tgid, row.ns_tgid, row.start_ns, row.table_id) = (pid, pid, u64::from(pid), table_id);
    row.comm[..4].copy_from_slice(b"true");
    if pid != SPAWNER {
        row.flags = proc_flag::SPAWNER_KNOWN;
        (row.spawner_tgid, row.spawner_tid, row.spawner_start_ns) = (SPAWNER, SPAWNER + 1, u64::from(SPAWNER));
        row.spawner_table_id = 1;
        row.spawner_comm[..7].copy_from_slice(b"spawner");
    }
    row
}

fn head(id: u64, live: u32, high: u32) -> TableHead {
    let mut head = zeroed::<TableRecord>(record::TABLE, 0).table;
    (head.id, head.live, head.highest, head.soft, head.users) = (id, live, live, 1024, 1);
    (head.installs, head.closes) = (u64::from(high), u64::from(high - live));
    head.kinds[1] = live;
    for mark in [&mut head.life, &mut head.image, &mut head.window] {
        (mark.live, mark.highest, mark.soft) = (high, high, 1024);
        mark.kinds[1] = high;
    }
    head
}

/// A record of zeros with a header.
fn zeroed<T: Record>(kind: u32, at_ns: u64) -> T {
    // SAFETY: every bit pattern is a value of a `Record`.
    let mut record: T = unsafe { std::mem::zeroed() };
    let header = Header { kind, len: size_of::<T>() as u32, at_ns };
    // SAFETY: every record starts with its header.
    unsafe { std::ptr::from_mut(&mut record).cast::<Header>().write(header) };
    record
}

fn bytes<T: Record>(record: &T) -> Vec<u8> {
    // SAFETY: a `Record` is integers without padding, as many bytes as its size.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(record).cast(), size_of::<T>()) }.to_vec()
}
