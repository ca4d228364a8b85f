//! Efficiencies of a traced run in the JSON of TALP, the monitor of the DLB library
//! (`src/talp/talp_output.c` and `FOR_DLB_POP_METRICS_FIELDS` in `src/talp/talp_types.h`).
//!
//! TALP measures programs that it is linked with; a trace measures any. Quantities that a trace
//! does not show (instructions, calls of MPI, accelerators) are absent. The time that is neither
//! useful work nor OpenMP's load imbalance is OpenMP's serialisation, as in TALP: the workers wait
//! while one thread runs.

use std::io::{self, Write};

use morecores_view::TraceView;
use serde::Serialize;

/// Nanoseconds in a second.
const NANOSECONDS: f64 = 1e9;

/// Machine and time of a traced run.
#[derive(Clone, Debug)]
pub struct TalpRun {
    /// Name and version of this program, in the place of DLB's.
    pub version: String,
    /// Time of the study, by ISO 8601.
    pub timestamp: String,
    /// Name of the machine.
    pub hostname: String,
    /// First process of the command.
    pub pid: u32,
    /// CPUs of the machine.
    pub machine_cpus: u32,
    /// Number of events that the trace lost: above zero, the efficiencies are guesses.
    pub lost_events: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    dlb_version: &'a str,
    timestamp: &'a str,
    resources: Resources,
    process_info: ProcessInfo<'a>,
    #[serde(rename = "Application")]
    application: Application,
    /// Mark of a lossy trace, in addition to TALP's own fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_events: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Resources {
    num_cpus: u32,
    num_available_cpus: u32,
    num_nodes: u32,
    num_mpi_ranks: u32,
    num_gpus: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProcessInfo<'a> {
    hostname: &'a str,
    pid: u32,
}

/// Regions of the application: the whole run.
#[derive(Serialize)]
struct Application {
    #[serde(rename = "Global")]
    global: Region,
}

/// Region; times in nanoseconds, those of several CPUs added up.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    num_cpus: u32,
    num_mpi_ranks: u32,
    num_nodes: u32,
    num_gpus: u32,
    num_measurements: u32,
    elapsed_time: i64,
    useful_time: i64,
    parallel_efficiency: f64,
    #[serde(flatten)]
    openmp: Option<OpenMp>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OpenMp {
    omp_load_imbalance_time: i64,
    omp_serialization_time: i64,
    omp_parallel_efficiency: f64,
    omp_load_balance: f64,
    omp_serialization_efficiency: f64,
}

/// Writes the efficiencies of a traced run. Returns whether the trace has them.
///
/// # Errors
///
/// Those of the output.
pub fn write_talp(view: &TraceView, run: &TalpRun, mut output: impl Write) -> io::Result<bool> {
    let Some(global) = region(view) else { return Ok(false) };
    let document = Document {
        dlb_version: &run.version,
        timestamp: &run.timestamp,
        resources: Resources {
            num_cpus: run.machine_cpus,
            num_available_cpus: view.cpus,
            num_nodes: 1,
            num_mpi_ranks: 0,
            num_gpus: 0,
        },
        process_info: ProcessInfo { hostname: &run.hostname, pid: run.pid },
        application: Application { global },
        lost_events: (run.lost_events > 0).then_some(run.lost_events),
    };
    serde_json::to_writer_pretty(&mut output, &document)?;
    output.write_all(b"\n")?;
    output.flush()?;
    Ok(true)
}

fn region(view: &TraceView) -> Option<Region> {
    let useful_s = view.efficiency_times?.useful_s;
    let whole_s = f64::from(view.cpus) * view.elapsed_s;
    let nanoseconds = |seconds: f64| (seconds * NANOSECONDS).round() as i64;
    let openmp = (!view.openmp.is_empty()).then(|| {
        let imbalance_s: f64 = view.openmp.iter().map(|command| command.waited_s).sum();
        // Sampled waits may exceed the rest of the time.
        let imbalance_s = imbalance_s.min((whole_s - useful_s).max(0.0));
        let without_imbalance_s = whole_s - imbalance_s;
        OpenMp {
            omp_load_imbalance_time: nanoseconds(imbalance_s),
            omp_serialization_time: nanoseconds((without_imbalance_s - useful_s).max(0.0)),
            omp_parallel_efficiency: useful_s / whole_s,
            omp_load_balance: without_imbalance_s / whole_s,
            omp_serialization_efficiency: useful_s / without_imbalance_s,
        }
    });
    (whole_s > 0.0).then(|| Region {
        num_cpus: view.cpus,
        num_mpi_ranks: 0,
        num_nodes: 1,
        num_gpus: 0,
        num_measurements: 1,
        elapsed_time: nanoseconds(view.elapsed_s),
        useful_time: nanoseconds(useful_s),
        parallel_efficiency: useful_s / whole_s,
        openmp,
    })
}

#[cfg(test)]
mod tests {
    use morecores_view::{EfficiencyTimes, OpenMpView};
    use serde_json::Value;

    use super::*;

    fn global(openmp: Vec<OpenMpView>) -> Value {
        let view = include_str!("../../accuracy/tests/view.json");
        let view: TraceView = serde_json::from_str(view).expect("a view");
        let times = EfficiencyTimes { useful_s: 12.0, longest_useful_s: 7.0, ideal_s: None };
        let view = TraceView { openmp, cpus: 2, elapsed_s: 10.0, efficiency_times: Some(times), ..view };
        let run = TalpRun {
            version: "morecores 1.0.0".to_owned(),
            timestamp: "2026-11-29T20:00:00Z".to_owned(),
            hostname: "host".to_owned(),
            pid: 41,
            machine_cpus: 4,
            lost_events: 0,
        };
        let mut text = Vec::new();
        assert!(write_talp(&view, &run, &mut text).expect("written"));
        let document: Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(document["resources"]["numAvailableCpus"], 2);
        document["Application"]["Global"].clone()
    }

    #[test]
    fn the_factors_of_openmp_multiply_to_the_parallel_efficiency() {
        let imbalance = OpenMpView {
            command: "model".to_owned(),
            waited_s: 5.0,
            waited_error_s: 0.1,
            spun_s: 4.0,
            slept_s: 1.0,
            spun_between_s: 0.0,
            regions: Vec::new(),
        };
        let global = global(vec![imbalance]);
        let of = |name: &str| global[name].as_f64().unwrap_or_else(|| panic!("{name} in {global}"));
        assert_eq!((of("ompLoadImbalanceTime"), of("ompSerializationTime")), (5e9, 3e9));
        let product = of("ompLoadBalance") * of("ompSerializationEfficiency");
        assert!((product - of("parallelEfficiency")).abs() < 1e-12 && of("parallelEfficiency") == 0.6);
    }

    #[test]
    fn a_program_without_openmp_has_no_such_fields() {
        let global = global(Vec::new());
        assert_eq!(global["usefulTime"], 12_000_000_000_i64);
        assert!(global.get("ompLoadBalance").is_none(), "{global}");
    }
}
