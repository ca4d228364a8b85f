//! Waits of threads for each other in OpenMP's runtime, in words and as a table.

use morecores_study::Quantity;
use morecores_view::page::TableCell;
use morecores_view::{OpenMpRegion, OpenMpView, TraceView};

use crate::format::{ABSENT, cpu_share, cpus, percent_with_error};
use crate::table::{Column, ColumnKind, Table};
use crate::trace::total_cpu_seconds;

/// Share of all CPU time from which the waits of a command have a sentence.
const LEAST_SHARE: f64 = 0.01;

/// Number of regions shown of a run.
const MAX_ROWS: usize = 10;

/// One sentence for each command whose threads waited for each other for a notable time, or spun
/// between its regions.
pub(crate) fn openmp_sentences(trace: &TraceView) -> Vec<String> {
    let whole = total_cpu_seconds(trace);
    let is_notable =
        |row: &&OpenMpView| whole > 0.0 && row.waited_s + row.spun_between_s >= LEAST_SHARE * whole;
    let in_cpus = |seconds: f64| cpu_share(seconds / trace.elapsed_s);
    let sentence = |row: &OpenMpView| {
        format!(
            "Threads of {} waited for each other in OpenMP's parallel regions for {} of {} ({} spinning, {} asleep), and \
             spun between regions for {}.",
            row.command,
            in_cpus(row.waited_s),
            cpus(trace.cpus),
            in_cpus(row.spun_s),
            in_cpus(row.slept_s),
            in_cpus(row.spun_between_s),
        )
    };
    trace.openmp.iter().filter(is_notable).map(sentence).collect()
}

/// Parallel regions with the longest waits; none without such waits.
pub(crate) fn openmp_table(trace: &TraceView) -> Option<Table> {
    let regions = trace.openmp.iter().flat_map(|row| row.regions.iter().map(move |region| (row, region)));
    let mut rows: Vec<(&OpenMpView, &OpenMpRegion)> = regions.collect();
    rows.sort_by(|(_, one), (_, other)| other.waited_s.total_cmp(&one.waited_s));
    rows.truncate(MAX_ROWS);
    if rows.is_empty() {
        return None;
    }
    let whole = total_cpu_seconds(trace);
    let names = |rank: u8, header: &str, name: fn(&OpenMpView, &OpenMpRegion) -> String| {
        let cells = rows.iter().map(|(row, region)| TableCell::name(name(row, region)));
        Column::new(ColumnKind::Name(rank), header, cells)
    };
    let waited = rows.iter().map(|(_, region)| {
        let [share, error] = [region.waited_s, region.waited_error_s].map(|seconds| seconds / whole);
        TableCell::figure(Quantity::Share, Some(share), percent_with_error(share, error))
    });
    let columns = vec![
        names(0, "opened in", |_, region| region.caller.clone()),
        names(1, "code", |_, region| region.function.clone().unwrap_or_else(|| ABSENT.to_owned())),
        names(3, "source", |_, region| region.source.clone().unwrap_or_else(|| ABSENT.to_owned())),
        names(2, "command", |row, _| row.command.clone()),
        Column::figures(0, "threads wait", waited),
    ];
    Some(Table::new(format!("OpenMP's parallel regions on {}, of all CPU time", cpus(trace.cpus)), columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(waited_s: f64, spun_s: f64, spun_between_s: f64) -> OpenMpView {
        let region = OpenMpRegion {
            function: Some("solve._omp_fn.0".to_owned()),
            caller: "solve".to_owned(),
            source: None,
            module: None,
            waited_s,
            waited_error_s: 0.02,
        };
        OpenMpView {
            command: "model".to_owned(),
            waited_s,
            waited_error_s: 0.02,
            spun_s,
            slept_s: waited_s - spun_s,
            spun_between_s,
            regions: vec![region],
        }
    }

    fn trace(openmp: Vec<OpenMpView>) -> TraceView {
        let view = include_str!("../../accuracy/tests/view.json");
        let view: TraceView = serde_json::from_str(view).expect("a view");
        TraceView { openmp, cpus: 2, elapsed_s: 10.0, ..view }
    }

    #[test]
    fn the_sentence_has_cpus_and_both_kinds_of_waits() {
        assert_eq!(
            openmp_sentences(&trace(vec![row(4.2, 3.0, 1.0)])),
            [
                "Threads of model waited for each other in OpenMP's parallel regions for 0.42 of 2 CPUs (0.30 spinning, \
              0.12 asleep), and spun between regions for 0.10."
            ]
        );
        assert!(openmp_sentences(&trace(vec![row(0.1, 0.1, 0.0)])).is_empty());
        assert_eq!(openmp_sentences(&trace(vec![row(0.0, 0.0, 1.0)])).len(), 1);
    }

    #[test]
    fn a_trace_without_regions_has_no_table() {
        assert!(openmp_table(&trace(Vec::new())).is_none());
        assert!(openmp_table(&trace(vec![row(4.2, 3.0, 1.0)])).is_some());
    }
}
