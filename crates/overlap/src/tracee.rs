//! Processes of the build under ptrace: one is made to exit, and one is copied.
//!
//! A process is seized, stopped, changed and let go again within one call of the supervisor. Only a
//! copy stays stopped, until it goes on or is killed. All of this is done by one thread, as ptrace
//! demands.

use std::time::Duration;
use std::{io, ptr, thread};

use libc::{c_int, c_uint, c_void, user_regs_struct};

use crate::process::Process;

/// `ERESTARTSYS`, `ERESTARTNOINTR` and `ERESTARTNOHAND` of the kernel: an interrupted call that
/// begins again.
const RESTART_ERRORS: [i64; 3] = [-512, -513, -514];
/// No call: the kernel then restarts nothing.
const NO_CALL: u64 = u64::MAX;
/// `syscall` of x86-64.
const SYSCALL_INSTRUCTION: [u8; 2] = [0x0f, 0x05];
/// Number of the stop of `PTRACE_INTERRUPT`, above the signal in the status.
const EVENT_STOP: i32 = libc::PTRACE_EVENT_STOP;

/// Memory below the stack pointer that a function may use, and more, in bytes.
const SCRATCH: u64 = 4096;
/// Size of a set of signals of the kernel, in bytes.
const MASK_SIZE: u64 = 8;
/// `struct sigaction` of the kernel.
type KernelAction = [u64; 4];

/// Time between two looks at a process that is about to stop.
const STOP_PAUSE: Duration = Duration::from_micros(10);

/// Whether a process has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Stopped,
    NotYet,
}

/// A stopped process that this thread traces. Dropping it lets the process go on.
#[derive(Debug)]
pub(crate) struct Tracee {
    process: Process,
    is_attached: bool,
}

impl Tracee {
    /// Seizes a process and asks it to stop. It may go on until `wait_for_stop`.
    ///
    /// # Errors
    /// The process is gone, or it is traced or may not be traced.
    pub(crate) fn seize(process: Process) -> io::Result<Self> {
        // A copy is traced from its first instruction, and nothing survives the supervisor.
        let options = libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACESYSGOOD
            | libc::PTRACE_O_EXITKILL;
        request(libc::PTRACE_SEIZE, process, 0, options as u64)?;
        let tracee = Self { process, is_attached: true };
        request(libc::PTRACE_INTERRUPT, process, 0, 0)?;
        Ok(tracee)
    }

    pub(crate) fn process(&self) -> Process {
        self.process
    }

    /// Ends the process.
    pub(crate) fn discard(mut self) {
        self.is_attached = false;
        self.process.kill();
        // The end of a traced process is first the tracer's to see.
        let _ = wait(self.process, 0);
    }

    /// Waits until the process has stopped for `seize`.
    pub(crate) fn wait_for_stop(&self) -> io::Result<()> {
        while self.poll_stop(0)? == Stop::NotYet {}
        Ok(())
    }

    /// Waits until the process has stopped, or has been found in `vfork`, where it cannot stop
    /// before its child has ended.
    pub(crate) fn wait_for_stop_or_vfork(&self) -> io::Result<Stop> {
        loop {
            match self.poll_stop(libc::WNOHANG)? {
                Stop::NotYet if self.process.is_in_vfork() => return Ok(Stop::NotYet),
                Stop::NotYet => thread::sleep(STOP_PAUSE),
                Stop::Stopped => return Ok(Stop::Stopped),
            }
        }
    }

    fn poll_stop(&self, options: c_int) -> io::Result<Stop> {
        let Some(status) = wait(self.process, options)? else { return Ok(Stop::NotYet) };
        if status >> 16 == EVENT_STOP {
            return Ok(Stop::Stopped);
        }
        // A signal came first: the process gets it, and stops afterwards.
        let signal = if status >> 16 == 0 { libc::WSTOPSIG(status) } else { 0 };
        request(libc::PTRACE_CONT, self.process, 0, signal as u64)?;
        Ok(Stop::NotYet)
    }

    /// Changes the first argument of the call in which the process was interrupted, which then
    /// begins again.
    pub(crate) fn set_first_argument(&self, value: u64) -> io::Result<()> {
        self.set_registers(&user_regs_struct { rdi: value, ..restarted(self.registers()?) })
    }

    /// Lets the stopped process end with the status of another, as `wait4` returns it, instead of
    /// its call. Its own handlers of signals do not run any more.
    pub(crate) fn end_like(self, status: i32, instruction: u64) -> io::Result<()> {
        let signal = if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 };
        // Its stack is needed no more.
        let address = (self.registers()?.rsp - SCRATCH) & !15;
        self.process.write(address, &[0; size_of::<KernelAction>()])?;
        if signal == libc::SIGKILL {
            self.discard();
            return Ok(());
        }
        if signal != 0 {
            self.call(instruction, libc::SYS_rt_sigaction, [signal as u64, address, 0, MASK_SIZE])?;
        }
        let blocked = if signal == 0 { u64::MAX } else { !(1 << (signal - 1)) };
        self.process.write(address, &blocked.to_ne_bytes())?;
        let mask = [libc::SIG_SETMASK as u64, address, 0, MASK_SIZE];
        self.call(instruction, libc::SYS_rt_sigprocmask, mask)?;
        if signal == 0 {
            return self.exit(libc::WEXITSTATUS(status), instruction);
        }
        self.process.signal_number(signal);
        Ok(())
    }

    /// Lets the process perform a call at `instruction`.
    fn call(&self, instruction: u64, number: i64, arguments: [u64; 4]) -> io::Result<i64> {
        let [rdi, rsi, rdx, r10] = arguments;
        let rip = instruction - SYSCALL_INSTRUCTION.len() as u64;
        let (rax, orig_rax) = (number as u64, NO_CALL);
        self.run_call(&user_regs_struct { rip, rax, orig_rax, rdi, rsi, rdx, r10, ..self.registers()? })
    }

    /// Lets the stopped process end with this status instead of its call, by `exit`, which the
    /// filter does not show.
    pub(crate) fn exit(self, status: i32, instruction: u64) -> io::Result<()> {
        let mut registers = self.registers()?;
        registers.rip = instruction - SYSCALL_INSTRUCTION.len() as u64;
        registers.rax = libc::SYS_exit as u64;
        registers.orig_rax = NO_CALL;
        registers.rdi = status as u64;
        self.set_registers(&registers)
    }

    /// Copies the stopped process by a `clone` that it performs at `instruction`, the address
    /// behind a `syscall` of its code. The copy stays stopped; the process is as before.
    pub(crate) fn copy(&self, instruction: u64) -> io::Result<Copy> {
        let original = restarted(self.registers()?);
        let code = instruction - SYSCALL_INSTRUCTION.len() as u64;
        if peek(self.process, code)? != SYSCALL_INSTRUCTION {
            return Err(io::Error::other("no system call at the address"));
        }
        let mut registers = original;
        registers.rip = code;
        registers.rax = libc::SYS_clone as u64;
        registers.orig_rax = NO_CALL;
        // No flags and no signal at the end: the process never notices its copy.
        (registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8) = (0, 0, 0, 0, 0);
        let result = self.run_call(&registers);
        self.set_registers(&original)?;
        let copy = Process(result? as i32);
        wait(copy, 0)?;
        let copy = Copy { tracee: Self { process: copy, is_attached: true }, registers: original };
        Ok(copy)
    }

    /// Waits for this number of copies that have ended, by calls that the process performs at
    /// `instruction`. The filter does not show `waitid`.
    pub(crate) fn reap_copies(&self, count: usize, instruction: u64) -> io::Result<()> {
        let original = restarted(self.registers()?);
        for _ in 0..count {
            let mut registers = original;
            registers.rip = instruction - SYSCALL_INSTRUCTION.len() as u64;
            registers.rax = libc::SYS_waitid as u64;
            registers.orig_rax = NO_CALL;
            registers.rdi = libc::P_ALL.into();
            (registers.rsi, registers.rdx, registers.r8) = (0, 0, 0);
            registers.r10 = (libc::WEXITED | libc::WNOHANG | libc::__WCLONE) as u64;
            let result = self.run_call(&registers);
            self.set_registers(&original)?;
            // Without such a copy there is nothing to wait for.
            if result.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Lets the process perform the call in its registers, and returns the result. Signals that
    /// come meanwhile are sent again.
    fn run_call(&self, registers: &user_regs_struct) -> io::Result<i64> {
        let mut signals = Vec::new();
        let result = loop {
            self.set_registers(registers)?;
            let result = self.run_call_once(&mut signals)?;
            if !RESTART_ERRORS.contains(&result) {
                break result;
            }
        };
        for signal in signals {
            self.process.signal_number(signal);
        }
        if result < 0 { Err(io::Error::from_raw_os_error(-result as i32)) } else { Ok(result) }
    }

    fn run_call_once(&self, signals: &mut Vec<i32>) -> io::Result<i64> {
        let mut has_entered = false;
        loop {
            request(libc::PTRACE_SYSCALL, self.process, 0, 0)?;
            let status = wait(self.process, 0)?.unwrap_or(0);
            let is_call_stop = libc::WSTOPSIG(status) == libc::SIGTRAP | 0x80;
            if is_call_stop && has_entered {
                return Ok(self.registers()?.rax as i64);
            }
            if !is_call_stop && status >> 16 == 0 {
                signals.push(libc::WSTOPSIG(status));
            }
            has_entered |= is_call_stop;
        }
    }

    #[allow(unsafe_code)]
    fn registers(&self) -> io::Result<user_regs_struct> {
        // SAFETY: all fields are integers, which the request fills.
        let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
        request(libc::PTRACE_GETREGS, self.process, 0, &raw mut registers as u64)?;
        Ok(registers)
    }

    fn set_registers(&self, registers: &user_regs_struct) -> io::Result<()> {
        request(libc::PTRACE_SETREGS, self.process, 0, ptr::from_ref(registers) as u64)
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        if self.is_attached {
            // It may have been killed meanwhile.
            let _ = request(libc::PTRACE_DETACH, self.process, 0, 0);
        }
    }
}

/// A stopped copy of a process.
#[derive(Debug)]
pub(crate) struct Copy {
    tracee: Tracee,
    registers: user_regs_struct,
}

impl Copy {
    pub(crate) fn process(&self) -> Process {
        self.tracee.process
    }

    /// Lets the copy go on from where the process was copied.
    pub(crate) fn resume(self) -> io::Result<()> {
        self.tracee.set_registers(&self.registers)
    }

    /// Ends the copy.
    pub(crate) fn discard(self) {
        self.tracee.discard();
    }
}

/// The registers with an interrupted call about to begin again.
fn restarted(mut registers: user_regs_struct) -> user_regs_struct {
    if registers.orig_rax != NO_CALL && RESTART_ERRORS.contains(&(registers.rax as i64)) {
        registers.rip -= SYSCALL_INSTRUCTION.len() as u64;
        registers.rax = registers.orig_rax;
    }
    registers.orig_rax = NO_CALL;
    registers
}

/// Two bytes of the process's code.
fn peek(process: Process, address: u64) -> io::Result<[u8; 2]> {
    let mut bytes = [0; 2];
    if process.read(address, &mut bytes) == bytes.len() {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

#[allow(unsafe_code)]
fn request(request: c_uint, process: Process, address: u64, data: u64) -> io::Result<()> {
    // SAFETY: the requests of this file take numbers, or a pointer to registers that live across
    // the call.
    let result = unsafe { libc::ptrace(request, process.0, address as *mut c_void, data as *mut c_void) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Status of the next stop or the end of a traced process; `None` if there is none yet and the
/// options do not wait.
#[allow(unsafe_code)]
fn wait(process: Process, options: c_int) -> io::Result<Option<c_int>> {
    let mut status = 0;
    loop {
        // SAFETY: the status is writable.
        let result = unsafe { libc::waitpid(process.0, &raw mut status, libc::__WALL | options) };
        if result == 0 {
            return Ok(None);
        }
        if result == process.0 {
            return if libc::WIFSTOPPED(status) {
                Ok(Some(status))
            } else {
                Err(io::ErrorKind::NotFound.into())
            };
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
