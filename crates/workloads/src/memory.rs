//! Check of the available memory, before a workload allocates anything.
//!
//! The kernel promises memory that it does not have and later kills a process for using it. A clear
//! message beforehand is better.

use std::fs;

use morecores_study::Bytes;

use crate::WorkloadError;

/// Refuses a run that needs more memory than the machine can give without swapping. `arguments`
/// names the arguments to change. The run continues where the kernel reports no figure, and the
/// allocation decides.
///
/// # Errors
/// Too little available memory.
pub fn require(needed: Bytes, arguments: &'static str) -> Result<(), WorkloadError> {
    match fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(parse_available) {
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
fn parse_available(meminfo: &str) -> Option<Bytes> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok().map(Bytes::from_kib)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read_as_the_kernel_writes_it() {
        let text = "MemTotal:       24689652 kB\nMemFree:        20000000 kB\nMemAvailable:   23000000 kB\n";
        assert_eq!(parse_available(text), Some(Bytes::from_kib(23_000_000)));
        assert_eq!(parse_available("MemTotal: 1 kB\n"), None);
    }

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
