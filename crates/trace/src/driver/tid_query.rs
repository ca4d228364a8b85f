//! Number of the calling thread in the first pid namespace, which identifies the thread to the
//! programs.
//!
//! In a container, the thread itself sees another number. Only a BPF program can read this one.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use libbpf_rs::ProgramMut;
use libbpf_rs::libbpf_sys::{bpf_prog_test_run_opts, bpf_test_run_opts};
use morecores_study::trace::Tid;

/// Query for the number of any thread.
#[derive(Debug)]
pub(super) struct TidQuery(OwnedFd);

impl TidQuery {
    /// Creates the query from the program `on_report_tid`.
    pub(super) fn new(program: &ProgramMut<'_>) -> io::Result<Self> {
        program.as_fd().try_clone_to_owned().map(Self)
    }

    /// Number of the calling thread.
    pub(super) fn calling_thread(&self) -> io::Result<Tid> {
        let mut options =
            bpf_test_run_opts { sz: size_of::<bpf_test_run_opts>() as _, ..bpf_test_run_opts::default() };
        // SAFETY: the structure outlives the call, and points to nothing.
        #[allow(unsafe_code)]
        let result = unsafe { bpf_prog_test_run_opts(self.0.as_raw_fd(), &raw mut options) };
        if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(Tid(options.retval)) }
    }
}
