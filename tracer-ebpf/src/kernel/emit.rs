//! The only user of the ring.

use aya_ebpf::{
    bindings::{BPF_RB_AVAIL_DATA, BPF_RB_FORCE_WAKEUP, BPF_RB_RING_SIZE},
    helpers::generated::bpf_seq_write,
    maps::ring_buf::RingBufEntry,
};
use fdtide_abi::{
    Counter, ProcRow, TableHead, TableState,
    event::{ExecRecord, ExitRecord, Header, MoveRecord, ProcRecord, TableRecord, record, table_reason},
};

use crate::kernel::{
    maps::{EXECS, Program, RING, SCRATCH, Scratch, count},
    read::{Object, copy},
};

/// Room for a record; counted when there is none.
#[inline(always)]
pub fn reserve<T: 'static>() -> Option<RingBufEntry<T>> {
    let entry = RING.reserve::<T>(0);
    if entry.is_none() {
        count(Counter::RingFull);
    }
    entry
}

/// The agent is woken however little it seems to hurry once one part in so many of the ring is full.
const PRESSING: u64 = 4;

/// How a record is submitted: the agent, once woken, lets records gather, and is woken again only when the ring fills up.
/// `otherwise` is what holds while there is room: 0 wakes an agent that has read everything before.
#[inline(always)]
pub fn wake(otherwise: u64) -> u64 {
    let waiting = RING.query(u64::from(BPF_RB_AVAIL_DATA));
    let size = RING.query(u64::from(BPF_RB_RING_SIZE));
    if waiting > size / PRESSING { u64::from(BPF_RB_FORCE_WAKEUP) } else { otherwise }
}

#[inline(always)]
const fn header<T>(kind: u32, at_ns: u64) -> Header {
    Header { kind, len: size_of::<T>() as u32, at_ns }
}

/// A process is followed from now on.
#[inline(always)]
pub fn proc(now: u64, row: *const ProcRow, live: u32, soft: u32) {
    let Some(mut entry) = reserve::<ProcRecord>() else { return };
    let record = entry.as_mut_ptr();
    // SAFETY: reserved memory of the record's size.
    unsafe {
        (*record).header = header::<ProcRecord>(record::PROC, now);
        copy(&raw mut (*record).row, row);
        (*record).live = live;
        (*record).soft = soft;
    }
    entry.submit(wake(0));
}

/// Working memory for an exec record, which is too large to be held in the ring while it is made.
#[inline(always)]
pub fn exec() -> Option<*mut ExecRecord> {
    EXECS.get_ptr_mut(0)
}

/// A process has gone through an exec.
#[inline(always)]
pub fn send_exec(record: *mut ExecRecord, now: u64) {
    // SAFETY: a valid per-CPU map value, filled by the handler.
    let sent = unsafe {
        (*record).header = header::<ExecRecord>(record::EXEC, now);
        RING.output::<ExecRecord>(&*record, wake(0))
    };
    if sent.is_err() {
        count(Counter::RingFull);
    }
}

/// A process has ended.
#[inline(always)]
pub fn exit(now: u64, row: *const ProcRow, exit_code: u32, table: Option<*const TableHead>) {
    left(record::EXIT, now, row, exit_code, table);
}

/// A process is traced no longer, and runs on.
#[inline(always)]
pub fn removed(now: u64, row: *const ProcRow, table: Option<*const TableHead>) {
    left(record::REMOVED, now, row, 0, table);
}

#[inline(always)]
fn left(kind: u32, now: u64, row: *const ProcRow, exit_code: u32, table: Option<*const TableHead>) {
    let Some(mut entry) = reserve::<ExitRecord>() else { return };
    let record = entry.as_mut_ptr();
    // SAFETY: reserved memory of the record's size.
    unsafe {
        (*record).header = header::<ExitRecord>(kind, now);
        copy(&raw mut (*record).row, row);
        (*record).exit_code = exit_code;
        (*record).has_table = u32::from(table.is_some());
        if let Some(table) = table {
            copy(&raw mut (*record).table, table);
        }
    }
    entry.submit(wake(0));
}

/// A table has ended, and why.
#[inline(always)]
pub fn table(now: u64, reason: u32, head: *const TableHead) {
    let Some(mut entry) = reserve::<TableRecord>() else { return };
    let record = entry.as_mut_ptr();
    // SAFETY: reserved memory of the record's size.
    unsafe {
        (*record).header = header::<TableRecord>(record::TABLE, now);
        (*record).reason = reason;
        (*record).spare = 0;
        copy(&raw mut (*record).table, head);
    }
    entry.submit(wake(0));
}

/// A table as it is, into the output of a walk.
#[inline(always)]
pub fn glance(output: Object, scratch: *mut Scratch, state: *const TableState, now: u64) {
    // SAFETY: valid map values; the verifier knows the output's type.
    unsafe {
        let head = &raw mut (*scratch).glance;
        let length = size_of::<TableRecord>() as u64;
        (*head)[0] = u64::from(record::TABLE) | length << 32;
        (*head)[1] = now;
        (*head)[2] = u64::from(table_reason::SNAPSHOT);
        // The output takes both or, when it is full, is asked for again.
        bpf_seq_write(output.pointer().cast(), head.cast(), 24);
        bpf_seq_write(output.pointer().cast(), (&raw const (*state).head).cast(), size_of::<TableHead>() as u32);
    }
}

/// Something for whoever reads the walk's output, so that the walk stops and the ring can be emptied.
#[inline(always)]
pub fn pause(output: Object) {
    let Some(scratch) = SCRATCH.get_ptr_mut(Program::Walk as u32) else { return };
    if !output.is_null() {
        // SAFETY: valid working memory; the verifier knows the output's type.
        unsafe { bpf_seq_write(output.pointer().cast(), (&raw const (*scratch).glance).cast(), 8) };
    }
}

/// A task uses another table from now on.
#[inline(always)]
pub fn moved(now: u64, row: *const ProcRow, from_id: u64, to_id: u64, tid: u32, live: u32) {
    let Some(mut entry) = reserve::<MoveRecord>() else { return };
    let record = entry.as_mut_ptr();
    // SAFETY: reserved memory of the record's size.
    unsafe {
        (*record).header = header::<MoveRecord>(record::MOVE, now);
        copy(&raw mut (*record).row, row);
        (*record).from_id = from_id;
        (*record).to_id = to_id;
        (*record).tid = tid;
        (*record).live = live;
    }
    entry.submit(wake(0));
}
