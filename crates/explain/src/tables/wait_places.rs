//! Place of a wait in a stack: the innermost function that does not itself implement locks or
//! threads, and is no runtime's own. This module knows functions by their names alone.

use morecores_study::trace::StackEnd;
use morecores_view::code::WaitKind;

use super::runtimes::{
    CompiledRuntime, JavaGlue, is_allocator, is_jvm, kind_by_called_file, waiting_function, without_bracket,
};
use super::standard_library::is_of_standard_library;
use super::wait_kinds::kind_by_function;

/// Files that implement locks and threads: a wait in them is a wait of their caller.
const LOCK_FILES: [&str; 12] = [
    "[vdso]",
    "ld-linux",
    "ld-musl",
    "libc.so",
    "libc-2.",
    "libc.musl",
    "libc++.so",
    "libevent",
    "libgcc_s.so",
    "libpthread",
    "libstdc++.so",
    "libtsan.so",
];

/// Beginnings of the names of functions that implement locks, threads, channels and events: those
/// of C libraries in static programs, and of crates of Rust. All functions of the standard
/// libraries count too.
const LOCK_FUNCTIONS: [&str; 19] = [
    "___pthread_",
    "__futex_",
    "__gthread_",
    "__internal_syscall",
    "__lll_",
    "__new_sem_",
    "__pthread_",
    "__syscall_cancel",
    "crossbeam_channel::",
    "epoll_wait",
    "futex_",
    "lll_",
    "lock_api::",
    "mio::",
    "parking_lot::",
    "parking_lot_core::",
    "pthread_",
    "sem_",
    "syscall",
];

/// First functions of a thread in a static program.
const THREAD_STARTS: [&str; 5] =
    ["__clone", "__clone3", "clone3", "execute_native_thread_routine", "start_thread"];

/// Beginnings of the names of library functions that contain the code of a thread if the compiler
/// puts it there.
const THREAD_BODIES: [&str; 3] = [
    "std::sys::backtrace::__rust_begin_short_backtrace",
    "std::sys_common::backtrace::__rust_begin_short_backtrace",
    "std::thread::_State_impl",
];

/// Function of a stack.
#[derive(Clone, Debug)]
pub(super) struct NamedFrame<'a> {
    /// Name of its file.
    pub(super) file: &'a str,
    /// Its name, else that of its file.
    pub(super) function: String,
    /// Whether the trace knows the function.
    pub(super) is_known: bool,
}

/// Place of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WaitPlace {
    /// Index in the stack.
    pub(super) index: usize,
    /// Kind by the functions from the place inwards.
    pub(super) kind: Option<WaitKind>,
}

/// Finds the place of a wait in a stack, the innermost function first. A stack of library functions
/// alone has as its place the innermost function of a runtime, whose threads wait for work there;
/// else the function that may contain the thread's code; else the innermost one. `None` if the
/// stack ends before such a function.
pub(super) fn find_place<'a>(
    frames: impl Iterator<Item = NamedFrame<'a>>,
    end: StackEnd,
) -> Option<WaitPlace> {
    let mut library = LibraryCalls::default();
    let mut innermost_file = None;
    for frame in frames {
        innermost_file.get_or_insert(frame.file);
        if !library.add(frame.file, &frame.function) {
            // Code that a runtime generated may have no name. The runtime's function has one.
            let is_nameless = !frame.is_known || library.is_below_java && is_jvm(frame.file);
            let instead = library.java_method.or(library.waiting).filter(|_| is_nameless);
            let (index, file) = instead.unwrap_or((library.count, frame.file));
            return Some(library.place(index, file));
        }
    }
    let index = library.runtime.or(library.thread_body);
    let index = index.or_else(|| (end == StackEnd::Outermost && library.count > 0).then_some(0))?;
    Some(library.place(index, innermost_file?))
}

/// Functions of a stack inside the place of its wait, from the innermost on.
#[derive(Debug, Default)]
struct LibraryCalls<'a> {
    count: usize,
    /// Kind by the innermost function of a runtime, which implements its waits by other objects.
    of_runtime: Option<WaitKind>,
    /// Kind by the innermost function of a library.
    of_library: Option<WaitKind>,
    /// Index and file of the outermost of the functions, if it is one with which a runtime waits.
    waiting: Option<(usize, &'a str)>,
    /// Whether the Java virtual machine waits for code that it generated.
    is_below_java: bool,
    /// Index and file of the innermost method of Java's library.
    java_method: Option<(usize, &'a str)>,
    /// Runtime in the program's own file that waits.
    compiled: Option<&'static CompiledRuntime>,
    /// Index of the innermost function of a runtime.
    runtime: Option<usize>,
    /// Index of the function that may contain the code of the thread.
    thread_body: Option<usize>,
}

impl<'a> LibraryCalls<'a> {
    /// Adds the next function outwards; false if it is none of these.
    fn add(&mut self, file: &'a str, function: &str) -> bool {
        let is_below_jvm = self.is_below_java || self.waiting.is_some_and(|(_, file)| is_jvm(file));
        if let Some(glue) = JavaGlue::by_name(function).filter(|_| is_below_jvm && !is_jvm(file)) {
            self.is_below_java = true;
            if glue == JavaGlue::Method {
                self.java_method.get_or_insert((self.count, file));
            }
            self.count += 1;
            return true;
        }
        let called = kind_by_called_file(file);
        let waits = waiting_function(file, function);
        self.compiled = self.compiled.or_else(|| CompiledRuntime::by_wait(function));
        let compiled = self.compiled.filter(|runtime| runtime.contains(function));
        let in_runtime = called.or(compiled.map(|runtime| runtime.kind));
        if in_runtime.is_none() && waits.is_none() && !implements_locks(file, function) {
            return false;
        }
        let by_allocator = is_allocator(function).then_some(WaitKind::Allocator);
        self.of_runtime = self.of_runtime.or(by_allocator).or(in_runtime).or(waits.flatten());
        self.of_library = self.of_library.or_else(|| kind_by_function(function));
        self.waiting = waits.map(|_| (self.count, file));
        self.runtime = self.runtime.or(in_runtime.map(|_| self.count));
        let is_body = THREAD_BODIES.iter().any(|start| function.starts_with(start));
        self.thread_body = self.thread_body.or(is_body.then_some(self.count));
        self.count += 1;
        true
    }

    /// Place at an index of the stack, in a file.
    fn place(&self, index: usize, file: &str) -> WaitPlace {
        let of_jvm = is_jvm(file).then_some(WaitKind::Jvm);
        WaitPlace { index, kind: self.of_runtime.or(of_jvm).or(self.of_library) }
    }
}

/// Whether a function implements locks, threads, or a language's standard library.
fn implements_locks(file: &str, function: &str) -> bool {
    LOCK_FILES.iter().any(|start| file.starts_with(start))
        || THREAD_STARTS.contains(&function)
        || LOCK_FUNCTIONS.iter().any(|start| without_bracket(function).starts_with(start))
        || is_of_standard_library(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Function at the place of a stack of functions of the program, each with its file after a `@`
    /// if that is another one, and the kind of the wait.
    fn place(frames: &[&'static str], end: StackEnd) -> Option<(&'static str, Option<WaitKind>)> {
        let split = |frame: &&'static str| frame.split_once('@').unwrap_or((*frame, "program"));
        let names = frames.iter().map(split).map(|(function, file)| NamedFrame {
            file,
            function: function.to_owned(),
            is_known: !function.starts_with('['),
        });
        find_place(names, end).map(|WaitPlace { index, kind }| (split(&frames[index]).0, kind))
    }

    fn whole(frames: &[&'static str]) -> (&'static str, Option<WaitKind>) {
        place(frames, StackEnd::Outermost).expect("a place")
    }

    /// Outermost functions of a thread of Rust 1.95 with glibc 2.36.
    const RUST_THREAD: [&str; 5] = [
        "std::sys::backtrace::__rust_begin_short_backtrace",
        "core::ops::function::FnOnce::call_once{{vtable.shim}}",
        "<std::sys::thread::unix::Thread>::new::thread_start",
        "start_thread@libc.so.6",
        "clone3@libc.so.6",
    ];

    fn in_thread(frames: &[&'static str]) -> (&'static str, Option<WaitKind>) {
        whole(&[frames, &RUST_THREAD].concat())
    }

    /// As recorded of Rust 1.95, with `parking_lot` 0.12.5 and `crossbeam-channel` 0.5.17.
    #[test]
    fn locks_and_channels_of_rust_are_waits_of_their_callers() {
        let waits = [
            (
                ["<std::sys::sync::mutex::futex::Mutex>::lock_contended", "locks::update"].as_slice(),
                WaitKind::Mutex,
            ),
            (
                &["<std::sys::sync::rwlock::futex::RwLock>::write_contended", "locks::update"],
                WaitKind::ReadWriteLock,
            ),
            (
                &["<std::sys::sync::condvar::futex::Condvar>::wait", "locks::update"],
                WaitKind::ConditionVariable,
            ),
            (&["parking_lot::raw_mutex::RawMutex::lock_slow", "locks::update"], WaitKind::Mutex),
            (
                &["parking_lot::condvar::Condvar::wait_until_internal", "locks::update"],
                WaitKind::ConditionVariable,
            ),
            (
                &["<std::thread::thread::Thread>::park", "std::thread::scoped::scope", "locks::update"],
                WaitKind::Join,
            ),
        ];
        for (frames, kind) in waits {
            assert_eq!(in_thread(&[&["syscall@libc.so.6"], frames].concat()), ("locks::update", Some(kind)));
        }
        // The arguments of the call tell the kind.
        let standard = ["<std::thread::thread::Thread>::park", "std::sync::mpmc::list::Channel<T>::recv"];
        assert_eq!(in_thread(&[&standard[..], &["consume"]].concat()), ("consume", None));
        let crossbeam = ["std::thread::functions::park", "crossbeam_channel::channel::Receiver<T>::recv"];
        assert_eq!(in_thread(&[&crossbeam[..], &["consume"]].concat()), ("consume", None));
        let join = ["__pthread_clockjoin_ex@libc.so.6", "std::thread::lifecycle::JoinInner<T>::join"];
        assert_eq!(in_thread(&[&join[..], &["consume"]].concat()), ("consume", Some(WaitKind::Join)));
        // The compiler put the closure of the thread into the function that calls it.
        let wait = ["syscall@libc.so.6", "<std::sys::sync::mutex::futex::Mutex>::lock_contended"];
        assert_eq!(in_thread(&wait), (RUST_THREAD[0], Some(WaitKind::Mutex)));
    }

    /// As recorded of `rayon-core` 1.13.0.
    #[test]
    fn waits_for_rayon_are_those_of_its_callers_or_of_an_idle_thread() {
        let rayon = Some(WaitKind::Rayon);
        let wait = ["syscall@libc.so.6", "<std::sys::sync::condvar::futex::Condvar>::wait"];
        let latch = [
            "rayon_core::latch::LockLatch::wait_and_reset",
            "std::thread::local::LocalKey<T>::with",
            "rayon_core::registry::in_worker",
            "rayon::iter::plumbing::bridge_producer_consumer::helper",
            "program::main",
            "main",
        ];
        assert_eq!(whole(&[&wait[..], &latch].concat()), ("program::main", rayon));
        let sleep =
            ["rayon_core::sleep::Sleep::sleep", "rayon_core::registry::WorkerThread::wait_until_cold"];
        let idle = [&wait[..], &sleep, &["rayon_core::registry::ThreadBuilder::run"]].concat();
        assert_eq!(in_thread(&idle), ("rayon_core::sleep::Sleep::sleep", rayon));
        let join = ["rayon_core::join::join_context::{{closure}}", "program::sort"];
        assert_eq!(in_thread(&[&wait[..], &sleep, &join].concat()), ("program::sort", rayon));
        // A lock of the program's code in a function of rayon.
        let job = "<rayon_core::job::StackJob<L,F,R> as rayon_core::job::Job>::execute";
        let lock = "<std::sys::sync::mutex::futex::Mutex>::lock_contended";
        assert_eq!(in_thread(&[lock, job]), (job, Some(WaitKind::Mutex)));
    }

    /// As recorded of tokio 1.54.1.
    #[test]
    fn waits_for_tokio_are_those_of_its_callers_or_of_an_idle_thread() {
        let tokio = Some(WaitKind::Tokio);
        let wait = ["syscall@libc.so.6", "parking_lot::condvar::Condvar::wait_until_internal"];
        let block_on = [
            "tokio::runtime::park::Inner::park",
            "tokio::runtime::park::CachedParkThread::block_on",
            "tokio::runtime::context::runtime::enter_runtime",
            "tokio::runtime::runtime::Runtime::block_on",
            "program::main",
        ];
        assert_eq!(whole(&[&wait[..], &block_on].concat()), ("program::main", tokio));
        let events = [
            "epoll_wait@libc.so.6",
            "mio::poll::Poll::poll",
            "tokio::runtime::io::driver::Driver::turn",
            "tokio::runtime::time::Driver::park_internal",
            "tokio::runtime::scheduler::multi_thread::worker::Context::park_internal",
            "tokio::runtime::scheduler::multi_thread::worker::run",
            "tokio::runtime::task::core::Core<T,S>::poll",
            "tokio::runtime::blocking::pool::Inner::run",
        ];
        assert_eq!(in_thread(&events), ("tokio::runtime::io::driver::Driver::turn", tokio));
        let pool = "tokio::runtime::blocking::pool::Inner::run";
        assert_eq!(in_thread(&[&wait[..], &[pool]].concat()), (pool, tokio));
        let task = ["<std::sys::sync::mutex::futex::Mutex>::lock_contended", "program::serve::{{closure}}"];
        assert_eq!(in_thread(&task), ("program::serve::{{closure}}", Some(WaitKind::Mutex)));
    }

    /// As recorded of Go 1.26.8.
    #[test]
    fn waits_of_go_are_those_of_the_function_that_decides_to_wait() {
        let go = |frames: &[&'static str]| place(frames, StackEnd::UnknownCode).expect("a place");
        let scheduler = Some(WaitKind::GoScheduler);
        let park = ["runtime.futex.abi0", "runtime.notesleep", "runtime.stopm"];
        let idle = ["runtime.findRunnable", "runtime.schedule", "runtime.park_m", "runtime.mcall"];
        assert_eq!(go(&[&park[..], &idle].concat()), ("runtime.findRunnable", scheduler));
        assert_eq!(go(&[&park[..], &["runtime.gcstopm"]].concat()), ("runtime.gcstopm", scheduler));
        let poll = ["internal/runtime/syscall/linux.Syscall6", "runtime.netpoll", "runtime.findRunnable"];
        assert_eq!(go(&poll), ("runtime.findRunnable", scheduler));
        assert_eq!(go(&["runtime.usleep.abi0", "runtime.sysmon"]), ("runtime.sysmon", scheduler));
        let lock = ["runtime.futex.abi0", "runtime.semasleep", "runtime.lock2", "runtime.wakep"];
        assert_eq!(go(&lock), ("runtime.wakep", Some(WaitKind::Mutex)));
    }

    /// As recorded of OpenJDK 17.0.15.
    #[test]
    fn waits_of_java_are_those_of_the_virtual_machine_or_of_named_java_code() {
        let park = ["pthread_cond_wait@libc.so.6", "os::PlatformEvent::park()@libjvm.so"];
        let monitor = [
            "ObjectMonitor::EnterI(JavaThread*)@libjvm.so",
            "ObjectMonitor::enter(JavaThread*)@libjvm.so",
            "ObjectSynchronizer::enter(Handle, BasicLock*, JavaThread*)@libjvm.so",
            "SharedRuntime::complete_monitor_locking_C(oopDesc*, BasicLock*, JavaThread*)@libjvm.so",
        ];
        let enter = |caller| whole(&[&park[..], &monitor, &[caller]].concat());
        assert_eq!(enter("void Sync.update()@//anon"), ("void Sync.update()", Some(WaitKind::Mutex)));
        let last = monitor[3].split_once('@').map_or(monitor[3], |(function, _)| function);
        assert_eq!(enter("[anon]@//anon"), (last, Some(WaitKind::Mutex)));
        let lock = ["Parker::park(bool, long)@libjvm.so", "Unsafe_Park@libjvm.so", "[anon]@//anon"];
        assert_eq!(whole(&lock), ("Unsafe_Park", Some(WaitKind::Park)));
        let park = ["Parker::park(bool, long)@libjvm.so", "Unsafe_Park@libjvm.so"];
        let glue = [
            "void jdk.internal.misc.Unsafe.park(boolean, long)@//anon",
            "void java.util.concurrent.locks.LockSupport.park(java.lang.Object)@//anon",
            "Interpreter@//anon",
        ];
        let program = ["long Sync.update()@//anon", "Interpreter@//anon"];
        let all = [&park[..], &glue, &program].concat();
        assert_eq!(whole(&all), ("long Sync.update()", Some(WaitKind::Park)));
        let stub = "monitorenter_nofpu Runtime1 stub@//anon";
        let all = [&monitor[1..], &[stub], &program].concat();
        assert_eq!(whole(&all), ("long Sync.update()", Some(WaitKind::Mutex)));
        // No method of the program has a name.
        let start =
            ["StubRoutines (1)@//anon", "JavaCalls::call_helper(JavaValue*, methodHandle const&)@libjvm.so"];
        let all = [&park[..], &glue, &start].concat();
        let method = "void jdk.internal.misc.Unsafe.park(boolean, long)";
        assert_eq!(whole(&all), (method, Some(WaitKind::Park)));
        assert_eq!(whole(&[&park[..], &glue[2..], &start].concat()), ("Unsafe_Park", Some(WaitKind::Park)));
        let wait = "os::PlatformMonitor::wait(long)@libjvm.so";
        let idle = [wait, "Monitor::wait(long)@libjvm.so", "CompileQueue::get()@libjvm.so"];
        assert_eq!(whole(&idle), ("CompileQueue::get()", Some(WaitKind::Jvm)));
        let collection = [
            wait,
            "Monitor::wait(long)@libjvm.so",
            "VMThread::wait_until_executed(VM_Operation*)@libjvm.so",
            "VMThread::execute(VM_Operation*)@libjvm.so",
            "G1CollectedHeap::attempt_allocation_slow(unsigned long)@libjvm.so",
            "[anon]@//anon",
        ];
        let allocation = "G1CollectedHeap::attempt_allocation_slow(unsigned long)";
        assert_eq!(whole(&collection), (allocation, Some(WaitKind::Jvm)));
        let safepoint =
            ["LinuxWaitBarrier::wait(int)@libjvm.so", "SafepointSynchronize::block(JavaThread*)@libjvm.so"];
        assert_eq!(whole(&safepoint), ("SafepointSynchronize::block(JavaThread*)", Some(WaitKind::Jvm)));
        // A stripped file.
        assert_eq!(
            whole(&["pthread_cond_wait@libc.so.6", "libjvm.so+0x8000@libjvm.so"]).1,
            Some(WaitKind::Jvm)
        );
    }

    /// As recorded of LLVM 14, Open MPI 4.1.4, jemalloc 5.3.0 and gperftools 2.10.
    #[test]
    fn waits_in_a_called_file_are_those_of_its_callers_or_of_an_idle_thread() {
        let thread = ["start_thread@libc.so.6", "clone3@libc.so.6"];
        let in_pool = ["pthread_cond_wait@libc.so.6", "libomp.so.5+0xb15c0@libomp.so.5"];
        let pool = [&in_pool[..], &["libomp.so.5+0xaf6e0@libomp.so.5"], &thread].concat();
        assert_eq!(whole(&pool), ("libomp.so.5+0xb15c0", Some(WaitKind::OpenMp)));
        let barrier = [
            "epoll_wait@libc.so.6",
            "event_base_loop@libevent_core-2.1.so.7.0.1",
            "opal_progress@libopen-pal.so.40.30.2",
            "mca_pml_ob1.so+0x1000@mca_pml_ob1.so",
            "MPI_Barrier@libmpi.so.40.30.4",
            "step",
        ];
        assert_eq!(whole(&barrier), ("step", Some(WaitKind::Mpi)));
        let progress =
            ["event_base_loop@libevent_core-2.1.so.7.0.1", "libpmix.so.2.6.2+0xa9890@libpmix.so.2"];
        let progress = [&progress[..], &thread].concat();
        assert_eq!(whole(&progress), ("libpmix.so.2.6.2+0xa9890", Some(WaitKind::Mpi)));
        let je = ["pthread_mutex_lock@libc.so.6", "libjemalloc.so.2+0x922c0@libjemalloc.so.2", "churn"];
        assert_eq!(whole(&je), ("churn", Some(WaitKind::Allocator)));
        let tc = ["syscall@libc.so.6", "SpinLock::SlowLock()@libtcmalloc_minimal.so.4.5.10", "churn"];
        assert_eq!(whole(&tc), ("churn", Some(WaitKind::Allocator)));
        // The innermost runtime counts.
        let both = ["__libc_malloc@libc.so.6", "MPI_Init@libmpi.so.40.30.4", "main"];
        assert_eq!(whole(&both), ("main", Some(WaitKind::Allocator)));
    }

    /// As recorded of static programs of gcc 12 with glibc 2.36.
    #[test]
    fn static_programs_have_the_libraries_in_their_own_file() {
        let body =
            "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > >::_M_run()";
        let start = ["execute_native_thread_routine", "start_thread", "clone3"];
        let wait = ["__futex_abstimed_wait_common", "__pthread_cond_wait"];
        let thread = [&wait[..], &[body], &start].concat();
        assert_eq!(whole(&thread), (body, Some(WaitKind::ConditionVariable)));
        let join = ["__pthread_clockjoin_ex", "std::thread::join()", "main"];
        assert_eq!(whole(&join), ("main", Some(WaitKind::Join)));
    }

    #[test]
    fn a_stack_that_ends_inside_a_library_has_no_place() {
        assert_eq!(place(&["pthread_cond_wait@libc.so.6"], StackEnd::MissingMemory), None);
        let whole_library = ["pthread_cond_wait@libc.so.6", "start_thread@libc.so.6"];
        assert_eq!(whole(&whole_library), ("pthread_cond_wait", Some(WaitKind::ConditionVariable)));
        assert_eq!(place(&[], StackEnd::Outermost), None);
    }
}
