//! The hooks without the work, to tell what the work costs.

use aya::{Btf, EbpfLoader, programs::BtfTracePoint};

use super::{attach, error::ProbeError, load::OBJECT};

/// An attached program that does nothing. Dropping it detaches.
pub struct Empty {
    _ebpf: aya::Ebpf,
}

impl Empty {
    /// Attaches it to the exit of every syscall.
    ///
    /// # Errors
    ///
    /// As [`super::Session::start`].
    pub fn on_sys_exit() -> Result<Self, ProbeError> {
        let btf: Btf = attach::types()?;
        let mut ebpf =
            EbpfLoader::new().btf(Some(&btf)).load(OBJECT).map_err(|error| ProbeError::Load(Box::new(error)))?;
        let name = "empty_sys_exit";
        let program = ebpf.program_mut(name).ok_or(ProbeError::NotInObject(name))?;
        <&mut BtfTracePoint>::try_from(program)
            .and_then(|program| {
                program.load("sys_exit", &btf)?;
                program.attach()
            })
            .map_err(|source| attach::program_error(name, source))?;
        Ok(Self { _ebpf: ebpf })
    }
}
