//! Probes at the functions of a C library that take and release locks. This module finds the
//! functions; it attaches nothing.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use morecores_symbols::{SymbolError, function_offsets};

/// Place in a file whose execution is a call that takes or releases a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockProbe {
    /// File with the function.
    pub(crate) file: PathBuf,
    /// Offset of the function's first instruction in the file.
    pub(crate) offset: u64,
    pub(crate) call: LockCall,
    /// Whether the lock is a mutex of glibc.
    pub(crate) is_glibc_mutex: bool,
}

/// Effect of a call: `enum lock_call` of `bpf/wire.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum LockCall {
    TakeMutex,
    TakeRead,
    TakeWrite,
    Release,
    AwaitCondition,
}

/// `LOCK_IS_GLIBC_MUTEX`.
const GLIBC_MUTEX: u64 = 8;

/// The functions of POSIX threads that take or release a lock, and those of C libraries besides
/// (`clock`: glibc 2.30 and later). Spinlocks are not among them: a hold would include the time for
/// which a thread spins.
const FUNCTIONS: [(&str, LockCall); 17] = [
    ("pthread_mutex_lock", LockCall::TakeMutex),
    ("pthread_mutex_trylock", LockCall::TakeMutex),
    ("pthread_mutex_timedlock", LockCall::TakeMutex),
    ("pthread_mutex_clocklock", LockCall::TakeMutex),
    ("pthread_mutex_unlock", LockCall::Release),
    ("pthread_rwlock_rdlock", LockCall::TakeRead),
    ("pthread_rwlock_tryrdlock", LockCall::TakeRead),
    ("pthread_rwlock_timedrdlock", LockCall::TakeRead),
    ("pthread_rwlock_clockrdlock", LockCall::TakeRead),
    ("pthread_rwlock_wrlock", LockCall::TakeWrite),
    ("pthread_rwlock_trywrlock", LockCall::TakeWrite),
    ("pthread_rwlock_timedwrlock", LockCall::TakeWrite),
    ("pthread_rwlock_clockwrlock", LockCall::TakeWrite),
    ("pthread_rwlock_unlock", LockCall::Release),
    ("pthread_cond_wait", LockCall::AwaitCondition),
    ("pthread_cond_timedwait", LockCall::AwaitCondition),
    ("pthread_cond_clockwait", LockCall::AwaitCondition),
];

/// Functions of glibc alone, in the file with its mutexes: one in shared files, and one in a static
/// program.
const OF_GLIBC: [&str; 2] = ["__nptl_create_event", "__nptl_deallocate_tsd"];

impl LockProbe {
    /// Probes at the functions that `files` define. `files` are those of one process in the order
    /// in which its dynamic linker searches them: the first file with a function is the one that
    /// the process calls.
    ///
    /// # Errors
    /// [`SymbolError`] if a file cannot be read.
    pub fn in_files(files: &[PathBuf]) -> Result<Vec<Self>, SymbolError> {
        let mut found: HashSet<&str> = HashSet::new();
        let mut probes = Vec::new();
        for file in files {
            let wanted: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).chain(OF_GLIBC).collect();
            let defined = function_offsets(file, &wanted)?;
            let is_glibc = defined.iter().any(|(name, _)| OF_GLIBC.contains(name));
            let names: HashSet<&str> = defined.iter().map(|(name, _)| *name).collect();
            for (name, offset) in defined {
                let call = FUNCTIONS.iter().find(|(function, _)| *function == name);
                // Two names of one function are one place.
                let is_new = !probes.iter().any(|probe: &Self| (&probe.file, probe.offset) == (file, offset));
                if let Some((_, call)) = call.filter(|(name, _)| is_new && !found.contains(name)) {
                    let is_glibc_mutex = is_glibc && name.starts_with("pthread_mutex");
                    probes.push(Self { file: file.clone(), offset, call: *call, is_glibc_mutex });
                }
            }
            found.extend(names);
        }
        Ok(probes)
    }

    /// File with the function.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Value that the program gets with each call.
    pub(crate) fn cookie(&self) -> u64 {
        self.call as u64 | if self.is_glibc_mutex { GLIBC_MUTEX } else { 0 }
    }
}
