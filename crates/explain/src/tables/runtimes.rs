//! Files and functions of the runtimes that programs run on. These are data on libraries; this
//! module must not look at threads.

use morecores_view::code::WaitKind;

/// Files whose waits are waits of their callers: a function of the program called them for
/// something that takes time. The first match counts.
const CALLED_FILES: [(&str, WaitKind); 9] = [
    ("libgomp.so", WaitKind::OpenMp),
    ("libomp.so", WaitKind::OpenMp),
    ("libomp-", WaitKind::OpenMp),
    ("libiomp5.so", WaitKind::OpenMp),
    // Open MPI with the libraries of its progress loop; MPICH and its derivatives.
    ("libmpi.so", WaitKind::Mpi),
    ("libmpi_", WaitKind::Mpi),
    ("libmpich.so", WaitKind::Mpi),
    ("libopen-pal.so", WaitKind::Mpi),
    ("libopen-rte.so", WaitKind::Mpi),
];

/// Kind of a wait in a file that the program called, if it is such a file.
pub(super) fn kind_by_called_file(file: &str) -> Option<WaitKind> {
    CALLED_FILES.iter().find(|(start, _)| file.starts_with(start)).map(|(_, kind)| *kind)
}

/// Beginnings of the names of functions in which a thread of a runtime waits for work. The runtime
/// is the place of the wait: no function of the program called it.
const IDLE_FUNCTIONS: [(&str, WaitKind); 9] = [
    ("rayon_core::sleep::", WaitKind::Rayon),
    ("tokio::runtime::", WaitKind::Tokio),
    ("<tokio::runtime::", WaitKind::Tokio),
    // `src/runtime/os_linux.go`, `lock_futex.go` and `netpoll_epoll.go` of Go.
    ("runtime.futex", WaitKind::GoScheduler),
    ("runtime.notesleep", WaitKind::GoScheduler),
    ("runtime.notetsleep", WaitKind::GoScheduler),
    ("runtime.netpoll", WaitKind::GoScheduler),
    ("runtime.epollwait", WaitKind::GoScheduler),
    ("runtime.usleep", WaitKind::GoScheduler),
];

/// Kind of a wait by its place: a function of a runtime in which its threads wait for work, or any
/// function of the Java virtual machine.
pub(super) fn kind_by_place(file: &str, function: &str) -> Option<WaitKind> {
    let of_function = || IDLE_FUNCTIONS.iter().find(|(start, _)| function.starts_with(start));
    if file.starts_with("libjvm.so") { Some(WaitKind::Jvm) } else { of_function().map(|(_, kind)| *kind) }
}

/// Functions of the C library's allocator, exported and with a debug file.
const ALLOCATOR_FUNCTIONS: [&str; 15] = [
    "__libc_calloc",
    "__libc_free",
    "__libc_malloc",
    "__libc_memalign",
    "__libc_realloc",
    "_int_free",
    "_int_malloc",
    "_int_realloc",
    "aligned_alloc",
    "calloc",
    "cfree",
    "free",
    "malloc",
    "posix_memalign",
    "realloc",
];

/// Whether a function of the C library allocates or frees memory: its waits are for the lock of an
/// arena.
pub(super) fn is_allocator(function: &str) -> bool {
    ALLOCATOR_FUNCTIONS.contains(&function)
}

/// Whether a file is a runtime of OpenMP: gcc's, LLVM's or Intel's.
pub(super) fn is_openmp_file(file: &str) -> bool {
    kind_by_called_file(file) == Some(WaitKind::OpenMp)
}

/// Purpose of a function that OpenMP's runtime exports to compiled programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenMpPurpose {
    /// Runs a parallel region.
    Region,
    /// Waits until other threads of the team have reached a point.
    Wait,
    /// Takes a lock.
    Lock,
    /// Anything else: divides iterations, makes tasks, answers questions.
    Other,
}

/// Beginnings of the names of exported functions: `libgomp.map` of gcc and `kmp.h` of LLVM. The
/// first match counts.
const OPENMP_FUNCTIONS: [(&str, OpenMpPurpose); 35] = [
    ("GOMP_parallel", OpenMpPurpose::Region),
    ("GOMP_teams_reg", OpenMpPurpose::Region),
    ("__kmpc_fork_", OpenMpPurpose::Region),
    ("__kmp_fork_", OpenMpPurpose::Region),
    ("GOMP_barrier", OpenMpPurpose::Wait),
    ("GOMP_doacross_ull_wait", OpenMpPurpose::Wait),
    ("GOMP_doacross_wait", OpenMpPurpose::Wait),
    ("GOMP_loop_end", OpenMpPurpose::Wait),
    ("GOMP_ordered_start", OpenMpPurpose::Wait),
    ("GOMP_sections_end", OpenMpPurpose::Wait),
    ("GOMP_single_copy_start", OpenMpPurpose::Wait),
    ("GOMP_taskgroup_end", OpenMpPurpose::Wait),
    ("GOMP_taskwait", OpenMpPurpose::Wait),
    ("__kmpc_barrier", OpenMpPurpose::Wait),
    ("__kmpc_cancel_barrier", OpenMpPurpose::Wait),
    ("__kmpc_copyprivate", OpenMpPurpose::Wait),
    ("__kmpc_doacross_wait", OpenMpPurpose::Wait),
    ("__kmpc_end_taskgroup", OpenMpPurpose::Wait),
    ("__kmpc_omp_taskwait", OpenMpPurpose::Wait),
    ("__kmpc_omp_wait_deps", OpenMpPurpose::Wait),
    ("__kmpc_ordered", OpenMpPurpose::Wait),
    // A reduction without a barrier may take a lock.
    ("__kmpc_reduce_nowait", OpenMpPurpose::Lock),
    ("__kmpc_end_reduce_nowait", OpenMpPurpose::Lock),
    ("__kmpc_reduce", OpenMpPurpose::Wait),
    ("__kmpc_end_reduce", OpenMpPurpose::Wait),
    ("GOMP_atomic_", OpenMpPurpose::Lock),
    ("GOMP_critical_", OpenMpPurpose::Lock),
    ("__kmpc_atomic_", OpenMpPurpose::Lock),
    ("__kmpc_critical", OpenMpPurpose::Lock),
    ("__kmpc_set_", OpenMpPurpose::Lock),
    ("omp_set_lock", OpenMpPurpose::Lock),
    ("omp_set_nest_lock", OpenMpPurpose::Lock),
    ("GOMP_", OpenMpPurpose::Other),
    ("__kmpc_", OpenMpPurpose::Other),
    ("omp_", OpenMpPurpose::Other),
];

/// Purpose of a function of OpenMP's runtime; `None` for an internal one.
pub(super) fn openmp_purpose(function: &str) -> Option<OpenMpPurpose> {
    OPENMP_FUNCTIONS.iter().find(|(start, _)| function.starts_with(start)).map(|(_, purpose)| *purpose)
}

/// Variable of CPython with the state of its interpreter. Its lock with time-outs is the global
/// interpreter lock.
pub(super) const PYTHON_RUNTIME: &str = "_PyRuntime";

/// Length of the state of CPython's global lock in bytes, from the futexes of its condition
/// variable on: the rest of that variable, a mutex, a second condition variable and a second mutex
/// (`struct _gil_runtime_state`, with the types of glibc on 64-bit machines).
pub(super) const PYTHON_LOCK_LENGTH: u64 = 8 + 40 + 48 + 40;

/// Exported functions of CPython that take its global lock, by a call of `take_gil`: a static
/// function, as is `eval_frame_handle_pending` between them.
const PYTHON_LOCK_CALLERS: [&str; 4] =
    ["PyEval_AcquireThread", "PyEval_RestoreThread", "PyGILState_Ensure", "_PyEval_EvalFrameDefault"];

/// Largest number of static functions between a wait for the lock and an exported function.
const MAX_STATIC: usize = 2;

/// Whether a thread that waits below these functions, the innermost first, waits for CPython's
/// global lock. `None` stands for a function without a symbol. It holds only for a wait for a lock
/// with time-outs: these functions wait for other objects too.
pub(super) fn waits_for_python_lock<'a>(functions: impl IntoIterator<Item = Option<&'a str>>) -> bool {
    for (index, function) in functions.into_iter().enumerate() {
        match function {
            Some("take_gil") => return true,
            Some(name) if PYTHON_LOCK_CALLERS.contains(&name) => return true,
            None | Some("eval_frame_handle_pending") if index < MAX_STATIC => {}
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_openmp_are_its_runtimes_alone() {
        for file in ["libgomp.so.1.0.0", "libomp.so.5", "libomp-14.so.5", "libiomp5.so"] {
            assert!(is_openmp_file(file), "{file}");
        }
        for file in ["libompd.so", "libomptarget.so.14", "libompitrace.so.40", "libgomp-plugin-nvptx.so.1"] {
            assert!(!is_openmp_file(file), "{file}");
        }
    }

    #[test]
    fn the_lock_of_python_is_known_by_the_functions_that_take_it() {
        let waits = |functions: &[Option<&'static str>]| waits_for_python_lock(functions.iter().copied());
        assert!(waits(&[Some("take_gil"), None]));
        // As in Debian's python3.11: two static functions without symbols.
        assert!(waits(&[None, None, Some("_PyEval_EvalFrameDefault")]));
        assert!(waits(&[None, Some("PyEval_RestoreThread"), Some("time_sleep")]));
        assert!(waits(&[Some("PyEval_AcquireThread")]));
        assert!(!waits(&[None, None, None, Some("_PyEval_EvalFrameDefault")]));
        assert!(!waits(&[Some("PyThread_acquire_lock_timed"), Some("PyEval_RestoreThread")]));
        assert!(!waits(&[None, None]) && !waits(&[]));
    }

    #[test]
    fn waits_of_runtimes_have_kinds() {
        assert_eq!(kind_by_called_file("libmpi.so.40.30.4"), Some(WaitKind::Mpi));
        assert_eq!(kind_by_called_file("libopen-pal.so.40"), Some(WaitKind::Mpi));
        assert_eq!(kind_by_called_file("libmpfr.so.6"), None);
        let by_function = |function| kind_by_place("program", function);
        assert_eq!(by_function("rayon_core::sleep::Sleep::sleep"), Some(WaitKind::Rayon));
        assert_eq!(by_function("rayon_core::join::join_context"), None);
        assert_eq!(by_function("tokio::runtime::park::Inner::park"), Some(WaitKind::Tokio));
        assert_eq!(by_function("tokio::sync::mutex::Mutex<T>::lock"), None);
        assert_eq!(by_function("runtime.futexsleep"), Some(WaitKind::GoScheduler));
        assert_eq!(by_function("runtime_of_the_program"), None);
        assert_eq!(kind_by_place("libjvm.so", "libjvm.so+0x8000"), Some(WaitKind::Jvm));
        assert!(is_allocator("malloc") && !is_allocator("malloc_in_program") && !is_allocator("fopen"));
    }

    #[test]
    fn the_longer_name_of_a_function_decides() {
        let cases = [
            ("GOMP_parallel_loop_dynamic", Some(OpenMpPurpose::Region)),
            ("GOMP_loop_end", Some(OpenMpPurpose::Wait)),
            ("GOMP_loop_dynamic_next", Some(OpenMpPurpose::Other)),
            ("GOMP_critical_name_start", Some(OpenMpPurpose::Lock)),
            ("__kmpc_end_reduce", Some(OpenMpPurpose::Wait)),
            ("__kmpc_end_reduce_nowait", Some(OpenMpPurpose::Lock)),
            ("__kmpc_dispatch_next_4", Some(OpenMpPurpose::Other)),
            ("omp_get_wtime", Some(OpenMpPurpose::Other)),
            ("gomp_team_end", None),
        ];
        for (function, purpose) in cases {
            assert_eq!(openmp_purpose(function), purpose, "{function}");
        }
    }
}
