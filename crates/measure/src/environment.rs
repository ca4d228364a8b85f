//! Environment variables of the command: inherited, withheld and added variables.
//!
//! This module reads the environment of this process, and never changes it.

use std::ffi::{OsStr, OsString};
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::fs::FileTypeExt;

use morecores_study::{Plan, Point, Variable};
use rustix::io::FdFlags;

/// Variables with which a make tells its children the number of jobs that they may run (GNU make's
/// manual, "Communicating Options to a Sub-make"; cargo does the same). With them, the command
/// would share the jobs of the make that started morecores, equally at every CPU count.
const OUTER_MAKE_VARIABLES: [&str; 5] =
    ["MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "CARGO_MAKEFLAGS", "MAKELEVEL"];

/// Options in MAKEFLAGS and MFLAGS that name the descriptors of a job server: since GNU make 4.2,
/// and before.
const JOB_SERVER: [&str; 2] = ["--jobserver-auth=", "--jobserver-fds="];

/// Variables from which runtimes read their thread count; `--thread-env` sets them. One per line,
/// with its reader.
const THREAD_VARIABLES: &[&str] = &[
    "OMP_NUM_THREADS",            // OpenMP
    "OPENBLAS_NUM_THREADS",       // OpenBLAS
    "MKL_NUM_THREADS",            // Intel MKL
    "BLIS_NUM_THREADS",           // BLIS
    "VECLIB_MAXIMUM_THREADS",     // Accelerate
    "NUMEXPR_NUM_THREADS",        // numexpr
    "GOTO_NUM_THREADS",           // GotoBLAS
    "RAYON_NUM_THREADS",          // Rust's rayon
    "TOKIO_WORKER_THREADS",       // Rust's tokio
    "GOMAXPROCS",                 // Go
    "JULIA_NUM_THREADS",          // Julia
    "NUMBA_NUM_THREADS",          // numba
    "POLARS_MAX_THREADS",         // polars
    "CMAKE_BUILD_PARALLEL_LEVEL", // cmake --build
    "CTEST_PARALLEL_LEVEL",       // ctest
    "CARGO_BUILD_JOBS",           // cargo
    "UV_THREADPOOL_SIZE",         // Node.js's libuv
];

/// Name and value of a variable.
pub type Pair = (OsString, OsString);

/// Environment of the command and of the shell lines around it.
#[derive(Clone, Debug)]
pub struct Environment {
    inherited: Vec<Pair>,
    given: Vec<Variable>,
    thread_env: bool,
}

impl Environment {
    /// Environment of this process, changed according to the plan.
    pub fn from_this_process(plan: &Plan) -> Self {
        Self::new(std::env::vars_os().collect(), plan)
    }

    fn new(inherited: Vec<Pair>, plan: &Plan) -> Self {
        Self { inherited, given: plan.env.clone(), thread_env: plan.thread_env }
    }

    /// Variables of the command at one CPU count.
    pub fn command_variables(&self, point: &Point) -> Vec<Pair> {
        let threads = if self.thread_env { THREAD_VARIABLES } else { &[] };
        let threads = threads.iter().map(|&name| (name, point.n));
        let counts = [("MORECORES_CPUS", point.cpus)].into_iter().chain(threads);
        self.variables(counts, Some(point.n))
    }

    /// Variables of a shell line around the runs; `point` is present only if the line belongs to
    /// one run.
    pub fn hook_variables(&self, point: Option<&Point>) -> Vec<Pair> {
        let counts = point.map(|point| ("MORECORES_CPUS", point.cpus));
        self.variables(counts.into_iter(), point.map(|point| point.n))
    }

    /// Locale by which the command's C library prints numbers (setlocale(3)); empty if none is set.
    pub(crate) fn numeric_locale(&self) -> String {
        let pairs = self.variables(std::iter::empty(), None);
        let value = |name: &&str| {
            pairs.iter().find(|(own, value)| own == name && !value.is_empty()).map(|(_, value)| value)
        };
        let locale = ["LC_ALL", "LC_NUMERIC", "LANG"].iter().find_map(value);
        locale.map(|locale| locale.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Inherited variables, then `counts`, then the user's variables; a later one replaces an
    /// earlier one.
    fn variables(&self, counts: impl Iterator<Item = (&'static str, u32)>, n: Option<u32>) -> Vec<Pair> {
        let mut pairs: Vec<Pair> = self.passed_on().cloned().collect();
        let mut set = |name: &OsStr, value: OsString| {
            pairs.retain(|(own, _)| own != name);
            pairs.push((name.to_owned(), value));
        };
        for (name, count) in counts {
            set(name.as_ref(), count.to_string().into());
        }
        for variable in &self.given {
            let value = n.map_or_else(|| variable.value.clone(), |n| variable.value_at(n));
            if let Some(value) = value {
                set(&variable.name, value);
            }
        }
        pairs
    }

    fn passed_on(&self) -> impl Iterator<Item = &Pair> {
        self.inherited.iter().filter(|(name, _)| !self.is_withheld(name))
    }

    fn is_withheld(&self, name: &OsStr) -> bool {
        belongs_to_outer_make(name) && self.given.iter().all(|given| given.name != name)
    }

    /// Names of an outer make's variables that are withheld from the command although they are not
    /// empty.
    pub fn withheld_variables(&self) -> Vec<&'static str> {
        let says_something = |own: &&str| {
            self.inherited
                .iter()
                .any(|(name, value)| name == own && !value.is_empty() && self.is_withheld(name))
        };
        OUTER_MAKE_VARIABLES.into_iter().filter(|own| says_something(own)).collect()
    }

    /// Withholds the descriptors of an outer make's job server from the command, if their numbers
    /// are withheld too.
    pub(crate) fn withhold_job_server(&self) {
        let withheld = self.inherited.iter().filter(|(name, _)| self.is_withheld(name));
        let descriptors = withheld.flat_map(|(_, value)| job_server(&value.to_string_lossy()));
        for descriptor in descriptors.filter(|descriptor| is_pipe(*descriptor)) {
            // SAFETY: the descriptor is open, as the check has just shown. No code of this process
            // owns inherited descriptors, so none is closed in the meantime. Descriptors that this
            // process opened itself are close-on-exec before and after.
            #[allow(unsafe_code)]
            let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
            // The call can fail only for a closed descriptor, which no child can inherit.
            let _ = rustix::io::fcntl_setfd(descriptor, FdFlags::CLOEXEC);
        }
    }
}

/// Whether a variable is one with which a make tells its children the number of jobs that they may
/// run.
pub fn belongs_to_outer_make(name: &OsStr) -> bool {
    OUTER_MAKE_VARIABLES.iter().any(|own| *own == name)
}

fn is_pipe(descriptor: RawFd) -> bool {
    std::fs::metadata(format!("/proc/self/fd/{descriptor}")).is_ok_and(|file| file.file_type().is_fifo())
}

/// Descriptors of a job server in the value of such a variable; a named pipe has none.
fn job_server(flags: &str) -> Vec<RawFd> {
    let options = flags.split_whitespace();
    let pairs = options.filter_map(|option| JOB_SERVER.iter().find_map(|start| option.strip_prefix(start)));
    let numbers = pairs.flat_map(|pair| pair.split(',').map(str::parse::<RawFd>));
    // Descriptors 0 to 2 are the command's standard input and output.
    numbers.filter_map(Result::ok).filter(|number| *number > 2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(
        inherited: &[(&str, &str)],
        given: &[(&str, Option<&str>)],
        thread_env: bool,
    ) -> Environment {
        let inherited = inherited.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let given =
            given.iter().map(|(name, value)| Variable { name: name.into(), value: value.map(Into::into) });
        let plan = Plan { env: given.collect(), thread_env, ..morecores_testkit::plan(Vec::new()) };
        Environment::new(inherited, &plan)
    }

    /// The only value of a variable on 1 CPU with `n` = 2.
    fn value(environment: &Environment, name: &str) -> Option<String> {
        let point = Point { n: 2, ..morecores_testkit::point(1) };
        let pairs = environment.command_variables(&point);
        let mut values = pairs.iter().filter(|(own, _)| own == name).map(|(_, value)| value);
        let value = values.next().map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(values.next(), None, "{name} is there twice");
        value
    }

    #[test]
    fn the_environment_names_the_cpus_once() {
        let inherited = [("MORECORES_CPUS", "9"), ("HOME", "/h"), ("GOMAXPROCS", "9")];
        let plain = environment(&inherited, &[], false);
        assert_eq!(
            ["MORECORES_CPUS", "HOME", "GOMAXPROCS"].map(|name| value(&plain, name)),
            ["1", "/h", "9"].map(|value| Some(value.to_owned()))
        );
        let threads = environment(&inherited, &[], true);
        assert_eq!(
            ["GOMAXPROCS", "OMP_NUM_THREADS"].map(|name| value(&threads, name)),
            ["2", "2"].map(|value| Some(value.to_owned()))
        );
    }

    #[test]
    fn given_variables_replace_inherited_ones_with_n_replaced() {
        let inherited = [("A", "old"), ("PS1", "{n}>"), ("GOMAXPROCS", "9")];
        let given =
            [("A", Some("{n}x{{n}}")), ("NEW", Some("{n}")), ("GOMAXPROCS", Some("7")), ("PS1", None)];
        let given = environment(&inherited, &given, true);
        assert_eq!(
            ["A", "NEW", "GOMAXPROCS", "PS1"].map(|name| value(&given, name)),
            ["2x{n}", "2", "7", "{n}>"].map(|value| Some(value.to_owned()))
        );
    }

    #[test]
    fn variables_of_an_outer_make_reach_the_command_only_on_request() {
        let inherited =
            [("MAKEFLAGS", " -j8 --jobserver-auth=3,4"), ("MFLAGS", ""), ("MAKELEVEL", "1"), ("A", "a")];
        let plain = environment(&inherited, &[], false);
        assert_eq!(plain.withheld_variables(), ["MAKEFLAGS", "MAKELEVEL"]);
        assert_eq!(["MAKEFLAGS", "MFLAGS", "MAKELEVEL"].map(|name| value(&plain, name)), [None, None, None]);
        assert!(plain.hook_variables(None).iter().all(|(name, _)| name == "A"));
        let chosen = environment(&inherited, &[("MAKEFLAGS", None)], false);
        assert_eq!(chosen.withheld_variables(), ["MAKELEVEL"]);
        assert_eq!(value(&chosen, "MAKEFLAGS").as_deref(), Some(" -j8 --jobserver-auth=3,4"));
        assert_eq!(
            value(&environment(&inherited, &[("MAKEFLAGS", Some("-k"))], false), "MAKEFLAGS").as_deref(),
            Some("-k")
        );
    }

    #[test]
    fn only_a_hook_of_a_run_gets_n() {
        let given = environment(&[], &[("A", Some("{n}"))], true);
        let point = Point { n: 3, ..morecores_testkit::point(1) };
        let text = |pairs: Vec<Pair>| {
            pairs.into_iter().map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap()))
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let of_run: Vec<_> = text(given.hook_variables(Some(&point))).collect();
        assert_eq!(of_run, [pair("MORECORES_CPUS", "1"), pair("A", "3")]);
        assert_eq!(text(given.hook_variables(None)).collect::<Vec<_>>(), [pair("A", "{n}")]);
    }

    #[test]
    fn the_descriptors_of_a_job_server_are_found() {
        assert_eq!(job_server(" -j8 --jobserver-auth=3,4"), [3, 4]);
        assert_eq!(job_server("--jobserver-fds=7,8 --jobserver-auth=9,10"), [7, 8, 9, 10]);
        assert_eq!(job_server("--jobserver-auth=fifo:/tmp/GMfifo1 -j"), [] as [RawFd; 0]);
        assert_eq!(job_server("--jobserver-auth=0,-2"), [] as [RawFd; 0]);
    }
}
