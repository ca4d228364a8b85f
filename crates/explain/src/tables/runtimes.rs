//! Files and functions of the runtimes that programs run on. These are data on libraries; this
//! module must not look at threads.

use morecores_view::code::WaitKind;

/// Files whose waits are waits of their callers: a function of the program called them for
/// something that takes time. The first match counts.
const CALLED_FILES: [(&str, WaitKind); 15] = [
    ("libgomp.so", WaitKind::OpenMp),
    ("libomp.so", WaitKind::OpenMp),
    ("libomp-", WaitKind::OpenMp),
    ("libiomp5.so", WaitKind::OpenMp),
    // Open MPI with its components and the libraries of its progress loop and of its start; MPICH
    // and its derivatives.
    ("libmpi.so", WaitKind::Mpi),
    ("libmpi_", WaitKind::Mpi),
    ("libmpich.so", WaitKind::Mpi),
    ("libopen-pal.so", WaitKind::Mpi),
    ("libopen-rte.so", WaitKind::Mpi),
    ("libpmix.so", WaitKind::Mpi),
    ("mca_", WaitKind::Mpi),
    ("libjemalloc.so", WaitKind::Allocator),
    ("libmimalloc.so", WaitKind::Allocator),
    ("libtcmalloc.so", WaitKind::Allocator),
    ("libtcmalloc_", WaitKind::Allocator),
];

/// Kind of a wait in a file that the program called, if it is such a file.
pub(super) fn kind_by_called_file(file: &str) -> Option<WaitKind> {
    CALLED_FILES.iter().find(|(start, _)| file.starts_with(start)).map(|(_, kind)| *kind)
}

/// Function of Open MPI that looks for messages. All waits of MPI call it in a loop.
pub(super) const MPI_PROGRESS: &str = "opal_progress";

/// Runtime that is compiled into the program: crates of Rust.
#[derive(Debug)]
pub(super) struct CompiledRuntime {
    pub(super) kind: WaitKind,
    /// Beginnings of the names of the functions in which its threads wait for work, and its callers
    /// for results. The compiler may have put code of the program into any other function.
    waits: &'static [&'static str],
    /// Beginnings of the names of all its functions.
    functions: &'static [&'static str],
}

const COMPILED_RUNTIMES: [CompiledRuntime; 2] = [
    CompiledRuntime {
        kind: WaitKind::Rayon,
        waits: &["rayon_core::latch::LockLatch::", "rayon_core::sleep::"],
        functions: &["rayon::", "rayon_core::"],
    },
    CompiledRuntime {
        kind: WaitKind::Tokio,
        waits: &[
            "tokio::runtime::blocking::pool::Inner::run",
            "tokio::runtime::driver::",
            "tokio::runtime::io::driver::",
            "tokio::runtime::park::",
            "tokio::runtime::scheduler::current_thread::Context::park",
            "tokio::runtime::scheduler::multi_thread::park::",
            "tokio::runtime::scheduler::multi_thread::worker::Context::park",
            "tokio::runtime::time::",
        ],
        functions: &["tokio::"],
    },
];

impl CompiledRuntime {
    /// Runtime of a function in which threads wait for it.
    pub(super) fn by_wait(function: &str) -> Option<&'static Self> {
        let function = without_bracket(function);
        COMPILED_RUNTIMES.iter().find(|runtime| runtime.waits.iter().any(|start| function.starts_with(start)))
    }

    /// Whether a function is one of the runtime.
    pub(super) fn contains(&self, function: &str) -> bool {
        let function = without_bracket(function);
        self.functions.iter().any(|start| function.starts_with(start))
    }
}

/// Name of a function of Rust without the bracket around its type: `<a::B>::c` or `<a::B as D>::c`.
pub(super) fn without_bracket(function: &str) -> &str {
    function.strip_prefix('<').unwrap_or(function)
}

/// Beginnings of the names of the functions with which Go's threads wait. Their caller is the place
/// of the wait. They are those of `os_linux.go`, `lock_futex.go`, `lock_spinbit.go`,
/// `netpoll_epoll.go` and `proc.go` in `src/runtime` of Go.
const GO_WAITS: [(&str, Option<WaitKind>); 10] = [
    ("internal/runtime/syscall", None),
    ("runtime.futex", None),
    ("runtime.semasleep", None),
    ("runtime.lock2", Some(WaitKind::Mutex)),
    ("runtime.epollwait", Some(WaitKind::GoScheduler)),
    ("runtime.mPark", Some(WaitKind::GoScheduler)),
    ("runtime.netpoll", Some(WaitKind::GoScheduler)),
    ("runtime.note", Some(WaitKind::GoScheduler)),
    ("runtime.stopm", Some(WaitKind::GoScheduler)),
    ("runtime.usleep", Some(WaitKind::GoScheduler)),
];

/// Beginnings of the names of the functions with which the Java virtual machine waits. Their caller
/// is the place of the wait: a function of the machine, or of the Java program. Functions without a
/// kind here serve objects of several kinds.
const JVM_WAITS: [(&str, Option<WaitKind>); 21] = [
    ("InterpreterRuntime::monitorenter", None),
    ("JVM_MonitorWait", None),
    ("LinuxWaitBarrier::", None),
    ("ObjectSynchronizer::", None),
    ("Runtime1::monitorenter", None),
    ("Semaphore::", None),
    ("SharedRuntime::complete_monitor_locking_C", None),
    ("SharedRuntime::monitor_enter_helper", None),
    ("os::Platform", None),
    ("Monitor::", Some(WaitKind::Jvm)),
    ("PosixSemaphore::", Some(WaitKind::Jvm)),
    ("VMThread::execute", Some(WaitKind::Jvm)),
    ("VMThread::wait_until_executed", Some(WaitKind::Jvm)),
    ("Mutex::", Some(WaitKind::Mutex)),
    ("ObjectMonitor::EnterI", Some(WaitKind::Mutex)),
    ("ObjectMonitor::ReenterI", Some(WaitKind::Mutex)),
    ("ObjectMonitor::enter", Some(WaitKind::Mutex)),
    ("ObjectMonitor::", Some(WaitKind::ConditionVariable)),
    ("Parker::", Some(WaitKind::Park)),
    ("Unsafe_Park", Some(WaitKind::Park)),
    ("JVM_Sleep", Some(WaitKind::Jvm)),
];

/// Function of a runtime with which its threads wait, and the kind of object if it has only one.
/// `None` for another function.
pub(super) fn waiting_function(file: &str, function: &str) -> Option<Option<WaitKind>> {
    let waits: &[(&str, Option<WaitKind>)] = if is_jvm(file) { &JVM_WAITS } else { &GO_WAITS };
    waits.iter().find(|(start, _)| function.starts_with(start)).map(|(_, kind)| *kind)
}

/// Beginnings of the names of Java's methods that implement waits, without the type of the result.
const JAVA_WAITS: [&str; 5] = [
    "java.lang.Object.",
    "java.lang.Thread.",
    "java.util.concurrent.",
    "jdk.internal.misc.Blocker.",
    "jdk.internal.misc.Unsafe.",
];

/// Function that the Java virtual machine generated, between Java's program and its own functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JavaGlue {
    /// Method of Java's library that implements waits.
    Method,
    /// The interpreter, whose methods have no names, or a stub.
    Stub,
}

impl JavaGlue {
    /// Glue by the name in the map that the machine writes; `None` for a method of the program.
    pub(super) fn by_name(function: &str) -> Option<Self> {
        let method = function.split_whitespace().nth(1).unwrap_or(function);
        if JAVA_WAITS.iter().any(|start| method.starts_with(start)) {
            return Some(Self::Method);
        }
        let is_stub = function == "Interpreter"
            || function == "_complete_monitor_locking_Java"
            || function.starts_with("StubRoutines ")
            || function.ends_with(" stub");
        is_stub.then_some(Self::Stub)
    }
}

/// Whether a file is the Java virtual machine.
pub(super) fn is_jvm(file: &str) -> bool {
    file.starts_with("libjvm.so")
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
    fn files_that_the_program_calls_have_kinds() {
        assert_eq!(kind_by_called_file("libmpi.so.40.30.4"), Some(WaitKind::Mpi));
        assert_eq!(kind_by_called_file("mca_btl_vader.so"), Some(WaitKind::Mpi));
        assert_eq!(kind_by_called_file("libtcmalloc_minimal.so.4.5.10"), Some(WaitKind::Allocator));
        assert_eq!(kind_by_called_file("libmpfr.so.6"), None);
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
