//! The end of a build by signals and by mistakes: nothing is left, and each mistake is told in one
//! line.

mod harness;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use harness::{PROGRAM, skips};
use morecores_testkit::{report_skip, wait_until};
use rustix::process::{Pid, Signal, kill_process};

/// A build of sources that take seconds each, in a folder of its own.
struct LongBuild {
    folder: tempfile::TempDir,
    mark: String,
}

impl LongBuild {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let function = |index| {
            format!(
                "double f{index}(double x) {{ for (int i = 0; i < x; i++) x *= {index} + i; return x; }}\n"
            )
        };
        let source: String = (0..20_000).map(function).collect();
        for file in ["a.c", "b.c", "c.c"] {
            fs::write(folder.path().join(file), &source).expect("a source");
        }
        fs::write(folder.path().join("a.o"), "an object of before").expect("an object");
        let script = "gcc -O2 -c a.c\ngcc -O2 -c b.c\ngcc -O2 -c c.c\necho done\n";
        fs::write(folder.path().join("build.sh"), script).expect("a script");
        Self { folder, mark: format!("MORECORES_OVERLAP_TEST={name}-{}", std::process::id()) }
    }

    fn start(&self) -> Child {
        let (name, value) = self.mark.split_once('=').expect("a variable");
        let child = Command::new(PROGRAM)
            .args(["--jobs", "2", "--", "sh", "build.sh"])
            .env(name, value)
            .current_dir(self.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the build starts");
        wait_until("two compilers run", || self.processes("cc1").len() == 2);
        child
    }

    /// Processes of this build whose program has this name; all of them for an empty name.
    fn processes(&self, name: &str) -> Vec<i32> {
        let is_of_build = |pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == self.mark.as_bytes())
                && (name.is_empty() || command.trim() == name)
        };
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_of_build).collect()
    }

    fn expect_nothing_left(&self) {
        wait_until("nothing is left", || self.processes("").is_empty());
    }
}

fn send(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a process"), signal).expect("the signal");
}

/// The supervisor, which is the only child of the process in front of it.
fn supervisor_of(front: &Child) -> i32 {
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", front.id())).expect("children");
    children.split_whitespace().next().expect("a child").parse().expect("a number")
}

#[test]
fn signals_end_the_build_and_put_outputs_of_unfinished_commands_back() {
    if skips() {
        return;
    }
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::QUIT, 131)] {
        let build = LongBuild::new("signals");
        let mut child = build.start();
        send(child.id() as i32, signal);
        let ended = child.wait().expect("its status");
        assert_eq!(ended.code(), Some(status));
        build.expect_nothing_left();
        let object = fs::read_to_string(build.folder.path().join("a.o")).expect("the object");
        assert_eq!(object, "an object of before");
        assert!(!build.folder.path().join("b.o").exists());
    }
}

#[test]
fn a_signal_after_a_failure_in_a_directory_runs_the_traps_above_it() {
    if skips() {
        return;
    }
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("sub")).expect("a folder");
        write(folder.path(), "sub/bad.c", "int bad(\n");
        let line = "gcc -c bad.c || { touch ../started; sleep 60; touch ../survived; }";
        write(folder.path(), "sub/Makefile", &format!("all:\n\t{line}\n"));
        let script = "trap 'touch cleaned; exit 3' INT TERM\nmake -C sub || touch failed\nsleep 60\n";
        write(folder.path(), "build.sh", script);
        let mut child = Command::new(PROGRAM)
            .args(["--quiet", "--", "bash", "-c", "sh build.sh; echo $? > status"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the build starts");
        wait_until("the copy goes on", || folder.path().join("started").exists());
        send(child.id() as i32, signal);
        assert_eq!(child.wait().expect("its status").code(), Some(status));
        let exists = |name: &str| folder.path().join(name).exists();
        assert_eq!(["cleaned", "survived", "failed"].map(exists), [true, false, false]);
    }
}

#[test]
fn nothing_outlives_a_killed_supervisor() {
    if skips() {
        return;
    }
    let build = LongBuild::new("supervisor");
    let mut child = build.start();
    send(supervisor_of(&child), Signal::KILL);
    let ended = child.wait().expect("its status");
    assert_eq!(ended.code(), Some(128 + 9), "{ended:?} {:?}", ended.signal());
    build.expect_nothing_left();
}

#[test]
fn nothing_outlives_a_killed_front_process() {
    if skips() {
        return;
    }
    let build = LongBuild::new("front");
    let mut child = build.start();
    send(child.id() as i32, Signal::KILL);
    child.wait().expect("its status");
    build.expect_nothing_left();
}

#[test]
fn a_mistake_is_told_in_one_line_before_anything_starts() {
    if skips() {
        return;
    }
    let error = |arguments: &[&str]| {
        let output = Command::new(PROGRAM).args(arguments).output().expect("it starts");
        (output.status.code(), String::from_utf8(output.stderr).expect("text"))
    };
    let (status, text) = error(&[]);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("<COMMAND>"), "{text}");
    let (status, text) = error(&["--jobs", "0", "--", "true"]);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("--jobs"), "{text}");
    let (status, text) = error(&["--quiet", "--", "/no/such/program"]);
    assert_eq!(status, Some(127), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("/no/such/program"), "{text}");
    let (status, text) = error(&["--quiet", "--", PROGRAM, "--", "true"]);
    assert_eq!(status, Some(126), "{text}");
    assert!(text.contains("already watches"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

/// A filter that lets one system call fail, as containers do.
fn forbid(number: libc::c_long, error: i32) -> [libc::sock_filter; 4] {
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | error as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

#[test]
#[allow(unsafe_code)]
fn a_kernel_or_a_container_that_forbids_it_is_told_in_one_line() {
    if skips() {
        return;
    }
    for (number, error, expected) in [
        (libc::SYS_seccomp, libc::EPERM, "cannot watch the build"),
        (libc::SYS_seccomp, libc::ENOSYS, "cannot watch the build"),
        (libc::SYS_ptrace, libc::EPERM, "cannot trace the build"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let code = forbid(number, error);
        let install = move || {
            let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_ptr().cast_mut() };
            // SAFETY: the program describes an array of the closure, which the kernel copies.
            let result = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
            };
            if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        };
        let mut command = Command::new(PROGRAM);
        command.args(["--", "touch", "started"]).current_dir(folder.path());
        // SAFETY: between fork and exec the closure makes system calls only.
        unsafe { command.pre_exec(install) };
        let output = command.output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(126), "{text}");
        assert!(text.contains(expected), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(!folder.path().join("started").exists());
    }
}

#[test]
fn a_program_that_the_build_leaves_running_goes_on() {
    if skips() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let script = "(sleep 0.3; echo alive > after) >/dev/null 2>&1 & echo started";
    let output = Command::new(PROGRAM)
        .args(["--quiet", "--", "sh", "-c", script])
        .current_dir(folder.path())
        .output()
        .expect("the build starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "started\n");
    let after = folder.path().join("after");
    wait_until("the program writes its file", || {
        fs::read_to_string(&after).is_ok_and(|text| text == "alive\n")
    });
}

#[test]
fn a_parallel_build_is_passed_through() {
    if skips() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "Makefile", "all: a.o b.o\n%.o: %.c\n\tgcc -c $<\n");
    write(folder.path(), "a.c", "int a;\n");
    write(folder.path(), "b.c", "int b;\n");
    let output = Command::new(PROGRAM)
        .args(["--", "make", "-j2"])
        .current_dir(folder.path())
        .output()
        .expect("the build starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("make runs commands in parallel itself"), "{text}");
    assert!(text.contains(" 0 commands deferred"), "{text}");
    assert!(folder.path().join("b.o").exists());
}

#[test]
fn a_setuid_program_without_its_rights_is_told() {
    let name = "a_setuid_program_without_its_rights_is_told";
    if skips() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return report_skip(name, "it needs root to be another user");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("morecores-overlap");
    let setuid = folder.path().join("granted");
    fs::copy(PROGRAM, &program).expect("a copy");
    fs::copy("/bin/true", &setuid).expect("a copy");
    for (path, mode) in [(folder.path(), 0o755), (&program, 0o755), (&setuid, 0o4755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
    }
    let run = |user: u32| {
        let mut command = Command::new(&program);
        command.arg("--").arg(&setuid).current_dir(folder.path()).uid(user).gid(user);
        let output = command.output().expect("the build starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        text
    };
    assert!(run(65534).contains("a setuid program has no rights of its user"));
    assert!(!run(0).contains("no rights"));
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("a file");
}

#[test]
fn a_full_disk_ends_the_build_before_the_old_output_is_touched() {
    let name = "a_full_disk_ends_the_build_before_the_old_output_is_touched";
    if skips() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let small = folder.path().join("small");
    fs::create_dir(&small).expect("a folder");
    fs::write(folder.path().join("a.c"), "int a;\n").expect("a source");
    let before = vec![b'x'; 1 << 20];
    fs::write(folder.path().join("a.o"), &before).expect("an object");
    fs::write(folder.path().join("build.sh"), "gcc -c a.c\ngcc -c a.c -o b.o\necho done\n")
        .expect("a script");
    // The file system is this process's own.
    let script = "mount -t tmpfs -o size=64k none small && TMPDIR=$PWD/small exec \"$@\"";
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", script, "sh", PROGRAM, "--", "sh", "build.sh"])
        .current_dir(folder.path())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return report_skip(name, &format!("unshare: {error}")),
    };
    let text = String::from_utf8_lossy(&output.stderr);
    if text.starts_with("unshare") || text.starts_with("mount") {
        return report_skip(name, text.trim_end());
    }
    assert_eq!(output.status.code(), Some(126), "{text}");
    assert!(text.contains("cannot keep a copy of") && text.contains("set TMPDIR"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(fs::read(folder.path().join("a.o")).expect("the object") == before);
    assert!(!folder.path().join("b.o").exists());
    assert!(output.stdout.is_empty());
}

#[test]
fn nobody_is_reached_before_the_commands_have_succeeded() {
    if skips() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let functions: String =
        (0..500).map(|n| format!("int s{n}(int x) {{ return x * {n} / 7; }}\n")).collect();
    write(folder.path(), "good.c", &functions);
    write(folder.path(), "bad.c", &format!("{functions}int bad(void) {{ return undeclared; }}\n"));
    write(folder.path(), "Makefile", "%.o: %.c\n\tgcc -O1 -c $<\n");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    listener.set_nonblocking(true).expect("a socket that does not wait");
    let port = listener.local_addr().expect("its address").port();
    let client = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
    let reaches = |line: &str| {
        let status = Command::new(PROGRAM)
            .args(["--quiet", "--", "sh", "-c", line])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("the build starts");
        (status.success(), listener.accept().is_ok())
    };
    assert_eq!(reaches(&format!("make good.o && {client}")), (true, true));
    assert_eq!(reaches(&format!("make bad.o && {client}")), (false, false));
    assert_eq!(reaches(&format!("gcc -c bad.c || exit 1; {client}")), (false, false));
}
