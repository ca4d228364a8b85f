//! The traced run whose details are shown, and that advice is about.

use morecores_view::{TraceView, advice, view};

use super::studies::clean_study;
use super::trace;

/// A run that was traced for a prediction, with a larger `{n}`, has no timed runs.
#[test]
fn a_trace_for_a_prediction_is_not_the_main_one() {
    let made = clean_study(&[1, 2]);
    let counts = [(1, 1), (2, 2), (2, 64)];
    let traces: Vec<TraceView> = counts.iter().map(|(cpus, n)| trace(*cpus, *n, 4.0)).collect();
    let shown = view(&made, &traces);
    let main = shown.main_trace().expect("a trace");
    assert_eq!((main.cpus, main.n), (2, 2));
    assert_eq!(advice(&shown, Vec::new()).map(|advice| advice.cpus), Some(2));
    let only_predicted = view(&made, &traces[2..]);
    assert_eq!(only_predicted.main_trace().map(|trace| trace.n), Some(64));
    assert_eq!(advice(&only_predicted, Vec::new()), None);
}
