//! Cost of waiting on this machine: a sleep and a wake-up, and one look of a spinner. The two
//! determine the number of looks in a spin.
//!
//! Spinning for the cost of a sleep and a wake-up before sleeping is 2-competitive: it costs at
//! most twice as much as a choice with prior knowledge of the wait (Karlin, Manasse, McGeoch,
//! Owicki, "Competitive randomized algorithms for nonuniform problems", 1990).
//!
//! No lock starts a thread. The first thread that would spin times a look. For a sleep and a
//! wake-up it assumes [`DEFAULT_SLEEP_NS`]. [`prepare`] measures them: two threads on two CPUs wake
//! each other [`ROUND_TRIPS`] times, which takes about half a millisecond. All signals are blocked
//! in both threads, so that no handler of the program runs in them.
//!
//! This module must not know any lock.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::primitive::{AtomicBool, AtomicU32, FutexWord, now_ns, pause};

/// Number of timed round trips, besides the first one, which includes the start of the thread.
pub const ROUND_TRIPS: usize = 15;

/// Bounds of the assumed cost of a sleep and a wake-up. Linux needs about a microsecond for two
/// system calls and a switch on the fastest machines. A cost above the upper bound comes from a
/// busy machine, or from an idle CPU in a deep state, which spinning does not wake.
const MIN_SLEEP_NS: u64 = 1_000;
const MAX_SLEEP_NS: u64 = 50_000;

/// Cost of a sleep and a wake-up if it was not measured, in nanoseconds. Origin: the lock `block`
/// hands over in 14.3 µs, the median of 11 rounds of `studies/2026-11-25-locks` (2 CPUs, KVM);
/// `std` there takes 14.4 µs, the normal pthread mutex 13.4 µs.
pub const DEFAULT_SLEEP_NS: u64 = 14_000;

/// Looks that are timed together, and number of timings. The fastest counts, since nothing makes a
/// pause faster than it is.
const LOOKS_PER_TIMING: u32 = 256;
const TIMINGS: usize = 5;

/// Largest number of looks that a lock can store, in 16 bits.
const MAX_SPIN_LIMIT: u64 = u16::MAX as u64;

/// Cost of waiting, and the resulting spin limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// CPUs that this process may use.
    pub cpus: u32,
    /// Timed sleeps and wake-ups: half of each round trip, in nanoseconds, in order.
    /// Zeros if no thread could be started.
    pub sleeps_ns: [u64; ROUND_TRIPS],
    /// Median of `sleeps_ns`, in nanoseconds; [`DEFAULT_SLEEP_NS`] if there is none.
    pub sleep_ns: u64,
    /// One look of a spinner and the pause after it, in picoseconds.
    pub look_ps: u64,
    /// Maximum number of looks in a spin; 0 with one CPU.
    pub spin_limit: u32,
}

/// Maximum number of looks in a spin, plus one; 0 before the first long wait and before
/// [`prepare`].
static SPIN_LIMIT: AtomicU32 = AtomicU32::new(0);
/// Whether [`prepare`] was called.
static PREPARED: AtomicBool = AtomicBool::new(false);
static CPUS: AtomicU32 = AtomicU32::new(0);

/// Measures the cost of a sleep and a wake-up, once per process. The first call starts and joins
/// two threads, with all signals blocked, for about half a millisecond. Any other call returns at
/// once, even while the first one still measures.
///
/// Without this call the locks assume [`DEFAULT_SLEEP_NS`] and start no thread. The locks also
/// assume it if no thread can be started or if only one CPU may be used, which is not an error.
pub fn prepare() {
    if !PREPARED.swap(true, Relaxed) {
        SPIN_LIMIT.store(measure().spin_limit + 1, Relaxed);
    }
}

/// Maximum number of looks in a spin on this machine. The first call times a look; a thread that
/// calls at that time does not spin.
pub(crate) fn spin_limit() -> u32 {
    match SPIN_LIMIT.load(Relaxed) {
        0 => set_first_spin_limit(),
        known => known - 1,
    }
}

#[cold]
fn set_first_spin_limit() -> u32 {
    if SPIN_LIMIT.compare_exchange(0, 1, Relaxed, Relaxed).is_err() {
        return 0;
    }
    let spin_limit = spin_limit_for(DEFAULT_SLEEP_NS, look_ps(), cpus());
    // The value of a thread that has called `prepare` in between is more accurate and stays.
    let _ = SPIN_LIMIT.compare_exchange(1, spin_limit + 1, Relaxed, Relaxed);
    spin_limit
}

/// Number of looks that take as long as a sleep and a wake-up; 0 on one CPU.
fn spin_limit_for(sleep_ns: u64, look_ps: u64, cpus: u32) -> u32 {
    if cpus > 1 { (sleep_ns * 1_000 / look_ps).clamp(1, MAX_SPIN_LIMIT) as u32 } else { 0 }
}

/// Number of CPUs that this process may use, determined once. A thread that is pinned to one CPU
/// still runs next to other threads. The result therefore combines the calling thread's CPUs with
/// those of the process's first thread.
pub(crate) fn cpus() -> u32 {
    match CPUS.load(Relaxed) {
        0 => {
            let cpus = count_cpus();
            CPUS.store(cpus, Relaxed);
            cpus
        }
        known => known,
    }
}

/// Measures the current cost of waiting on this machine.
pub fn measure() -> Tuning {
    let cpus = cpus();
    let sleeps_ns = measure_sleeps().unwrap_or([0; ROUND_TRIPS]);
    // The median: the library knows no other crate of morecores.
    let mut sorted = sleeps_ns;
    sorted.sort_unstable();
    let sleep_ns = match sorted[ROUND_TRIPS / 2] {
        0 => DEFAULT_SLEEP_NS,
        median => median.clamp(MIN_SLEEP_NS, MAX_SLEEP_NS),
    };
    let look_ps = look_ps();
    Tuning { cpus, sleeps_ns, sleep_ns, look_ps, spin_limit: spin_limit_for(sleep_ns, look_ps, cpus) }
}

/// Duration of one look of a spinner, in picoseconds.
fn look_ps() -> u64 {
    let word = FutexWord::new(1);
    let timing = |_| {
        let begin = now_ns();
        for _ in 0..LOOKS_PER_TIMING {
            core::hint::black_box(&word).load(Relaxed);
            pause();
        }
        (now_ns() - begin) * 1_000 / u64::from(LOOKS_PER_TIMING)
    };
    (0..TIMINGS).map(timing).min().unwrap_or(0).max(1)
}

/// Shared state of the two measuring threads.
struct PingPong {
    /// Thread that runs next: `PING` or `PONG`.
    turn: FutexWord,
    /// Times from the ping thread, which alone accesses them until it has been joined.
    times: UnsafeCell<[u64; ROUND_TRIPS]>,
    /// CPUs of the two threads.
    cpus: [u32; 2],
}

/// Values of `turn`.
const PING: u32 = 0;
const PONG: u32 = 1;

/// Times of a sleep and a wake-up; `None` without two CPUs or two threads. Each thread has its own
/// CPU. Threads that alternate on one CPU do not wait for a wake-up on another one. A busy kernel
/// would put two such threads on one CPU.
fn measure_sleeps() -> Option<[u64; ROUND_TRIPS]> {
    let ping_pong = PingPong {
        turn: FutexWord::new(PING),
        times: UnsafeCell::new([0; ROUND_TRIPS]),
        cpus: first_two_cpus(allowed_cpus())?,
    };
    // A new thread inherits its creator's mask. A handler of the program must not run in a thread
    // that the program did not make.
    let mask = block_signals();
    let pong = start(pong_thread, &ping_pong);
    let ping = pong.and_then(|_| start(ping_thread, &ping_pong));
    restore_signals(&mask);
    let pong = pong?;
    if ping.is_none() {
        // The pong thread alternates with this thread instead, and then ends.
        run_ping(&ping_pong, |_| {});
    }
    for thread in [Some(pong), ping].into_iter().flatten() {
        #[allow(unsafe_code)]
        // SAFETY: the thread was started above and is joined once.
        unsafe {
            libc::pthread_join(thread, ptr::null_mut());
        }
    }
    ping.map(|_| ping_pong.times.into_inner())
}

/// Blocks all signals in this thread and returns the previous mask.
fn block_signals() -> libc::sigset_t {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    #[allow(unsafe_code)]
    // SAFETY: both are locals of the right type. The first call fills in `all`; the second reads
    // `all` and fills in `before`. Neither can fail: the only error is an unknown way to change the
    // mask.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    }
}

/// Restores this thread's mask from [`block_signals`].
fn restore_signals(mask: &libc::sigset_t) {
    #[allow(unsafe_code)]
    // SAFETY: the mask is only read, and the call does not request the present one.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, mask, ptr::null_mut());
    }
}

/// Starts a thread that runs `entry`.
fn start(entry: extern "C" fn(*mut c_void) -> *mut c_void, ping_pong: &PingPong) -> Option<libc::pthread_t> {
    let mut thread = 0;
    #[allow(unsafe_code)]
    // SAFETY: `thread` is a local, and the attributes are the default ones. The function has the
    // required type and uses its argument as the `PingPong` that it is. The `PingPong` outlives the
    // thread, since `measure_sleeps` joins it.
    let error = unsafe {
        libc::pthread_create(&raw mut thread, ptr::null(), entry, ptr::from_ref(ping_pong).cast_mut().cast())
    };
    (error == 0).then_some(thread)
}

/// Wakes the pong thread and sleeps until it answers, [`ROUND_TRIPS`] times and once more. Passes
/// each duration to `record`.
fn run_ping(ping_pong: &PingPong, mut record: impl FnMut(u64)) {
    for _ in 0..=ROUND_TRIPS {
        let begin = now_ns();
        pass_turn(&ping_pong.turn, PONG);
        wait_for_turn(&ping_pong.turn, PING);
        record(now_ns() - begin);
    }
}

extern "C" fn ping_thread(ping_pong: *mut c_void) -> *mut c_void {
    #[allow(unsafe_code)]
    // SAFETY: the argument is the `PingPong` from `measure_sleeps`, which lives until this thread
    // has been joined.
    let ping_pong = unsafe { &*ping_pong.cast::<PingPong>() };
    pin_to(ping_pong.cpus[0]);
    let (mut times, mut round_trip) = ([0; ROUND_TRIPS], 0_usize);
    run_ping(ping_pong, |time| {
        // The first round trip includes the start of the other thread.
        if let Some(sleep_ns) = round_trip.checked_sub(1).and_then(|index| times.get_mut(index)) {
            *sleep_ns = time / 2;
        }
        round_trip += 1;
    });
    #[allow(unsafe_code)]
    // SAFETY: no other thread reads the times before this thread has been joined.
    unsafe {
        *ping_pong.times.get() = times;
    }
    ptr::null_mut()
}

extern "C" fn pong_thread(ping_pong: *mut c_void) -> *mut c_void {
    #[allow(unsafe_code)]
    // SAFETY: the argument is the `PingPong` from `measure_sleeps`, which lives until this thread
    // has been joined.
    let ping_pong = unsafe { &*ping_pong.cast::<PingPong>() };
    pin_to(ping_pong.cpus[1]);
    for _ in 0..=ROUND_TRIPS {
        wait_for_turn(&ping_pong.turn, PONG);
        pass_turn(&ping_pong.turn, PING);
    }
    ptr::null_mut()
}

/// Pins this thread to one CPU.
fn pin_to(cpu: u32) {
    let mut mask = [0_u64; MASK_WORDS];
    // No indexing here or above may panic: a panic would link all of `std` into C programs.
    if let Some(word) = mask.get_mut((cpu / u64::BITS) as usize) {
        *word = 1_u64 << (cpu % u64::BITS);
    }
    #[allow(unsafe_code)]
    // SAFETY: the kernel reads the given number of bytes of `mask`, which is a local of that size.
    unsafe {
        libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&mask), mask.as_ptr());
    }
}

fn pass_turn(turn: &FutexWord, to: u32) {
    turn.store(to, Release);
    FutexWord::wake_one(turn);
}

fn wait_for_turn(turn: &FutexWord, thread: u32) {
    loop {
        let now = turn.load(Acquire);
        if now == thread {
            return;
        }
        turn.sleep_while(now, None);
    }
}

/// Words of a mask of CPUs: `NR_CPUS` of Linux is at most 8192 (`arch/x86/Kconfig`).
const MASK_WORDS: usize = 8192 / u64::BITS as usize;

fn count_cpus() -> u32 {
    allowed_cpus().iter().map(|word| word.count_ones()).sum::<u32>().max(1)
}

/// CPUs that this thread or the process's first thread may use.
fn allowed_cpus() -> [u64; MASK_WORDS] {
    #[allow(unsafe_code)]
    // SAFETY: the function has no precondition.
    let process = unsafe { libc::getpid() };
    let (mut both, first) = (affinity(0), affinity(process));
    both.iter_mut().zip(first).for_each(|(word, first)| *word |= first);
    both
}

/// The first two CPUs of a mask.
fn first_two_cpus(mask: [u64; MASK_WORDS]) -> Option<[u32; 2]> {
    let has = |cpu: &u32| mask[(cpu / u64::BITS) as usize] >> (cpu % u64::BITS) & 1 == 1;
    let mut cpus = (0..MASK_WORDS as u32 * u64::BITS).filter(has);
    Some([cpus.next()?, cpus.next()?])
}

/// CPUs of a thread, 0 for this one; none if the kernel does not report them.
fn affinity(thread: libc::pid_t) -> [u64; MASK_WORDS] {
    let mut mask = [0; MASK_WORDS];
    #[allow(unsafe_code)]
    // SAFETY: the kernel writes at most the given number of bytes to `mask`, which is a local of
    // that size.
    unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, thread, size_of_val(&mask), mask.as_mut_ptr());
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spin_limit_is_the_number_of_looks_in_a_sleep() {
        let tuning = measure();
        assert!((MIN_SLEEP_NS..=MAX_SLEEP_NS).contains(&tuning.sleep_ns), "{tuning:?}");
        let fit = (tuning.sleep_ns * 1_000 / tuning.look_ps).clamp(1, MAX_SPIN_LIMIT);
        assert_eq!(u64::from(tuning.spin_limit), if tuning.cpus > 1 { fit } else { 0 }, "{tuning:?}");
        // The cost is 14 µs and a look takes 20 ns.
        assert_eq!(spin_limit_for(DEFAULT_SLEEP_NS, 20_000, 2), 700);
        assert_eq!(spin_limit_for(DEFAULT_SLEEP_NS, 20_000, 1), 0, "nobody frees the lock meanwhile");
        assert_eq!(spin_limit_for(MAX_SLEEP_NS, 1, 2), u32::from(u16::MAX), "what a lock can remember");
        assert_eq!(spin_limit_for(MIN_SLEEP_NS, 5_000_000, 2), 1);
    }

    #[test]
    fn the_cpus_are_those_of_the_standard_library() {
        let known = std::thread::available_parallelism().map_or(1, usize::from);
        // The standard library also considers CPU quotas, which are no reason not to spin.
        assert!(cpus() as usize >= known);
    }
}
