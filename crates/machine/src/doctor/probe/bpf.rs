//! Probe that loads the smallest possible BPF program, and unloads it.

use std::mem::size_of;
use std::os::fd::{FromRawFd, OwnedFd};

use rustix::io::Errno;

/// `BPF_PROG_LOAD` and `BPF_PROG_TYPE_RAW_TRACEPOINT` of `include/uapi/linux/bpf.h`. A raw
/// tracepoint needs the same privilege as the programs of a tracer; a socket filter would need
/// less.
const PROG_LOAD: libc::c_long = 5;
const RAW_TRACEPOINT: u32 = 17;

/// First members of `union bpf_attr` for `BPF_PROG_LOAD`; the kernel treats all members after the
/// given size as zero.
#[repr(C)]
struct Attributes {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
}

/// The program `r0 = 0; exit`, encoded by `Documentation/bpf/standardization/instruction-set.rst`.
/// A move of an immediate value is 0xb7, and exit is 0x95. The other seven bytes are registers,
/// offset and value, all zero.
const PROGRAM: [[u8; 8]; 2] = [[0xb7, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];

/// Whether a tracing program can be loaded.
pub(in crate::doctor) fn load() -> Result<(), Errno> {
    let program = PROGRAM;
    let attributes = Attributes {
        prog_type: RAW_TRACEPOINT,
        insn_cnt: program.len() as u32,
        insns: program.as_ptr() as u64,
        license: c"GPL".as_ptr() as u64,
    };
    // SAFETY: bpf(2) reads the given number of bytes at the pointer, and the two places to which
    // they point; all three outlive the call.
    #[allow(unsafe_code)]
    let fd = unsafe {
        libc::syscall(libc::SYS_bpf, PROG_LOAD, std::ptr::from_ref(&attributes), size_of::<Attributes>())
    };
    match i32::try_from(fd) {
        Ok(fd) if fd >= 0 => {
            // SAFETY: the kernel has just created this descriptor for this process. Dropping it
            // unloads the program.
            #[allow(unsafe_code)]
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
            Ok(())
        }
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}
