//! The process outside the tree: pinned to one CPU, of which it takes half.
//!
//! It competes as any process does. Whenever it has had less than half of the time since it began it computes,
//! otherwise it sleeps; what it got is read from its account by the program that runs beside it.

use std::ffi::CStr;
use std::io;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use morecores_study::{CpuId, Nanos};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity, set_name};

use crate::AccuracyError;
use crate::clock::{burn, thread_cpu, wall};

/// Computing and sleeping are as long as this each, where nobody competes: a few of the scheduler's slices.
const BURST: Nanos = Nanos::from_millis(10);

/// Its name, as the kernel is told it.
const KERNEL_NAME: &CStr = c"neighbour";

/// The same, as a trace tells it.
pub const NAME: &str = match KERNEL_NAME.to_str() {
    Ok(name) => name,
    Err(_) => panic!("a name is UTF-8"),
};

/// Is the neighbour, until killed or the parent ends.
pub fn be(cpu: CpuId) -> Result<(), AccuracyError> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(AccuracyError::system("watch the parent"))?;
    // Of its own, so that a trace tells it from the judge, which is the same program.
    set_name(KERNEL_NAME).map_err(AccuracyError::system("name the neighbour"))?;
    let mut one = CpuSet::new();
    one.set(cpu.0 as usize);
    sched_setaffinity(None, &one).map_err(AccuracyError::system("pin the neighbour"))?;
    let (begun, begun_cpu) = (wall(), thread_cpu());
    loop {
        if due(wall().since(begun), thread_cpu().since(begun_cpu)) {
            burn(BURST);
        } else {
            sleep(Duration::from_nanos(BURST.0));
        }
    }
}

/// Whether it has had less than half.
fn due(elapsed: Nanos, had: Nanos) -> bool {
    had.0 * 2 <= elapsed.0
}

/// A running neighbour; ended on drop.
#[derive(Debug)]
pub struct Neighbour(Child);

impl Neighbour {
    /// Starts one on `cpu`.
    pub fn start(cpu: CpuId) -> Result<Self, AccuracyError> {
        let failed = |error: io::Error| AccuracyError::Start { command: "neighbour".to_owned(), error };
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["neighbour", "--cpu", &cpu.to_string()]).stdin(Stdio::null());
        command.spawn().map(Self).map_err(failed)
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing left to do.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_is_enough() {
        let ms = Nanos::from_millis;
        assert!(due(ms(0), ms(0)));
        assert!(due(ms(100), ms(50)));
        assert!(!due(ms(100), ms(51)));
    }
}
