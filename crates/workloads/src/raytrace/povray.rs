//! One run of POV-Ray: its arguments and its output.
//!
//! POV-Ray reads the scene from a directory of this run and also runs there. POV-Ray may read and
//! write there under any system-wide settings. The picture comes through a pipe. The times are
//! those of POV-Ray's own clock.

use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use morecores_study::{Bytes, Nanos};

use super::picture::Picture;
use crate::cleanup::CleanupProcess;
use crate::outcome::TMPDIR;
use crate::{WorkloadError, shortage};

const PROGRAM: &str = "povray";

/// File name of the scene.
const SCENE_FILE: &str = "scene.pov";

/// Estimated memory per pixel: in POV-Ray five 4-byte numbers, and again as many while the picture
/// is encoded; here two copies of three bytes.
const MEMORY_PER_PIXEL: u64 = 48;

/// Memory of POV-Ray itself, and of a thread: generous estimates, not measurements.
const POVRAY_MEMORY: u64 = 200 << 20;
const MEMORY_PER_THREAD: u64 = 3 << 20;

/// Upper bound of the memory of a run.
pub(super) const fn memory(pixels: usize, threads: usize) -> Bytes {
    Bytes(pixels as u64 * MEMORY_PER_PIXEL + POVRAY_MEMORY + threads as u64 * MEMORY_PER_THREAD)
}

/// Threads besides the tracing ones: 6 of version 3.7, by count, and one here that reads the
/// picture.
const OTHER_THREADS: usize = 7;

/// Number of threads in a run. POV-Ray may wait for ever if one of its threads cannot be started.
pub(super) const fn threads(threads: usize) -> usize {
    OTHER_THREADS + threads
}

/// A picture, or a strip of it.
#[derive(Clone, Debug)]
pub(super) struct Job<'a> {
    pub(super) directory: &'a Path,
    pub(super) width: usize,
    pub(super) height: usize,
    /// Rows to trace; the others stay black.
    pub(super) rows: Range<usize>,
    pub(super) threads: usize,
}

/// Result of a run.
pub(super) struct TraceResult {
    pub(super) picture: Picture,
    /// Time for photons and rays.
    pub(super) time: Nanos,
}

impl Job<'_> {
    /// Writes the scene to the file that POV-Ray reads.
    pub(super) fn write_scene(&self, text: &[u8]) -> Result<(), WorkloadError> {
        let path = self.directory.join(SCENE_FILE);
        fs::write(&path, text).map_err(|source| WorkloadError::File {
            operation: "write to",
            path,
            source,
            option: TMPDIR,
        })
    }

    /// Runs POV-Ray.
    pub(super) fn trace(&self, cleanup: &CleanupProcess) -> Result<TraceResult, WorkloadError> {
        let mut command = Command::new(PROGRAM);
        command.args(self.arguments()).current_dir(self.directory);
        // Only Debian's settings apply: a user's own settings may ask for other work.
        command.env("HOME", self.directory).env_remove("POVINI").env("LC_ALL", "C");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = cleanup.spawn(&mut command).map_err(|source| spawn_error(&source))?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (file, stderr_text) = thread::scope(|scope| {
            let stderr_text = scope.spawn(|| read(stderr));
            (read(stdout), stderr_text.join().unwrap_or_default())
        });
        let status = child.wait().map_err(|source| spawn_error(&source))?;
        let stderr_text = String::from_utf8_lossy(&stderr_text);
        if !status.success() {
            return Err(povray_error(format!("{status}: {}", reason(&stderr_text))));
        }
        let picture =
            Picture::decode(&file, self.width, self.height).ok_or_else(|| WorkloadError::WrongResult {
                what: "raytrace, the picture".to_owned(),
                expected: format!("{}x{} pixels", self.width, self.height),
                got: format!("{} bytes that are not", file.len()),
            })?;
        let time = trace_time(&stderr_text)
            .ok_or_else(|| povray_error("it did not say how long it took".to_owned()))?;
        Ok(TraceResult { picture, time })
    }

    /// Arguments of POV-Ray. There is no display and no anti-aliasing, whose samples depend on
    /// neighbouring pixels. The picture goes to standard output as a pixmap, and no state is kept
    /// for an interrupted run. A strip is traced in smaller blocks than a whole picture.
    fn arguments(&self) -> Vec<String> {
        let block = if self.rows == (0..self.height) { 16 } else { 8 };
        let mut arguments = vec![format!("+I{SCENE_FILE}")];
        arguments.extend(["+O-", "+FP8", "-D", "-V", "-C", "-P", "-A", "+Q9"].map(str::to_owned));
        arguments.push(format!("+W{}", self.width));
        arguments.push(format!("+H{}", self.height));
        // Rows count from 1, and the last one is included.
        arguments.push(format!("+SR{}", self.rows.start + 1));
        arguments.push(format!("+ER{}", self.rows.end));
        arguments.push(format!("+WT{}", self.threads));
        arguments.push(format!("+BS{block}"));
        arguments
    }
}

/// All data from a pipe. Missing data is detected later, as an incomplete picture.
fn read(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

fn spawn_error(source: &io::Error) -> WorkloadError {
    match source.kind() {
        io::ErrorKind::NotFound => {
            WorkloadError::NotInstalled { program: "POV-Ray".to_owned(), package: "povray" }
        }
        _ => povray_error(source.to_string()),
    }
}

fn povray_error(reason: String) -> WorkloadError {
    WorkloadError::ProgramFailed { program: "POV-Ray".to_owned(), reason }
}

/// First line that reports a shortage, else the first line that names an error, else the last line.
/// The last lines usually say only that there was an error.
fn reason(stderr_text: &str) -> &str {
    let lines = || stderr_text.lines().filter(|line| !line.trim().is_empty());
    shortage::find_line(lines())
        .or_else(|| lines().find(|line| line.contains("rror")))
        .or_else(|| lines().next_back())
        .unwrap_or("it printed nothing")
        .trim()
}

/// Parses `Trace Time: ... (4.362 seconds)`, and adds the time of photons, if there is one.
fn trace_time(stderr_text: &str) -> Option<Nanos> {
    let time = |name: &str| {
        let line = stderr_text.lines().find_map(|line| line.trim().strip_prefix(name))?;
        let (_, rest) = line.rsplit_once('(')?;
        rest.split_once(' ')?.0.parse::<f64>().ok()
    };
    let seconds = time("Trace Time:")? + time("Photon Time:").unwrap_or(0.0);
    Some(Nanos((seconds * 1e9).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_printed() {
        let stderr_text = "Render Time:\n  Photon Time:      No photons\n  Radiosity Time:   No radiosity\n  \
                    Trace Time:       0 hours  0 minutes  4 seconds (4.362 seconds)\n              using 3 thread(s)";
        assert_eq!(trace_time(stderr_text), Some(Nanos(4_362_000_000)));
        let photons = stderr_text.replace("No photons", "0 hours  1 minutes  1 seconds (61.500 seconds)");
        assert_eq!(trace_time(&photons), Some(Nanos(65_862_000_000)));
        assert_eq!(trace_time("Render failed"), None);
    }

    #[test]
    fn the_error_is_found_among_what_follows_it() {
        let stderr_text =
            "==== [Parsing...] ====\nFile 'scene.pov' line 15: Parse Error: No matching }\nRender failed\n\n";
        assert_eq!(reason(stderr_text), "File 'scene.pov' line 15: Parse Error: No matching }");
        assert_eq!(reason("Out of memory\n"), "Out of memory");
        assert_eq!(reason(""), "it printed nothing");
    }
}
