//! The locks of the C library, called as a C program calls them, and the loop around a C11
//! `atomic_flag`.
//!
//! No C is compiled. The functions are those of the C library. A Rust atomic stands for C11's flag:
//! both compile to the same instruction.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{pthread_mutex_t, pthread_spinlock_t};

use crate::lock::Lock;

/// Functions of the C library for one kind of lock.
#[allow(unsafe_code)]
pub trait LockFunctions: Default + Sync {
    /// C type of the lock variable.
    type Variable;

    /// Initialises the lock as free.
    ///
    /// # Safety
    /// The variable is not in use yet, and is not moved afterwards.
    unsafe fn init(variable: *mut Self::Variable);

    /// Acquires the lock.
    ///
    /// # Safety
    /// The variable was initialised before, at this place.
    unsafe fn lock(variable: *mut Self::Variable);

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    unsafe fn unlock(variable: *mut Self::Variable);
}

/// A lock of the C library around a number.
#[derive(Debug)]
pub struct CLock<C: LockFunctions> {
    variable: UnsafeCell<MaybeUninit<C::Variable>>,
    number: UnsafeCell<u64>,
}

impl<C: LockFunctions> Default for CLock<C> {
    fn default() -> Self {
        Self { variable: UnsafeCell::new(MaybeUninit::uninit()), number: UnsafeCell::new(0) }
    }
}

// SAFETY: the variable is made for use by several threads, and the number is accessed only under
// the lock.
#[allow(unsafe_code)]
unsafe impl<C: LockFunctions> Sync for CLock<C> {}

impl<C: LockFunctions> Lock for CLock<C> {
    fn initialise(&mut self) {
        // SAFETY: the exclusive borrow excludes other users, and the trait guarantees that the lock
        // stays in place.
        #[allow(unsafe_code)]
        unsafe {
            C::init(self.variable.get().cast());
        }
    }

    #[inline(always)]
    fn with<T>(&self, work: impl FnOnce(&mut u64) -> T) -> T {
        /// Releases the lock at the end of the work, also after a panic.
        struct UnlockOnDrop<C: LockFunctions>(*mut C::Variable);
        impl<C: LockFunctions> Drop for UnlockOnDrop<C> {
            #[inline(always)]
            fn drop(&mut self) {
                // SAFETY: this thread acquired the lock when this value was made.
                #[allow(unsafe_code)]
                unsafe {
                    C::unlock(self.0);
                }
            }
        }
        let variable = self.variable.get().cast();
        // SAFETY: the lock was initialised before its use. The number belongs to this thread until
        // the release, which comes after the work.
        #[allow(unsafe_code)]
        unsafe {
            C::lock(variable);
            let _unlock_on_drop = UnlockOnDrop::<C>(variable);
            work(&mut *self.number.get())
        }
    }
}

/// `pthread_mutex_t` of this kind. None of the calls can fail: the variables are valid, the kinds
/// are known, and a thread that holds the lock does not acquire it again.
macro_rules! pthread_mutex {
    ($about:literal, $name:ident, $functions:ident, $kind:expr) => {
        /// The functions of `pthread_mutex_t`.
        #[derive(Debug, Default)]
        pub struct $functions;

        #[doc = $about]
        pub type $name = CLock<$functions>;

        #[allow(unsafe_code)]
        impl LockFunctions for $functions {
            type Variable = pthread_mutex_t;

            unsafe fn init(variable: *mut pthread_mutex_t) {
                let mut attributes = MaybeUninit::uninit();
                // SAFETY: the attributes are initialised before their use; the caller guarantees
                // the variable.
                unsafe {
                    libc::pthread_mutexattr_init(attributes.as_mut_ptr());
                    libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), $kind);
                    libc::pthread_mutex_init(variable, attributes.as_ptr());
                    libc::pthread_mutexattr_destroy(attributes.as_mut_ptr());
                }
            }

            #[inline(always)]
            unsafe fn lock(variable: *mut pthread_mutex_t) {
                // SAFETY: the caller guarantees the variable.
                unsafe { libc::pthread_mutex_lock(variable) };
            }

            #[inline(always)]
            unsafe fn unlock(variable: *mut pthread_mutex_t) {
                // SAFETY: the caller guarantees the variable.
                unsafe { libc::pthread_mutex_unlock(variable) };
            }
        }
    };
}

pthread_mutex!("Of the default kind.", PthreadNormal, NormalFunctions, libc::PTHREAD_MUTEX_DEFAULT);
pthread_mutex!("That spins before it blocks.", PthreadAdaptive, AdaptiveFunctions, PTHREAD_MUTEX_ADAPTIVE_NP);

/// The kind, from glibc's pthread.h.
const PTHREAD_MUTEX_ADAPTIVE_NP: libc::c_int = 3;

/// The functions of `pthread_spinlock_t`.
#[derive(Debug, Default)]
pub struct SpinFunctions;

/// `pthread_spinlock_t`.
pub type PthreadSpin = CLock<SpinFunctions>;

#[allow(unsafe_code)]
impl LockFunctions for SpinFunctions {
    type Variable = pthread_spinlock_t;

    unsafe fn init(variable: *mut pthread_spinlock_t) {
        // SAFETY: the caller guarantees the variable.
        unsafe { libc::pthread_spin_init(variable, libc::PTHREAD_PROCESS_PRIVATE) };
    }

    #[inline(always)]
    unsafe fn lock(variable: *mut pthread_spinlock_t) {
        // SAFETY: the caller guarantees the variable.
        unsafe { libc::pthread_spin_lock(variable) };
    }

    #[inline(always)]
    unsafe fn unlock(variable: *mut pthread_spinlock_t) {
        // SAFETY: the caller guarantees the variable.
        unsafe { libc::pthread_spin_unlock(variable) };
    }
}

/// `while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire));` and
/// `atomic_flag_clear_explicit(&flag, memory_order_release)`, as books on C11 show them: nothing
/// between two attempts. Test-and-set is an exchange of a byte, in C11 as here.
#[derive(Debug, Default)]
pub struct FlagFunctions;

/// C11 spin lock around a number.
pub type C11Spin = CLock<FlagFunctions>;

#[allow(unsafe_code)]
impl LockFunctions for FlagFunctions {
    type Variable = AtomicBool;

    unsafe fn init(variable: *mut AtomicBool) {
        // SAFETY: the caller guarantees the variable.
        unsafe { variable.write(AtomicBool::new(false)) };
    }

    #[inline(always)]
    unsafe fn lock(variable: *mut AtomicBool) {
        // SAFETY: the caller guarantees the variable and uses it only through atomics.
        let flag = unsafe { &*variable };
        while flag.swap(true, Ordering::Acquire) {}
    }

    #[inline(always)]
    unsafe fn unlock(variable: *mut AtomicBool) {
        // SAFETY: the caller guarantees the variable and uses it only through atomics.
        let flag = unsafe { &*variable };
        flag.store(false, Ordering::Release);
    }
}
