//! What the integration tests share: a directory of their own, `morecores` in it, and assertions that show everything
//! the program said when they fail.
//!
//! Each test file is a program of its own and uses a part of this.
#![allow(dead_code)]

pub(crate) mod browser;
pub(crate) mod locks;
pub(crate) mod studies;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use morecores_study::{Phase, Run, Study};

#[allow(unused_imports)]
pub(crate) use morecores_testkit::{skipped, wait_until};

/// Set in every process below a [`World`], to its directory: so they are found whoever their parent is now.
const MARK: &str = "MORECORES_TEST_WORLD";
/// The user and the group `nobody` and `nogroup`, as in Debian's base-passwd.
pub(crate) const NOBODY: &str = "65534";

/// A directory for one test, and the commands that run in it. Processes that are left are ended with it.
pub(crate) struct World {
    dir: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        // `nobody` must be able to enter.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
        Self { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The names in the directory.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.dir.path()).expect("the directory");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }

    /// Makes an executable file, and returns its path.
    pub(crate) fn script(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        morecores_testkit::write_script(&path, text);
        path.to_string_lossy().into_owned()
    }

    /// A copy of `morecores` in the world's `bin`, with the script `work` beside it as its workloads and laboratory.
    pub(crate) fn install(&self, work: &str) {
        fs::create_dir(self.path("bin")).expect("a directory");
        let us = env!("CARGO_BIN_EXE_morecores");
        let to = self.path("bin/morecores");
        // Linked, or copied by another process, for the reason given at `morecores_testkit::write_script`.
        if fs::hard_link(us, &to).is_err() {
            let copied = Command::new("cp").arg(us).arg(&to).status();
            assert!(copied.is_ok_and(|status| status.success()), "cannot copy morecores");
        }
        self.script("bin/morecores-work", work);
    }

    /// The `morecores` that [`World::install`] made, with these arguments.
    pub(crate) fn installed_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&self.path("bin/morecores").to_string_lossy());
        command.args(arguments);
        command
    }

    /// Any program, in the directory and with an environment that decides nothing about morecores.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.dir.path()).env(MARK, self.dir.path()).stdin(Stdio::null());
        for name in [
            "NO_COLOR",
            "TERM",
            "LC_ALL",
            "LC_CTYPE",
            "LC_NUMERIC",
            "LANG",
            "MORECORES_CPUS",
            "XDG_RUNTIME_DIR",
        ] {
            command.env_remove(name);
        }
        // `make test` and cargo set these, and morecores says that it keeps them from the command.
        for name in ["MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "CARGO_MAKEFLAGS", "MAKELEVEL"] {
            command.env_remove(name);
        }
        command
    }

    /// `morecores` with these arguments.
    pub(crate) fn morecores<S: AsRef<str>>(&self, arguments: &[S]) -> Ran {
        let mut command = self.command(env!("CARGO_BIN_EXE_morecores"));
        command.args(arguments.iter().map(AsRef::as_ref));
        Ran::of(command)
    }

    /// The command that [`World::run`] runs. It traces nothing unless `options` say so: one more run of each CPU count,
    /// for which few tests have a use. Its time is not limited unless they say so, and nothing is said of that.
    pub(crate) fn run_command(&self, options: &str, measured: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_morecores"));
        command.args(["run", "-o", "study"]).args(options.split_whitespace());
        if !options.contains("--trace") {
            command.args(["--trace", "off"]);
        }
        if !options.contains("--max-time") {
            command.args(["--max-time", "0"]);
        }
        command.arg("--").args(measured);
        command
    }

    /// `morecores run -o study OPTIONS -- MEASURED…`.
    pub(crate) fn run(&self, options: &str, measured: &[&str]) -> Ran {
        Ran::of(self.run_command(options, measured))
    }

    /// One run on one CPU, nothing else, of a command that must succeed.
    pub(crate) fn one_run(&self, options: &str, measured: &[&str]) -> Run {
        let ran = self.run(&format!("-q --cpus 1 --warmup 0 --runs 1 {options}"), measured);
        ran.success();
        self.study().runs.pop().unwrap_or_else(|| panic!("no run in the study\n{ran}"))
    }

    /// What such a run prints; `options` may choose another CPU count by `--cpus`.
    pub(crate) fn output_of(&self, options: &str, measured: &[&str]) -> String {
        let ran = self.run(&format!("-q --output inherit --warmup 0 --runs 1 {options}"), measured);
        ran.success();
        fs::remove_dir_all(self.path("study")).expect("the study");
        ran.stdout
    }

    /// The study that [`World::run`] makes.
    pub(crate) fn study(&self) -> Study {
        Study::read(&self.path("study")).expect("a study")
    }

    /// Its timed runs.
    pub(crate) fn timed_runs(&self) -> Vec<Run> {
        let mut runs = self.study().runs;
        runs.retain(|run| run.phase == Phase::Timed);
        runs
    }

    /// `morecores show study` in a format, as JSON.
    pub(crate) fn shown(&self, format: &str) -> serde_json::Value {
        let shown = self.morecores(&["show", "study", format]);
        shown.success();
        serde_json::from_str(&shown.stdout).unwrap_or_else(|e| panic!("{e}\n{shown}"))
    }

    /// The living processes that were started from here, by number and name.
    pub(crate) fn processes(&self) -> Vec<(u32, String)> {
        let mark = format!("{MARK}={}", self.dir.path().display());
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        // The environment of a zombie is empty.
        let ours = pids.filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        });
        let name =
            |pid| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned();
        ours.map(|pid| (pid, name(pid))).collect()
    }

    /// `morecores` as a user without privilege; none, with the reason, where nobody can be that here.
    pub(crate) fn ordinary_user(&self) -> Result<OrdinaryUser<'_>, String> {
        let binary = self.path("morecores");
        if is_root() {
            // Not `fs::copy`, for the reason given at `morecores_testkit::write_script`.
            let copied = Command::new("install")
                .args(["-m", "755", env!("CARGO_BIN_EXE_morecores")])
                .arg(&binary)
                .status();
            assert!(copied.is_ok_and(|status| status.success()), "cannot copy morecores");
            let home = self.path("home");
            fs::create_dir(&home).expect("mkdir");
            std::os::unix::fs::chown(&home, NOBODY.parse().ok(), NOBODY.parse().ok()).expect("chown");
            let user = OrdinaryUser { world: self, binary, home };
            let ran = user.morecores(&["--version"]);
            return if ran.status.success() {
                Ok(user)
            } else {
                Err(format!("no `nobody` here: {}", ran.stderr))
            };
        }
        Ok(OrdinaryUser { world: self, binary: env!("CARGO_BIN_EXE_morecores").into(), home: self.path("") })
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for (pid, _) in self.processes() {
            signal(pid, "KILL");
        }
    }
}

/// Somebody without privilege: `nobody` where we are root, ourselves otherwise.
pub(crate) struct OrdinaryUser<'a> {
    world: &'a World,
    binary: PathBuf,
    /// Where they may write.
    pub(crate) home: PathBuf,
}

impl OrdinaryUser<'_> {
    pub(crate) fn morecores(&self, arguments: &[&str]) -> Ran {
        self.morecores_with(&[], arguments)
    }

    /// With these variables, and no directory of the user's own for what lives as long as a login.
    pub(crate) fn morecores_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
        let mut command = if is_root() {
            let mut command = self.world.command("setpriv");
            command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]).arg(&self.binary);
            command
        } else {
            self.world.command(&self.binary.to_string_lossy())
        };
        command.env_remove("XDG_RUNTIME_DIR").envs(variables.iter().copied());
        command.current_dir(&self.home).args(arguments);
        Ran::of(command)
    }
}

/// A program that has ended, with everything it said.
pub(crate) struct Ran {
    pub(crate) status: std::process::ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) pid: u32,
    command: String,
}

impl Ran {
    pub(crate) fn of(command: Command) -> Self {
        start(command).wait()
    }

    /// The exit status must be this.
    #[track_caller]
    pub(crate) fn code(&self, expected: i32) -> &Self {
        assert_eq!(self.status.code(), Some(expected), "{self}");
        self
    }

    /// It must have succeeded.
    #[track_caller]
    pub(crate) fn success(&self) -> &Self {
        self.code(0)
    }

    /// It must have failed with this status, one line on standard error that holds all of `parts`, and nothing on
    /// standard output.
    #[track_caller]
    pub(crate) fn refused(&self, status: i32, parts: &[&str]) -> &Self {
        self.code(status);
        assert_eq!(self.stderr.lines().count(), 1, "one line of error\n{self}");
        assert!(self.stderr.starts_with("morecores: "), "{self}");
        assert_eq!(self.stdout, "", "{self}");
        self.says(parts)
    }

    /// Standard error must hold all of `parts`.
    #[track_caller]
    pub(crate) fn says(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.stderr.contains(part), "`{part}` is not said\n{self}");
        }
        self
    }

    /// Standard output must hold all of `parts`.
    #[track_caller]
    pub(crate) fn prints(&self, parts: &[&str]) -> &Self {
        // Lines are broken to the width of the output wherever they happen to reach it.
        let flat = self.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in parts {
            assert!(flat.contains(part), "`{part}` is not printed\n{self}");
        }
        self
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "command: {}\nstatus: {} {:?}", self.command, self.status, self.status.signal())?;
        write!(f, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr)
    }
}

/// Starts a command whose output is collected when it ends.
pub(crate) fn start(command: Command) -> Started {
    start_with(command, Stdio::piped())
}

/// The same with another standard output.
pub(crate) fn start_with(mut command: Command, stdout: Stdio) -> Started {
    let text = format!("{command:?}");
    let child = command.stdout(stdout).stderr(Stdio::piped()).spawn();
    Started { child: child.unwrap_or_else(|e| panic!("{text}: {e}")), command: text }
}

/// A program that is running.
pub(crate) struct Started {
    command: String,
    child: Child,
}

impl Started {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("its state").is_some()
    }

    pub(crate) fn wait(self) -> Ran {
        let pid = self.pid();
        let output = self.child.wait_with_output().expect("its end");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        Ran { status: output.status, stdout, stderr, pid, command: self.command }
    }
}

/// Sends a signal by its name, `TERM`.
pub(crate) fn signal(pid: u32, name: &str) {
    // The shell's own: a minimal Debian has no program of that name.
    let line = format!("kill -s {name} {pid}");
    let _ = Command::new("sh").args(["-c", &line]).stderr(Stdio::null()).status();
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The CPUs that this process may use, by number.
pub(crate) fn usable_cpus() -> usize {
    std::thread::available_parallelism().expect("CPUs").get()
}

/// What a morecores with this process number left in the system: its cgroups in every hierarchy, and its journal where
/// it was root's. Others may be at work beside this test.
pub(crate) fn left_by(pid: u32) -> BTreeSet<PathBuf> {
    let journals = ["json", "new"].map(|end| PathBuf::from(format!("/run/morecores/{pid}.{end}")));
    let mut found: BTreeSet<PathBuf> = journals.into_iter().filter(|file| file.exists()).collect();
    let mut look = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(dir) = look.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name() == format!("morecores-{pid}").as_str() {
                    found.insert(entry.path());
                }
                look.push(entry.path());
            }
        }
    }
    found
}
