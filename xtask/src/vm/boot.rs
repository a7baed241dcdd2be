//! One guest: QEMU with software emulation, two serial ports that are files here, and a time limit.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use super::kernels::Plan;

/// Never KVM: nested virtualisation hangs on some hosts, and the matrix has to be the same everywhere. QEMU 7.2 corrupts
/// the flags after cmpxchg16b, and live patching of the kernel's text oopses with one thread per processor.
const MACHINE: [&str; 6] = ["-accel", "tcg,thread=single", "-cpu", "max,-cx16", "-m", "1G"];
const LINE: &str = "console=ttyS0 panic=-1 oops=panic quiet";
const HEADLESS: [&str; 6] = ["-display", "none", "-nodefaults", "-no-reboot", "-monitor", "none"];

/// What came of it.
pub struct Boot {
    /// What the kernel said.
    pub console: String,
    /// What the script said.
    pub results: String,
    pub took: Duration,
    pub timed_out: bool,
}

/// What the guest takes for time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The host's.
    Host,
    /// A nanosecond goes by with each instruction, and none where there is nothing to do.
    Instructions,
}

impl Clock {
    const fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Host => &["-smp", "2"],
            // A second processor does not come up under this clock.
            Self::Instructions => &["-smp", "1", "-icount", "shift=0,sleep=off"],
        }
    }

    /// What the kernel is told besides. What it does against side channels and stale memory takes a sixth of a guest's time under
    /// emulation, and no hook knows of it; where instructions are counted they are a user's.
    const fn line(self) -> &'static str {
        match self {
            Self::Host => " mitigations=off init_on_alloc=0",
            Self::Instructions => "",
        }
    }
}

/// Boots the kernel in `folder` with `initramfs`; what the two ports said stays there as well. `limit` is what it may take in all.
pub fn boot(plan: &Plan, initramfs: &[u8], folder: &Path, clock: Clock, limit: Duration) -> Result<Boot> {
    let name = plan.to_string().replace(' ', "-");
    let [initrd, console, results] =
        ["initrd", "console.txt", "results.txt"].map(|end| folder.join(format!("{name}.{end}")));
    // The ports' files are emptied, so that an earlier guest's words never pass for this one's.
    for (file, content) in [(&initrd, initramfs), (&console, &[]), (&results, &[])] {
        fs::write(file, content).with_context(|| format!("failed to write `{}`", file.display()))?;
    }
    let mut line = LINE.to_owned() + clock.line();
    plan.preempt.iter().for_each(|model| line += &format!(" preempt={model}"));

    // A program of its own keeps the limit, so that no guest stays behind whatever becomes of this one.
    let mut qemu = Command::new("timeout");
    qemu.args(["--foreground", "--signal=KILL", &limit.as_secs().to_string(), "qemu-system-x86_64"]);
    qemu.args(MACHINE).args(clock.arguments()).args(HEADLESS).arg("-kernel").arg(folder.join("vmlinuz"));
    qemu.arg("-initrd").arg(&initrd).args(["-append", &line]);
    for port in [&console, &results] {
        qemu.arg("-serial").arg(format!("file:{}", port.display()));
    }
    let started = Instant::now();
    qemu.stdin(Stdio::null()).stdout(Stdio::null()).status().context("failed to start QEMU")?;
    let took = started.elapsed();
    fs::remove_file(&initrd).context("failed to remove the initramfs")?;
    Ok(Boot { console: read(&console)?, results: read(&results)?, took, timed_out: took >= limit })
}

fn read(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| format!("failed to read `{}`", file.display()))?;
    Ok(String::from_utf8_lossy(&bytes).replace('\r', ""))
}
