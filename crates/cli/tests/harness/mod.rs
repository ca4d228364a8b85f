//! Harness of the integration tests: a directory for each test, `morecores` in it, and assertions
//! that show the program's whole output when they fail.
//!
//! Each test file is a separate program and uses a part of this module.
#![allow(dead_code)]

pub(crate) mod browser;
pub(crate) mod locks;
pub(crate) mod search;
pub(crate) mod studies;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use morecores_study::{Phase, Run, Study};

use morecores_testkit::with_default_signals;
#[allow(unused_imports)]
pub(crate) use morecores_testkit::{report_skip, wait_until};

/// Environment variable of every process below a [`World`], set to the world's directory. It
/// identifies the processes even after their parent has changed.
const MARK: &str = "MORECORES_TEST_WORLD";
/// IDs of the user `nobody` and the group `nogroup`, as in Debian's base-passwd.
pub(crate) const NOBODY: &str = "65534";

/// Directory for one test, and the commands that run in it. Remaining processes are ended when it
/// is dropped.
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

    /// Names of the entries in the directory.
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

    /// Installs `morecores` and its programs in the world's `bin`, beside the script `work` as the
    /// workloads and as the lock laboratory.
    pub(crate) fn install(&self, work: &str) {
        fs::create_dir(self.path("bin")).expect("a directory");
        for (name, built) in [
            ("morecores", env!("CARGO_BIN_EXE_morecores")),
            ("morecores-locks", env!("CARGO_BIN_EXE_morecores-locks")),
            ("morecores-tune-spin", env!("CARGO_BIN_EXE_morecores-tune-spin")),
        ] {
            let to = self.path("bin").join(name);
            // The program is linked, or copied by another process, for the reason given at
            // `morecores_testkit::write_script`.
            if fs::hard_link(built, &to).is_err() {
                let copied = Command::new("cp").arg(built).arg(&to).status();
                assert!(copied.is_ok_and(|status| status.success()), "cannot copy {name}");
            }
        }
        for name in ["work", "lock-cell"] {
            self.script(&format!("bin/morecores-{name}"), work);
        }
    }

    /// Command that starts the installed `morecores` of [`World::install`] with these arguments.
    pub(crate) fn installed_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&self.path("bin/morecores").to_string_lossy());
        command.args(arguments);
        command
    }

    /// Command for any program, in the directory and with an environment that does not affect
    /// morecores.
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
            "XDG_STATE_HOME",
            "DEBUGINFOD_URLS",
        ] {
            command.env_remove(name);
        }
        // A test leaves the last log of this user alone.
        command.env("MORECORES_LOG", "off");
        // `make test` and cargo set these variables, and morecores reports that it hides them from
        // the command.
        for name in ["MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "CARGO_MAKEFLAGS", "MAKELEVEL"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs `morecores` with these arguments.
    pub(crate) fn morecores<S: AsRef<str>>(&self, arguments: &[S]) -> Ran {
        let mut command = self.command(env!("CARGO_BIN_EXE_morecores"));
        command.args(arguments.iter().map(AsRef::as_ref));
        Ran::start_and_wait(command)
    }

    /// Command of [`World::run`]. It traces nothing unless `options` request it: a trace is one
    /// more run of each CPU count, which few tests need. It sets no time limit unless `options` do,
    /// so that no message mentions the limit. It repeats no disturbed round, because other tests
    /// keep the machine busy.
    pub(crate) fn run_command(&self, options: &str, measured: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_morecores"));
        command.args(["run", "-o", "study", "--keep-disturbed"]).args(options.split_whitespace());
        if !options.contains("--trace") {
            command.args(["--trace", "off"]);
        }
        if !options.contains("--max-time") {
            command.args(["--max-time", "0"]);
        }
        command.arg("--").args(measured);
        command
    }

    /// Runs `morecores run -o study OPTIONS -- MEASURED…`.
    pub(crate) fn run(&self, options: &str, measured: &[&str]) -> Ran {
        Ran::start_and_wait(self.run_command(options, measured))
    }

    /// Makes a single run on one CPU, of a command that must succeed.
    pub(crate) fn one_run(&self, options: &str, measured: &[&str]) -> Run {
        let ran = self.run(&format!("-q --cpus 1 --warmup 0 --runs 1 {options}"), measured);
        ran.success();
        self.study().runs.pop().unwrap_or_else(|| panic!("no run in the study\n{ran}"))
    }

    /// Output of a single run. `options` may choose another CPU count with `--cpus`.
    pub(crate) fn output_of(&self, options: &str, measured: &[&str]) -> String {
        let ran = self.run(&format!("-q --output inherit --warmup 0 --runs 1 {options}"), measured);
        ran.success();
        fs::remove_dir_all(self.path("study")).expect("the study");
        ran.stdout
    }

    /// Study that [`World::run`] made.
    pub(crate) fn study(&self) -> Study {
        Study::read(&self.path("study")).expect("a study")
    }

    /// Timed runs of the study.
    pub(crate) fn timed_runs(&self) -> Vec<Run> {
        let mut runs = self.study().runs;
        runs.retain(|run| run.phase == Phase::Timed);
        runs
    }

    /// Output of `morecores show study` in a format, parsed as JSON.
    pub(crate) fn shown(&self, format: &str) -> serde_json::Value {
        let shown = self.morecores(&["show", "study", format]);
        shown.success();
        serde_json::from_str(&shown.stdout).unwrap_or_else(|e| panic!("{e}\n{shown}"))
    }

    /// Living processes started from this world, by process ID and name.
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

    /// User without privilege who can run `morecores`; the reason as an error if there is none
    /// here.
    pub(crate) fn ordinary_user(&self) -> Result<OrdinaryUser<'_>, String> {
        let binary = self.path("morecores");
        if is_root() {
            // The test does not use `fs::copy`, for the reason given at
            // `morecores_testkit::write_script`.
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

/// User without privilege: `nobody` if the test runs as root, otherwise the test's own user.
pub(crate) struct OrdinaryUser<'a> {
    world: &'a World,
    binary: PathBuf,
    /// Directory in which the user may write.
    pub(crate) home: PathBuf,
}

impl OrdinaryUser<'_> {
    pub(crate) fn morecores(&self, arguments: &[&str]) -> Ran {
        self.morecores_with(&[], arguments)
    }

    /// Runs `morecores` with these variables, and without a runtime directory of the user.
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
        Ran::start_and_wait(command)
    }
}

/// Program that has ended, with its whole output.
pub(crate) struct Ran {
    pub(crate) status: std::process::ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) pid: u32,
    command: String,
}

impl Ran {
    pub(crate) fn start_and_wait(command: Command) -> Self {
        start(command).wait()
    }

    /// Asserts this exit status.
    #[track_caller]
    pub(crate) fn code(&self, expected: i32) -> &Self {
        assert_eq!(self.status.code(), Some(expected), "{self}");
        self
    }

    /// Asserts success.
    #[track_caller]
    pub(crate) fn success(&self) -> &Self {
        self.code(0)
    }

    /// Asserts a failure with this status, one line on standard error that contains all of `parts`,
    /// and nothing on standard output.
    #[track_caller]
    pub(crate) fn refused(&self, status: i32, parts: &[&str]) -> &Self {
        self.code(status);
        assert_eq!(self.stderr.lines().count(), 1, "one line of error\n{self}");
        assert!(self.stderr.starts_with("morecores: "), "{self}");
        let causes: Vec<&str> = self.stderr.trim_end().split(": ").collect();
        assert_eq!(causes.iter().collect::<BTreeSet<_>>().len(), causes.len(), "each cause once\n{self}");
        assert_eq!(self.stdout, "", "{self}");
        self.says(parts)
    }

    /// Asserts that standard error contains all of `parts`.
    #[track_caller]
    pub(crate) fn says(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.stderr.contains(part), "`{part}` is not said\n{self}");
        }
        self
    }

    /// Asserts that standard output contains all of `parts`.
    #[track_caller]
    pub(crate) fn prints(&self, parts: &[&str]) -> &Self {
        // Lines are wrapped at the width of the output, so the comparison ignores line breaks.
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

/// Starts a command with another standard output.
pub(crate) fn start_with(mut command: Command, stdout: Stdio) -> Started {
    let text = format!("{command:?}");
    let child = with_default_signals(&mut command).stdout(stdout).stderr(Stdio::piped()).spawn();
    Started { child: child.unwrap_or_else(|e| panic!("{text}: {e}")), command: text }
}

/// Running program.
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

/// Sends a signal by its name, such as `TERM`.
pub(crate) fn signal(pid: u32, name: &str) {
    // `kill` is built into the shell: a minimal Debian has no program of that name.
    let line = format!("kill -s {name} {pid}");
    let _ = Command::new("sh").args(["-c", &line]).stderr(Stdio::null()).status();
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Number of CPUs that this process may use.
pub(crate) fn usable_cpus() -> usize {
    std::thread::available_parallelism().expect("CPUs").get()
}

/// Leftovers of the morecores with this process ID in the system: its cgroups in every hierarchy,
/// and its journal if it was root's. Other processes may be active beside this test.
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
