//! Speed of this machine's memory: measured once after a start of the machine, and kept for the
//! studies that follow.

use std::fs;
use std::time::Duration;

use morecores_machine::placement::CpuOrder;
use morecores_machine::{PinnedThreadError, memory_speed};
use morecores_study::memory_speed::MemorySpeed;
use morecores_study::topology::Topology;
use morecores_study::{CpuSet, Placement, Plan};
use morecores_view::machine_memory::machine_memory;
use serde::{Deserialize, Serialize};

use crate::state_file;

/// Name of the file of the kept measurement.
const FILE: &str = "memory-speed.json";

/// Time for the measurement by `doctor`: six rounds on a machine of a few CPUs.
pub(super) const DOCTOR_BUDGET: Duration = Duration::from_secs(3);

/// Time for the measurement by `run`, before its first run.
const RUN_BUDGET: Duration = Duration::from_secs(2);

/// Policy whose order of CPUs is measured: the usual one of a study.
const CPU_POLICY: Placement = Placement::CoresFirst;

/// Measurement with the conditions under which it holds.
#[derive(Debug, Serialize, Deserialize)]
struct KeptSpeed {
    /// Start of the machine, as the kernel identifies it.
    boot_id: String,
    /// CPUs that could be used.
    cpus: CpuSet,
    speed: MemorySpeed,
}

/// Measures the memory, and keeps the result unless other work disturbed it.
///
/// # Errors
/// A CPU cannot be used, or a thread cannot be started.
pub(super) fn measure(topology: &Topology, budget: Duration) -> Result<MemorySpeed, PinnedThreadError> {
    let order = cpu_order(topology);
    let speed = memory_speed::measure(topology, &order, topology.usable.count, budget)?;
    if !speed.points.is_empty() && !machine_memory(&speed).is_disturbed() {
        keep(topology, &speed);
    }
    Ok(speed)
}

/// Speed of the memory for a study with this plan. It is measured now if it would narrow the
/// prediction of the study: if the machine has more CPUs than the largest of several counts. Absent
/// if it is unknown, or if other work disturbed the measurement.
pub(super) fn for_study(topology: &Topology, plan: &Plan) -> Option<MemorySpeed> {
    if let Some(speed) = kept(topology) {
        return Some(speed);
    }
    let (least, most) = (plan.points.first()?.cpus, plan.points.last()?.cpus);
    let is_useful = plan.placement == Some(CPU_POLICY)
        && least < most
        && plan.predict.iter().any(|target| *target > most && *target as usize <= topology.usable.count);
    if !is_useful {
        return None;
    }
    match measure(topology, RUN_BUDGET) {
        Ok(speed) => {
            let share = machine_memory(&speed).others_share;
            tracing::info!(points = speed.points.len(), others_share = share, "measured the memory's speed");
            Some(speed).filter(|speed| !machine_memory(speed).is_disturbed())
        }
        Err(error) => {
            tracing::info!(%error, "cannot measure the memory's speed");
            None
        }
    }
}

fn cpu_order(topology: &Topology) -> CpuOrder {
    CpuOrder::from_policy(topology, &topology.usable.cpus, CPU_POLICY)
}

/// Measurement that was kept since the machine started, for the same CPUs.
fn kept(topology: &Topology) -> Option<MemorySpeed> {
    let text = fs::read_to_string(state_file::path(FILE)?).ok()?;
    let kept: KeptSpeed = serde_json::from_str(&text).ok()?;
    let is_same = kept.boot_id == boot_id()? && kept.cpus == topology.usable.cpus;
    is_same.then_some(kept.speed)
}

/// Keeps a measurement. A failure is only logged: it changes no figure.
fn keep(topology: &Topology, speed: &MemorySpeed) {
    let Some((boot_id, file)) = boot_id().zip(state_file::path(FILE)) else { return };
    let kept = KeptSpeed { boot_id, cpus: topology.usable.cpus.clone(), speed: speed.clone() };
    let written = serde_json::to_string(&kept)
        .map_err(std::io::Error::from)
        .and_then(|text| state_file::write(&file, &text));
    match written {
        Ok(()) => tracing::info!(file = %file.display(), "kept the memory's speed"),
        Err(error) => tracing::info!(file = %file.display(), %error, "cannot keep the memory's speed"),
    }
}

/// Identity of this start of the machine; absent if the kernel does not tell it.
fn boot_id() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}
