//! What waiting costs on this machine: a sleep and a wake-up, and one look of a spinner; from both, how many looks a spin may
//! take.
//!
//! Spinning for as long as a sleep and a wake-up cost, and only then sleeping, costs at most twice what knowing the wait beforehand
//! would (Karlin, Manasse, McGeoch, Owicki, "Competitive randomized algorithms for nonuniform problems", 1990).
//!
//! No lock starts a thread. The first thread that would spin times a look; for a sleep and a wake-up it takes
//! [`DEFAULT_SLEEP_NS`]. [`prepare`] measures them: two threads on two CPUs pass a ball [`THROWS`] times, which takes about half a
//! millisecond. All signals are blocked in both threads, so that no handler of the program runs in them.
//!
//! It must not know any lock.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::primitive::{AtomicBool, AtomicU32, Word, now_ns, pause};

/// How often the ball goes there and back, besides the first time, which includes the start of the thread.
pub const THROWS: usize = 15;

/// Bounds on what a sleep and a wake-up are taken to cost. Linux needs about a microsecond for two system calls and a switch on the
/// fastest machines; above the upper bound it was the machine that was busy, or an idle CPU in a deep state, which spinning
/// does not wake.
const LEAST_SLEEP_NS: u64 = 1_000;
const MOST_SLEEP_NS: u64 = 50_000;

/// Price of a sleep and a wake-up where it was not measured, in nanoseconds. Origin: the lock `block` hands over in 14.3 µs, the median
/// of 11 rounds of `studies/2026-11-25-locks` (2 CPUs, KVM); `std` there takes 14.4 µs, the normal pthread mutex 13.4 µs.
pub const DEFAULT_SLEEP_NS: u64 = 14_000;

/// Looks that are timed together, and how often: the fastest counts, since nothing makes a pause faster than it is.
const LOOKS: u32 = 256;
const TIMINGS: usize = 5;

/// The most looks that a lock can remember, which keeps them in 16 bits.
const MOST_SPINS: u64 = u16::MAX as u64;

/// What waiting costs, and what follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// CPUs that this process may use.
    pub cpus: u32,
    /// Each sleep and wake-up that was timed: half of the ball's way there and back, in nanoseconds, in the order made. Zeros where no
    /// thread could be started.
    pub sleeps_ns: [u64; THROWS],
    /// Their median, in nanoseconds; [`DEFAULT_SLEEP_NS`] where there is none.
    pub sleep_ns: u64,
    /// One look of a spinner and the pause after it, in picoseconds.
    pub look_ps: u64,
    /// How many looks a spin may take; 0 where there is one CPU.
    pub spins: u32,
}

/// Looks that a spin may take, plus one; 0 before the first wait that lasts and before [`prepare`].
static SPINS: AtomicU32 = AtomicU32::new(0);
/// Whether [`prepare`] was called.
static PREPARED: AtomicBool = AtomicBool::new(false);
static CPUS: AtomicU32 = AtomicU32::new(0);

/// Measures the price of a sleep and a wake-up, once per process: the first call starts and joins two threads, with all signals
/// blocked, for about half a millisecond. Any other call returns at once, also while the first still measures.
///
/// Without it the locks take [`DEFAULT_SLEEP_NS`], and start no thread. So do they where no thread can be started or only one CPU may
/// be used, which is no error.
pub fn prepare() {
    if !PREPARED.swap(true, Relaxed) {
        SPINS.store(measure().spins + 1, Relaxed);
    }
}

/// How many looks a spin may take here. The first call times a look; a thread that comes meanwhile does not spin.
pub(crate) fn spins() -> u32 {
    match SPINS.load(Relaxed) {
        0 => first_spins(),
        known => known - 1,
    }
}

#[cold]
fn first_spins() -> u32 {
    if SPINS.compare_exchange(0, 1, Relaxed, Relaxed).is_err() {
        return 0;
    }
    let spins = spins_within(DEFAULT_SLEEP_NS, look_ps(), cpus());
    // Unless a thread that prepares was faster: it knows better.
    let _ = SPINS.compare_exchange(1, spins + 1, Relaxed, Relaxed);
    spins
}

/// Looks that take as long as a sleep and a wake-up; 0 on one CPU.
fn spins_within(sleep_ns: u64, look_ps: u64, cpus: u32) -> u32 {
    if cpus > 1 { (sleep_ns * 1_000 / look_ps).clamp(1, MOST_SPINS) as u32 } else { 0 }
}

/// How many CPUs this process may use: asked once. A thread that is pinned to one has others beside it, so its own CPUs and those of the
/// process's first thread count together.
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

/// Measures what waiting costs here, now.
pub fn measure() -> Tuning {
    let cpus = cpus();
    let sleeps_ns = sleeps().unwrap_or([0; THROWS]);
    let mut sorted = sleeps_ns;
    sorted.sort_unstable();
    let sleep_ns = match sorted[THROWS / 2] {
        0 => DEFAULT_SLEEP_NS,
        median => median.clamp(LEAST_SLEEP_NS, MOST_SLEEP_NS),
    };
    let look_ps = look_ps();
    Tuning { cpus, sleeps_ns, sleep_ns, look_ps, spins: spins_within(sleep_ns, look_ps, cpus) }
}

/// One look as a spinner does it, in picoseconds.
fn look_ps() -> u64 {
    let word = Word::new(1);
    let timing = |_| {
        let begin = now_ns();
        for _ in 0..LOOKS {
            core::hint::black_box(&word).load(Relaxed);
            pause();
        }
        (now_ns() - begin) * 1_000 / u64::from(LOOKS)
    };
    (0..TIMINGS).map(timing).min().unwrap_or(0).max(1)
}

/// Where the ball is thrown.
struct Court {
    ball: Word,
    /// The thrower's ways there and back; its alone until it has been joined.
    times: UnsafeCell<[u64; THROWS]>,
    /// The CPUs of the two players.
    cpus: [u32; 2],
}

/// Whose the ball is.
const THROWERS: u32 = 0;
const CATCHERS: u32 = 1;

/// The ball's ways there and back; none where there are no two CPUs for it, or no two threads. Each player has a CPU of its own: threads
/// that take turns on one wait for no wake-up of another, and that is where a busy kernel puts those that wake each other.
fn sleeps() -> Option<[u64; THROWS]> {
    let court =
        Court { ball: Word::new(THROWERS), times: UnsafeCell::new([0; THROWS]), cpus: two_of(allowed())? };
    // A new thread has its creator's mask. A handler of the program must not run in one that the program did not make.
    let mask = block_signals();
    let catcher = start(catches, &court);
    let thrower = catcher.and_then(|_| start(throws, &court));
    restore_signals(&mask);
    let catcher = catcher?;
    if thrower.is_none() {
        // The other plays its part with this thread.
        play(&court, |_| {});
    }
    for thread in [Some(catcher), thrower].into_iter().flatten() {
        #[allow(unsafe_code)]
        // SAFETY: the thread was started above and is joined once.
        unsafe {
            libc::pthread_join(thread, ptr::null_mut());
        }
    }
    thrower.map(|_| court.times.into_inner())
}

/// Blocks all signals in this thread, and returns the mask from before.
fn block_signals() -> libc::sigset_t {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    #[allow(unsafe_code)]
    // SAFETY: both are locals of the type; the first call fills `all` in, the second reads it and fills `before` in. Neither can fail:
    // the only error is an unknown way to change the mask.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    }
}

/// Gives this thread the mask of [`block_signals`] back.
fn restore_signals(mask: &libc::sigset_t) {
    #[allow(unsafe_code)]
    // SAFETY: the mask is only read; the present one is not asked for.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, mask, ptr::null_mut());
    }
}

/// Starts a thread with what it is to do.
fn start(player: extern "C" fn(*mut c_void) -> *mut c_void, court: &Court) -> Option<libc::pthread_t> {
    let mut thread = 0;
    #[allow(unsafe_code)]
    // SAFETY: `thread` is a local; the attributes are the default ones; the function has the type that is asked for and uses its argument
    // as the `Court` that it is, which outlives the thread, since `sleeps` joins it.
    let error = unsafe {
        libc::pthread_create(&raw mut thread, ptr::null(), player, ptr::from_ref(court).cast_mut().cast())
    };
    (error == 0).then_some(thread)
}

/// Throws the ball and sleeps until it comes back, so many times and once more, and hands on how long each took.
fn play(court: &Court, mut took: impl FnMut(u64)) {
    for _ in 0..=THROWS {
        let begin = now_ns();
        pass(&court.ball, CATCHERS);
        await_ball(&court.ball, THROWERS);
        took(now_ns() - begin);
    }
}

extern "C" fn throws(court: *mut c_void) -> *mut c_void {
    #[allow(unsafe_code)]
    // SAFETY: it is the `Court` that `sleeps` passes, which lives until this thread has been joined.
    let court = unsafe { &*court.cast::<Court>() };
    move_to(court.cpus[0]);
    let (mut times, mut throw) = ([0; THROWS], 0_usize);
    play(court, |time| {
        // The first is with the start of the other thread.
        if let Some(ended) = throw.checked_sub(1).and_then(|index| times.get_mut(index)) {
            *ended = time / 2;
        }
        throw += 1;
    });
    #[allow(unsafe_code)]
    // SAFETY: nobody else looks at it before this thread has been joined.
    unsafe {
        *court.times.get() = times;
    }
    ptr::null_mut()
}

extern "C" fn catches(court: *mut c_void) -> *mut c_void {
    #[allow(unsafe_code)]
    // SAFETY: it is the `Court` that `sleeps` passes, which lives until this thread has been joined.
    let court = unsafe { &*court.cast::<Court>() };
    move_to(court.cpus[1]);
    for _ in 0..=THROWS {
        await_ball(&court.ball, CATCHERS);
        pass(&court.ball, THROWERS);
    }
    ptr::null_mut()
}

/// Keeps this thread on one CPU.
fn move_to(cpu: u32) {
    let mut mask = [0_u64; MASK_WORDS];
    // No index that could panic here or above: with a panic all of `std` would be linked into C programs.
    if let Some(word) = mask.get_mut((cpu / u64::BITS) as usize) {
        *word = 1_u64 << (cpu % u64::BITS);
    }
    #[allow(unsafe_code)]
    // SAFETY: the kernel reads the given number of bytes of `mask`, which is a local of that size.
    unsafe {
        libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&mask), mask.as_ptr());
    }
}

fn pass(ball: &Word, to: u32) {
    ball.store(to, Release);
    Word::wake_one(ball);
}

fn await_ball(ball: &Word, whose: u32) {
    loop {
        let now = ball.load(Acquire);
        if now == whose {
            return;
        }
        ball.sleep_while(now, None);
    }
}

/// Words of a mask of CPUs: `NR_CPUS` of Linux is at most 8192 (`arch/x86/Kconfig`).
const MASK_WORDS: usize = 8192 / u64::BITS as usize;

fn count_cpus() -> u32 {
    allowed().iter().map(|word| word.count_ones()).sum::<u32>().max(1)
}

/// The CPUs that this thread or the process's first may use.
fn allowed() -> [u64; MASK_WORDS] {
    #[allow(unsafe_code)]
    // SAFETY: the function has no precondition.
    let process = unsafe { libc::getpid() };
    let (mut both, first) = (mask(0), mask(process));
    both.iter_mut().zip(first).for_each(|(word, first)| *word |= first);
    both
}

/// The first two CPUs of a mask.
fn two_of(mask: [u64; MASK_WORDS]) -> Option<[u32; 2]> {
    let has = |cpu: &u32| mask[(cpu / u64::BITS) as usize] >> (cpu % u64::BITS) & 1 == 1;
    let mut cpus = (0..MASK_WORDS as u32 * u64::BITS).filter(has);
    Some([cpus.next()?, cpus.next()?])
}

/// The CPUs of a thread, 0 for this one; none where the kernel does not tell.
fn mask(thread: libc::pid_t) -> [u64; MASK_WORDS] {
    let mut mask = [0; MASK_WORDS];
    #[allow(unsafe_code)]
    // SAFETY: the kernel writes at most the given number of bytes to `mask`, which is a local of that size.
    unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, thread, size_of_val(&mask), mask.as_mut_ptr());
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_as_many_as_fit_into_a_sleep() {
        let tuning = measure();
        assert!((LEAST_SLEEP_NS..=MOST_SLEEP_NS).contains(&tuning.sleep_ns), "{tuning:?}");
        let fit = (tuning.sleep_ns * 1_000 / tuning.look_ps).clamp(1, MOST_SPINS);
        assert_eq!(u64::from(tuning.spins), if tuning.cpus > 1 { fit } else { 0 }, "{tuning:?}");
        // 14 µs and 20 ns.
        assert_eq!(spins_within(DEFAULT_SLEEP_NS, 20_000, 2), 700);
        assert_eq!(spins_within(DEFAULT_SLEEP_NS, 20_000, 1), 0, "nobody frees the lock meanwhile");
        assert_eq!(spins_within(MOST_SLEEP_NS, 1, 2), u32::from(u16::MAX), "what a lock can remember");
        assert_eq!(spins_within(LEAST_SLEEP_NS, 5_000_000, 2), 1);
    }

    #[test]
    fn the_cpus_are_those_of_the_standard_library() {
        let known = std::thread::available_parallelism().map_or(1, usize::from);
        // That one also knows of CPU quotas, which are no reason not to spin.
        assert!(cpus() as usize >= known);
    }
}
