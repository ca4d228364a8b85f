//! A trace names a CPU that is taken offline during the trace. This test is alone in its binary: it
//! takes the machine's last CPU offline, and the tests of one binary run concurrently.

#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use morecores_study::CpuSet;
use morecores_testkit::report_skip;
use morecores_trace::{Options, Tracer};

/// A CPU that is offline until this value is dropped.
struct Offline(PathBuf);

impl Offline {
    fn take(switch: PathBuf) -> std::io::Result<Self> {
        fs::write(&switch, "0")?;
        Ok(Self(switch))
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        fs::write(&self.0, "1").unwrap();
    }
}

#[test]
fn an_offline_cpu_is_named_and_does_not_affect_the_next_trace() {
    const NAME: &str = "an_offline_cpu_is_named_and_does_not_affect_the_next_trace";
    let online: CpuSet =
        fs::read_to_string("/sys/devices/system/cpu/online").unwrap().trim().parse().unwrap();
    let cpu = online.iter().next_back().unwrap();
    let switch = PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}/online"));
    if online.len() < 2 || !switch.exists() {
        return report_skip(NAME, "no CPU here can be taken offline");
    }
    let mut tracer = match Tracer::open(&Options::new(online)) {
        Ok(tracer) if tracer.bpf_refusal().is_none() => tracer,
        Ok(tracer) => return report_skip(NAME, &tracer.bpf_refusal().unwrap().to_string()),
        Err(error) => return report_skip(NAME, &error.to_string()),
    };
    let mut traced = |hotplug: bool| {
        tracer.begin(Box::new(|_, _| Ok(()))).unwrap();
        let mut command = Command::new("sleep").arg("0.4").spawn().unwrap();
        let offline = hotplug.then(|| Offline::take(switch.clone()));
        sleep(Duration::from_millis(100));
        let refused = offline.is_some_and(|taken| taken.is_err());
        assert!(command.wait().unwrap().success());
        (refused, tracer.end().unwrap())
    };
    let (refused, recorded) = traced(true);
    if refused {
        return report_skip(NAME, "taking a CPU offline is refused: it needs root");
    }
    let told: Vec<_> = recorded.untraced.iter().filter(|untraced| untraced.why.contains("offline")).collect();
    assert_eq!(told.len(), 1, "{:?}", recorded.untraced);
    assert_eq!(told[0].what, format!("CPU {cpu} for a part of the run"));
    assert!(traced(false).1.untraced.iter().all(|untraced| !untraced.why.contains("offline")));
}
