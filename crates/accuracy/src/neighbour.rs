//! The process outside the tree: pinned to one CPU, of which it takes half.
//!
//! The neighbour competes like any process. It computes whenever it has had less than half of the
//! time since its start, otherwise it sleeps. The program beside it reads the neighbour's CPU time
//! from the kernel's account.

use std::ffi::CStr;
use std::io;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use morecores_study::{CpuId, Nanos};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity, set_name};

use crate::AccuracyError;
use crate::clock::{burn, monotonic, thread_cpu};

/// Length of each stretch of computing and of sleeping without competition: a few of the
/// scheduler's slices.
const BURST: Nanos = Nanos::from_millis(10);

/// Name of the neighbour, as given to the kernel.
const KERNEL_NAME: &CStr = c"neighbour";

/// Name of the neighbour, as a trace reports it.
pub const NAME: &str = match KERNEL_NAME.to_str() {
    Ok(name) => name,
    Err(_) => panic!("a name is UTF-8"),
};

/// Runs as the neighbour, until killed or until the parent ends.
pub fn run_neighbour(cpu: CpuId) -> Result<(), AccuracyError> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(AccuracyError::system("watch the parent"))?;
    // The name differs from the judge's, because a trace must distinguish the two and both are one
    // program.
    set_name(KERNEL_NAME).map_err(AccuracyError::system("name the neighbour"))?;
    let mut one = CpuSet::new();
    one.set(cpu.0 as usize);
    sched_setaffinity(None, &one).map_err(AccuracyError::system("pin the neighbour"))?;
    let (begun, begun_cpu) = (monotonic(), thread_cpu());
    loop {
        if is_behind(monotonic().since(begun), thread_cpu().since(begun_cpu)) {
            burn(BURST);
        } else {
            sleep(Duration::from_nanos(BURST.0));
        }
    }
}

/// Whether the neighbour has had at most half of the elapsed time.
fn is_behind(elapsed: Nanos, cpu_time: Nanos) -> bool {
    cpu_time.0 * 2 <= elapsed.0
}

/// A running neighbour; ended on drop.
#[derive(Debug)]
pub struct NeighbourProcess(Child);

impl NeighbourProcess {
    /// Starts a neighbour on `cpu`.
    pub fn start(cpu: CpuId) -> Result<Self, AccuracyError> {
        let failed = |error: io::Error| AccuracyError::Start { command: "neighbour".to_owned(), error };
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["neighbour", "--cpu", &cpu.to_string()]).stdin(Stdio::null());
        command.spawn().map(Self).map_err(failed)
    }

    /// Process number.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for NeighbourProcess {
    fn drop(&mut self) {
        // The neighbour may have ended by itself; then there is nothing left to do.
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
        assert!(is_behind(ms(0), ms(0)));
        assert!(is_behind(ms(100), ms(50)));
        assert!(!is_behind(ms(100), ms(51)));
    }
}
