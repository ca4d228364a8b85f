//! Hardware watchpoints: the debug registers of a thread, which stop it after an access to one of
//! four variables. They work in virtual machines too.

use std::io;
use std::mem::offset_of;

use nix::libc::user;
use nix::sys::ptrace;
use nix::unistd::Pid;

/// Number of watchpoints of a CPU.
pub(crate) const MOST: usize = 4;
/// Number of the register that tells which watchpoint stopped the thread, and of the one that
/// enables them (Intel SDM, volume 3, section 18.2).
const STATUS: usize = 6;
const CONTROL: usize = 7;
/// Condition of a watchpoint: reads and writes.
const READS_AND_WRITES: u64 = 0b11;

/// Variables to watch: address and size in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Watchpoints(pub(super) Vec<(u64, u64)>);

impl Watchpoints {
    /// Value of the control register.
    fn control(&self) -> u64 {
        let conditions = self.0.iter().enumerate().map(|(number, (_, size))| {
            let length = match size {
                1 => 0b00,
                2 => 0b01,
                8 => 0b10,
                _ => 0b11,
            };
            (READS_AND_WRITES | length << 2) << (16 + 4 * number) | 1 << (2 * number)
        });
        conditions.fold(0, |control, condition| control | condition)
    }

    /// Watches the variables in a stopped thread.
    ///
    /// # Errors
    /// The thread has ended, or the machine has no watchpoints for it.
    pub(super) fn set(&self, thread: Pid) -> io::Result<()> {
        for (number, (address, _)) in self.0.iter().enumerate() {
            write(thread, number, *address)?;
        }
        write(thread, CONTROL, self.control())
    }

    /// Watches nothing any more in a stopped thread.
    ///
    /// # Errors
    /// The thread has ended.
    pub(super) fn clear(thread: Pid) -> io::Result<()> {
        write(thread, CONTROL, 0)
    }

    /// Numbers of the watchpoints that have just stopped a thread.
    ///
    /// # Errors
    /// The thread has ended.
    pub(super) fn take_hits(&self, thread: Pid) -> io::Result<Vec<usize>> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let status = ptrace::read_user(thread, register(STATUS))? as u64;
        let hits = (0..self.0.len()).filter(|number| status >> number & 1 == 1).collect();
        write(thread, STATUS, 0)?;
        Ok(hits)
    }
}

/// Address of a debug register in the data that ptrace keeps of a thread.
fn register(number: usize) -> ptrace::AddressType {
    (offset_of!(user, u_debugreg) + number * size_of::<u64>()) as ptrace::AddressType
}

fn write(thread: Pid, number: usize, value: u64) -> io::Result<()> {
    Ok(ptrace::write_user(thread, register(number), value as i64)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intel SDM: L0 and L1 are bits 0 and 2; R/W0 and LEN0 are bits 16 to 19, R/W1 and LEN1 are
    /// bits 20 to 23; a length of 8 bytes is 10, of 4 bytes 11.
    #[test]
    fn the_control_register_is_that_of_the_manual() {
        let watchpoints = Watchpoints(vec![(0x1000, 8), (0x2000, 4)]);
        assert_eq!(watchpoints.control(), 0b1111_1011 << 16 | 0b101);
        assert_eq!(Watchpoints::default().control(), 0);
    }
}
