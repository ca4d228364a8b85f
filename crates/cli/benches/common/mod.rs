//! Code shared by the benches.

use std::time::{Duration, Instant};

use morecores_machine::activity::CpuClocks;

/// Path of this program.
#[allow(dead_code, reason = "not every bench runs itself")]
pub(crate) fn itself() -> String {
    std::env::current_exe().unwrap().to_string_lossy().into_owned()
}

/// Prints how busy the machine is before the measurement.
pub(crate) fn quiet() {
    let (before, begun) = (CpuClocks::read(), Instant::now());
    std::thread::sleep(Duration::from_secs(2));
    let done = CpuClocks::read().since(&before, |_| true);
    let busy = done.busy.as_secs_f64() / begun.elapsed().as_secs_f64();
    let verdict = if busy > 0.1 { "NOT quiet: repeat on a quiet machine" } else { "quiet" };
    println!("before: {busy:.2} CPUs busy, steal {:.2} s: {verdict}", done.steal.as_secs_f64());
}
