//! One thread that reads a file past the page cache: it only waits for the disk.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use clap::Args;
use morecores_study::Nanos;
use rustix::fs::{Mode, OFlags};

use super::KnownProgram;
use crate::accounts::IdleClock;
use crate::clock::{monotonic, thread_cpu, tree_cpu};
use crate::{AccuracyError, ExpectedReport, Part, Share, Truth};

/// Bytes a read: enough to make the time from the disk's interrupt until the thread runs again
/// small in comparison.
const READ_BYTES: usize = 4 << 20;

/// Bytes of the file: large enough to exclude the disk's own cache, small enough to write.
const FILE_BYTES: usize = 256 << 20;

/// Alignment of the memory and of the place in the file: no disk that Linux drives requires more
/// than a page.
const ALIGNMENT: usize = 4096;

/// `TMPFS_MAGIC` of linux/magic.h: a file system without a disk.
const TMPFS: i64 = 0x0102_1994;

/// Kernel threads that complete requests of a disk and of its file system.
const WORKERS: &[&str] = &["kworker/", "ksoftirqd/"];

/// See the module.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct Disk {
    /// The file, made with `write_file`
    #[arg(long)]
    pub file: PathBuf,
    /// Elapsed time, in seconds
    #[arg(long)]
    pub elapsed_s: f64,
}

/// Writes the file for the reads, down to the disk.
pub fn write_file(path: &Path) -> Result<(), AccuracyError> {
    let failed = |error| AccuracyError::File { what: "write", path: path.to_owned(), error };
    let file = File::create(path).map_err(failed)?;
    let kind = rustix::fs::fstatfs(&file).map_err(|error| failed(error.into()))?.f_type;
    if kind == TMPFS {
        return Err(AccuracyError::NoDisk(path.to_owned()));
    }
    // The bytes are not zeros, because some disks do not store zeros.
    let block: Vec<u8> = (0..READ_BYTES).map(|at| (at % 251) as u8 + 1).collect();
    for at in (0..FILE_BYTES).step_by(READ_BYTES) {
        file.write_all_at(&block, at as u64).map_err(failed)?;
    }
    file.sync_all().map_err(failed)
}

impl KnownProgram for Disk {
    fn run(&self) -> Result<Truth, AccuracyError> {
        let failed = |what| move |error| AccuracyError::File { what, path: self.file.clone(), error };
        let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
        let file = rustix::fs::open(&self.file, flags, Mode::empty())
            .map_err(|error| failed("open past the page cache")(error.into()))?;
        let file = File::from(file);
        let mut memory = vec![0; READ_BYTES + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        let block = &mut memory[start..start + READ_BYTES];

        let idle = IdleClock::start()?;
        let (begun, begun_cpu) = (monotonic(), thread_cpu());
        let end = begun + Nanos::from_secs_f64(self.elapsed_s);
        for at in (0..FILE_BYTES).step_by(READ_BYTES).cycle() {
            if monotonic() >= end {
                break;
            }
            file.read_exact_at(block, at as u64).map_err(failed("read"))?;
        }
        let waited = monotonic().since(begun).since(thread_cpu().since(begun_cpu));
        let (waited_s, idle_s) = (Some(waited.as_secs_f64()), Some(idle.elapsed()?.as_secs_f64()));
        Ok(Truth { cpu_s: tree_cpu().as_secs_f64(), waited_s, idle_s, ..Truth::default() })
    }

    /// While the thread waits nothing runs, and every CPU is idle for the disk. While the thread
    /// runs, all other CPUs are idle for lack of work.
    ///
    /// Not all of the thread's wait is idle time: the disk's interrupts and the kernel worker that
    /// completes a request run meanwhile, 4 to 6% of the time, on the CPU that would be idle. No
    /// clock of the program sees them. The truth is therefore the wait, limited to the idle time in
    /// the kernel's account of the CPUs.
    fn expected(&self, truth: &Truth, cpus: u32, _: f64) -> ExpectedReport {
        let cpus = f64::from(cpus);
        let beside = (cpus - 1.0) * truth.cpu_s;
        let waited = cpus * truth.waited_s.unwrap_or(0.0);
        let shares = [
            Share::from_own_clocks(Part::Work, truth.cpu_s),
            Share::from_own_clocks(Part::Disk, waited).limit_idle(truth, beside),
            Share::from_own_clocks(Part::TooLittleWork, beside),
        ];
        ExpectedReport { own_processes: WORKERS, ..ExpectedReport::from_shares(shares) }
    }

    fn arguments(&self) -> Vec<String> {
        let file = self.file.to_string_lossy();
        ["disk", "--file", &file, "--elapsed-s", &self.elapsed_s.to_string()].map(String::from).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    #[test]
    fn all_cpus_wait_for_the_disk_and_all_but_one_for_the_thread() {
        let program = Disk { file: PathBuf::from("/f"), elapsed_s: 5.0 };
        let truth = Truth { cpu_s: 1.0, waited_s: Some(4.0), ..Truth::default() };
        let seconds =
            |cpus| program.expected(&truth, cpus, 5.0).shares.iter().map(|s| s.seconds).collect::<Vec<_>>();
        assert_eq!([1, 2].map(seconds), [vec![1.0, 4.0, 0.0], vec![1.0, 8.0, 1.0]]);
    }

    #[test]
    fn a_cpu_that_serves_the_disk_is_not_idle() {
        let program = Disk { file: PathBuf::from("/f"), elapsed_s: 5.0 };
        let disk = |cpus, idle_s| {
            let truth = Truth { cpu_s: 1.0, waited_s: Some(4.0), idle_s: Some(idle_s), ..Truth::default() };
            let share = program.expected(&truth, cpus, 5.0).shares[1];
            assert_eq!(share.source == Source::KernelAccount, share.seconds < 4.0 * f64::from(cpus));
            share.seconds
        };
        assert_eq!([disk(1, 3.7), disk(1, 4.1)], [3.7, 4.0]);
        // The second CPU is idle for one second while the thread runs; that second is not the
        // disk's.
        assert_eq!([disk(2, 8.75), disk(2, 9.0)], [7.75, 8.0]);
    }
}
