//! The header against the library: sizes, bytes, names, and acceptance by other compilers.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::mem::{MaybeUninit, align_of, size_of};
use std::time::Duration;
use std::{io, thread};

use morecores_locks_c::*;
use morecores_testkit::{TestGroup, report_skip, skips_group};

use crate::build::{all_output, build, compiler, crate_file, is_installed, libraries, run, succeed};

/// Expected line of `layout.c`, from the bytes that `init` writes over bytes that differ from those
/// of a free lock.
fn layout_line<T>(name: &str, init: extern "C-unwind" fn(&mut MaybeUninit<T>)) -> String {
    let mut lock = MaybeUninit::<T>::uninit();
    #[allow(unsafe_code)]
    // SAFETY: the bytes belong to `lock`, and uninitialised memory accepts any bytes.
    unsafe {
        lock.as_mut_ptr().cast::<u8>().write_bytes(0xa5, size_of::<T>());
    }
    init(&mut lock);
    let mut line = format!("{name} {} {} ", size_of::<T>(), align_of::<T>());
    for index in 0..size_of::<T>() {
        #[allow(unsafe_code)]
        // SAFETY: the byte is within `lock`, all of whose bytes were written above: a lock is words
        // without padding in between.
        let byte = unsafe { lock.as_ptr().cast::<u8>().add(index).read() };
        write!(line, "{byte:02x}").expect("text grows");
    }
    line + "\n"
}

#[test]
fn locks_of_the_header_have_the_size_of_the_library() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("layout");
    build(&crate_file("tests/c/layout.c"), &[], &program);
    let header = succeed(&mut std::process::Command::new(program));
    let library = layout_line("lock", morecores_lock_init) + &layout_line("rwlock", morecores_rwlock_init);
    assert_eq!(header, library);
    // Programs are built with this layout. A change must raise the number in build.rs.
    let zeros = "00".repeat(16);
    let bytes = if cfg!(target_endian = "little") { "ffff0000" } else { "0000ffff" };
    assert_eq!(library, format!("lock 20 4 {zeros}{bytes}\nrwlock 24 4 {zeros}{bytes}00000000\n"));
}

#[test]
fn the_library_has_what_the_header_declares_and_nothing_else() {
    if !is_installed("nm") {
        return report_skip("the_library_has_what_the_header_declares_and_nothing_else", "there is no nm");
    }
    let mut nm = std::process::Command::new("nm");
    nm.args(["-D", "--defined-only"]).arg(libraries().join("libmorecores_locks_c.so"));
    let symbols = succeed(&mut nm);
    let exported = symbols.lines().filter_map(|line| line.split(' ').nth(2)).collect::<BTreeSet<_>>();
    let header = fs::read_to_string(crate_file("include/morecores_locks.h")).expect("the header");
    // Each declaration has a line of its own.
    let declared = header
        .lines()
        .filter(|line| line.ends_with(");") && !line.starts_with([' ', '#']))
        .filter_map(|line| line.split('(').next()?.rsplit([' ', '*']).next())
        .collect::<BTreeSet<_>>();
    assert_eq!(exported, declared);
}

#[test]
fn every_call_that_takes_or_frees_has_its_checked_form() {
    let header = fs::read_to_string(crate_file("include/morecores_locks_check.h")).expect("the header");
    for call in ["lock_lock", "lock_trylock", "lock_unlock"]
        .into_iter()
        .chain(["rwlock_rdlock", "rwlock_tryrdlock", "rwlock_rdunlock"])
        .chain(["rwlock_wrlock", "rwlock_trywrlock", "rwlock_wrunlock"])
    {
        let replaced = format!("#define morecores_{call} morecores_check_{call}\n");
        assert!(header.contains(&replaced), "{replaced}");
    }
}

#[test]
fn the_header_compiles_as_cpp() {
    const NAME: &str = "the_header_compiles_as_cpp";
    if skips_group(NAME, TestGroup::CLibrary) {
        return;
    }
    let source = "#include \"morecores_locks.h\"\n\
                  static morecores_lock_t lock = MORECORES_LOCK_INIT;\n\
                  static morecores_rwlock_t rwlock = MORECORES_RWLOCK_INIT;\n\
                  int main() { morecores_lock_lock(&lock); morecores_rwlock_wrlock(&rwlock); }\n";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("use.cpp");
    fs::write(&path, source).expect("a file");
    let compilers = ["g++", "clang++"].into_iter().filter(|name| is_installed(name)).collect::<Vec<_>>();
    if compilers.is_empty() {
        return report_skip(NAME, &TestGroup::CLibrary.missing_program("g++"));
    }
    for name in compilers {
        let mut syntax = compiler(name, "c++11");
        let output = run(syntax.args(["-fsyntax-only", "-x", "c++"]).arg(&path));
        assert!(output.status.success(), "{name}: {}", all_output(&output));
    }
}

/// A free lock, initialised as in C programs.
#[allow(unsafe_code)]
fn new_lock<T>(init: extern "C-unwind" fn(&mut MaybeUninit<T>)) -> T {
    let mut lock = MaybeUninit::uninit();
    init(&mut lock);
    // SAFETY: the line above initialised the lock.
    unsafe { lock.assume_init() }
}

#[test]
fn a_try_returns_0_or_busy() {
    let lock = new_lock(morecores_lock_init);
    assert_eq!((morecores_lock_is_locked(&lock), morecores_lock_trylock(&lock)), (false, 0));
    assert_eq!((morecores_lock_is_locked(&lock), morecores_lock_trylock(&lock)), (true, libc::EBUSY));

    let (readers, writer) = (new_lock(morecores_rwlock_init), new_lock(morecores_rwlock_init));
    assert!(!morecores_rwlock_is_locked(&readers));
    assert_eq!(morecores_rwlock_tryrdlock(&readers), 0);
    assert_eq!(morecores_rwlock_tryrdlock(&readers), 0);
    assert_eq!(morecores_rwlock_trywrlock(&readers), libc::EBUSY);
    assert_eq!(morecores_rwlock_trywrlock(&writer), 0);
    assert_eq!(morecores_rwlock_tryrdlock(&writer), libc::EBUSY);
    assert_eq!(morecores_rwlock_trywrlock(&writer), libc::EBUSY);
    assert!(morecores_rwlock_is_locked(&readers) && morecores_rwlock_is_locked(&writer));
}

#[test]
fn waiting_leaves_errno_alone() {
    let lock = &new_lock(morecores_lock_init);
    morecores_lock_lock(lock);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            set_errno(libc::EXDEV);
            morecores_lock_lock(lock);
            io::Error::last_os_error().raw_os_error()
        });
        // The pause exceeds a single sleep of a waiter, which ends with ETIMEDOUT.
        thread::sleep(Duration::from_millis(50));
        unlock(lock);
        assert_eq!(waiter.join().expect("a thread"), Some(libc::EXDEV));
    });
    unlock(lock);
    assert!(!morecores_lock_is_locked(lock));
}

#[allow(unsafe_code)]
fn set_errno(errno: i32) {
    // SAFETY: the address is that of this thread's errno.
    unsafe {
        *libc::__errno_location() = errno;
    }
}

#[allow(unsafe_code)]
fn unlock(lock: &morecores_locks::RawAdaptive) {
    // SAFETY: the callers own the lock: this thread took it, or the thread that took it has ended.
    unsafe {
        morecores_lock_unlock(lock);
    }
}
