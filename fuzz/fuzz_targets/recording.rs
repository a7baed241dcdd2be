//! Any bytes are a report or an error, also where somebody has put a good checksum on them.
//! What is a report is one in every way of reading it, and can be told.
#![no_main]

use arrow_ipc::root_as_message;
use fdtide::{record::Reader, replay::replay_with};
use fdtide_fuzz::tell;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let mut sealed = bytes.to_vec();
    if reseal(&mut sealed).is_some() {
        read(&sealed);
    }
});

fn read(bytes: &[u8]) {
    if let Ok((_, report)) = replay_with(|| Reader::new(bytes), false, |_| {}) {
        tell(&report);
        let mut completed = 0;
        let streamed = replay_with(|| Reader::new(bytes), true, |_| completed += 1);
        let (_, rest) = streamed.expect("it was read before");
        assert_eq!(completed + rest.execs.len(), report.execs.len(), "execs come or go with the way of reading");
    }
}

/// Puts a good checksum on every message that can be made out; see `docs/recording.md`.
fn reseal(bytes: &mut [u8]) -> Option<()> {
    let mut at = 0;
    while at < bytes.len() {
        let length = u32::from_le_bytes(*bytes.get(at + 4..)?.first_chunk::<4>()?) as usize;
        let sealed = (at + 8 + length).checked_sub(8)?;
        let metadata = bytes.get(at + 8..sealed)?;
        let body = usize::try_from(root_as_message(metadata).ok()?.bodyLength()).ok()?;
        let end = sealed.checked_add(8)?.checked_add(body)?;
        let mut sum = crc32fast::Hasher::new();
        sum.update(metadata);
        sum.update(bytes.get(sealed + 8..end)?);
        let sum = sum.finalize().to_le_bytes();
        bytes[sealed..sealed + 4].copy_from_slice(b"fdt1");
        bytes[sealed + 4..sealed + 8].copy_from_slice(&sum);
        at = end;
    }
    Some(())
}
