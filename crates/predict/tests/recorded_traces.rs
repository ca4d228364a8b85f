//! Replays of recorded traces of real programs on the traced number of CPUs. The expected elapsed
//! time is the traced one, less the time lost to the machine and to idle CPUs by the scheduler; the
//! trace contains both.

use std::path::Path;

use morecores_explain::{DecodedTrace, trace_view};
use morecores_predict::demand::Demands;
use morecores_predict::replay::{Machine, replay};
use morecores_study::Nanos;
use morecores_study::trace::{read_trace_events, read_trace_headers, trace_name};

/// Largest difference of a replay beyond the part that the trace explains. This value is a choice:
/// the effects outside the replay (interrupts, the tracer, the switch itself) are of this size.
const ALLOWED: f64 = 0.015;

#[test]
fn replay_of_a_recorded_trace_takes_the_measured_time() {
    let traces =
        [("raytrace", "1-n2"), ("raytrace", "2-n8"), ("zstd", "1-n2"), ("zstd", "2-n4"), ("pigz", "1-n2")];
    for (program, name) in traces {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces").join(program);
        let headers = read_trace_headers(&path).expect("headers").whole;
        let header = headers.into_iter().find(|header| trace_name(header) == name).expect("its header");
        let decoded = read_trace_events(&path, &header).expect("its events");
        let trace = DecodedTrace::new(&header, decoded);
        let timeline = &trace.timeline;
        let demands = Demands::from_timeline(timeline).expect("the main process is in the trace");
        let machine = Machine {
            slice: demands.slice.unwrap_or(Machine::new(1).slice),
            wake_latency: demands.wake_latency.unwrap_or(Nanos::ZERO),
            ..Machine::new(header.run.cpus)
        };
        let replayed = replay(&demands.program, &machine);
        assert_eq!(replayed.forced_waits, 0, "{program} {name}: threads wait for each other without end");

        let error = replayed.elapsed.as_secs_f64() / timeline.elapsed().as_secs_f64() - 1.0;
        let went = trace_view(&trace, "x86_64").components;
        let lost =
            went.steal_s.unwrap_or(0.0) + went.idle_scheduling_s + went.other_processes_s + went.tracer_s;
        let lost = lost / (f64::from(header.run.cpus) * timeline.elapsed().as_secs_f64());
        assert!(
            (-lost - ALLOWED..=ALLOWED).contains(&error),
            "{program} {name}: {error:+.3}, of which the machine took {lost:.3}"
        );
        // More CPUs do not increase the elapsed time.
        let more = replay(&demands.program, &Machine { cpus: 16, ..machine });
        assert!(more.elapsed <= replayed.elapsed, "{program} {name}: {:?} on 16", more.elapsed);
    }
}
