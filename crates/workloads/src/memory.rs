//! Check of the available memory, before a workload allocates anything.
//!
//! The kernel promises memory that it does not have and later kills a process for using it. A clear
//! message beforehand is better.

use morecores_study::Bytes;
use procfs::{Current, Meminfo};

use crate::WorkloadError;

/// Refuses a run that needs more memory than the machine can give without swapping. `arguments`
/// names the arguments to change. The run continues where the kernel reports no figure, and the
/// allocation decides.
///
/// # Errors
/// Too little available memory.
pub fn require(needed: Bytes, arguments: &'static str) -> Result<(), WorkloadError> {
    match available() {
        Some(available) if available < needed => {
            Err(WorkloadError::NotEnoughMemory { needed, available, arguments })
        }
        _ => Ok(()),
    }
}

/// An empty vector with room for `len` bytes. The pages stay untouched, so that the thread that
/// fills them gets them on its own NUMA node.
pub(crate) fn reserve(len: usize, arguments: &'static str) -> Result<Vec<u8>, WorkloadError> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(len)
        .map_err(|_| WorkloadError::MemoryRefused { needed: Bytes(len as u64), arguments })?;
    Ok(bytes)
}

/// A vector of `len` zeros. The pages stay untouched here too: the kernel supplies zeros at the
/// first access to a page.
pub(crate) fn zeroed(len: usize, arguments: &'static str) -> Result<Vec<u64>, WorkloadError> {
    let needed = Bytes(len.saturating_mul(size_of::<u64>()) as u64);
    // `vec!` would abort where memory is refused. Memory that was available a moment ago is still
    // available.
    Vec::<u64>::new()
        .try_reserve_exact(len)
        .map_err(|_| WorkloadError::MemoryRefused { needed, arguments })?;
    Ok(vec![0; len])
}

/// `MemAvailable` of `/proc/meminfo`: the kernel's estimate of the memory for new programs without
/// swapping (Documentation/filesystems/proc.rst).
fn available() -> Option<Bytes> {
    Meminfo::current().ok()?.mem_available.map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_that_cannot_fit_is_refused() {
        assert!(require(Bytes(4096), "--width").is_ok());
        let error = require(Bytes(u64::MAX), "--width").unwrap_err();
        assert!(error.to_string().ends_with("lower --width"), "{error}");
        assert!(matches!(reserve(usize::MAX, "--width"), Err(WorkloadError::MemoryRefused { .. })));
        assert!(matches!(zeroed(usize::MAX / 8, "--items"), Err(WorkloadError::MemoryRefused { .. })));
        assert_eq!(zeroed(3, "--items").unwrap(), [0; 3]);
    }
}
