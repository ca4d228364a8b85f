//! Tests of figures that the command prints: none is taken for another, several are kept, and zero
//! is a figure.

mod harness;

use harness::{World, report_skip, usable_cpus};

/// Options for two timed runs on one CPU.
const ONE: &str = "--cpus 1 --runs 2 --warmup 0 --precision 0";

/// Arguments that run a shell line.
fn sh(line: &str) -> [&str; 3] {
    ["sh", "-c", line]
}

#[test]
fn a_decimal_comma_is_read_but_not_a_thousands_separator() {
    const NAME: &str = "a_decimal_comma_is_read_but_not_a_thousands_separator";
    if usable_cpus() < 2 {
        return report_skip(NAME, "there is one CPU");
    }
    let world = World::new();
    let line = "case {n} in 1) echo 'throughput: 9,9 MB/s';; *) echo 'throughput: 10,15 MB/s';; esac";
    let options = "-q --cpus 1,2 --runs 2 --warmup 0 --precision 0 --metric throughput:.([0-9.,]+)";
    world.run(options, &sh(line)).success();
    let view = world.shown("--json");
    let medians: Vec<f64> = view["points"]
        .as_array()
        .expect("points")
        .iter()
        .filter_map(|p| p["metric"]["median"].as_f64())
        .collect();
    assert_eq!(medians, [9.9, 10.15]);
    assert_eq!(view["points"][0]["metric"]["unit"], "MB/s");
}

#[test]
fn an_ambiguous_number_is_refused_with_advice() {
    for (output, regex, parts) in [
        ("rate: 1,234", "rate:.(\\S+)", ["1,234", "--decimal-mark"]),
        ("rate: 9,9", "rate:.([0-9.]+)", ["`9`", "9,9"]),
        ("rate: 1 234", "rate:.([0-9.]+)", ["`1`", "1 234"]),
        ("real 1m1.5s", "real.*m([0-9.]+)", ["1.5", "1m1.5s"]),
        ("ops=12 time=3", "ops=([0-9]+)", ["`3`", "ops=ops="]),
    ] {
        let world = World::new();
        let ran = world.run(&format!("{ONE} --metric {regex}"), &["echo", output]);
        assert!(!ran.status.success(), "{ran}");
        ran.says(&parts);
    }
    let with_mark = World::new();
    with_mark
        .run(&format!("-q {ONE} --decimal-mark comma --metric rate:.(\\S+)"), &["echo", "rate: 1,234"])
        .success();
    assert_eq!(with_mark.timed_runs()[0].metric, Some(1.234));
}

#[test]
fn a_unit_that_changes_between_runs_is_converted_or_refused() {
    let line = |first: &str, then: &str| {
        format!("if [ -e seen ]; then echo 'took {then}'; else touch seen; echo 'took {first}'; fi")
    };
    let world = World::new();
    let options = format!("-q {ONE} --lower-is-better --metric took.([0-9.]+)");
    world.run(&options, &sh(&line("980 us", "1.02 ms"))).success();
    let values: Vec<f64> = world.timed_runs().iter().filter_map(|run| run.metric).collect();
    assert!((values[0], values[1].round()) == (980.0, 1020.0), "{values:?}");

    let ran = World::new().run(&options, &sh(&line("980 KB", "1.02 MB")));
    assert!(!ran.status.success(), "{ran}");
    ran.says(&["1.02", "MB", "KB"]);
}

#[test]
fn all_metrics_are_kept_and_the_first_decides_the_speedup() {
    const NAME: &str = "all_metrics_are_kept_and_the_first_decides_the_speedup";
    if usable_cpus() < 2 {
        return report_skip(NAME, "there is one CPU");
    }
    let world = World::new();
    let options = "--cpus 1,2 --runs 6 --warmup 0 --precision 0 --metric rate=rate:.([0-9]+) \
                   --metric p99=p99:.([0-9.]+) --metric errors=errors:.([0-9]+) --unit req/s --unit p99=ms";
    let ran = world.run(options, &sh("echo rate: $((100 * {n})), p99: 7.5, errors: 0"));
    ran.success().prints(&["rate", "p99", "errors", "7.500"]);
    let view = world.shown("--json");
    let point = &view["points"][1];
    assert_eq!(point["speedup"]["value"], 2.0);
    assert_eq!((&point["metric"]["name"], &point["metric"]["median"]), (&"rate".into(), &200.0.into()));
    let further = point["further_metrics"].as_array().expect("further metrics");
    let further: Vec<_> =
        further.iter().map(|m| (m["name"].as_str(), m["median"].as_f64(), m["unit"].as_str())).collect();
    assert_eq!(further, [(Some("p99"), Some(7.5), Some("ms")), (Some("errors"), Some(0.0), None)]);
    let csv = world.morecores(&["show", "study", "--csv"]);
    csv.success().prints(&["p99_median,p99_low,p99_high,p99_unit,errors_median", "7.5,7.5,7.5,ms"]);
    world.morecores(&["show", "study", "--markdown"]).success().prints(&["p99 (ms)"]);
    world.morecores(&["report", "study", "-o", "page.html"]).success();
    let page = std::fs::read_to_string(world.path("page.html")).expect("a page");
    assert!(page.contains(r#""further_metrics":[7.5,0.0]"#), "the page has the further metrics of each run");
}

#[test]
fn a_cost_of_zero_is_kept_without_a_ratio() {
    const NAME: &str = "a_cost_of_zero_is_kept_without_a_ratio";
    if usable_cpus() < 2 {
        return report_skip(NAME, "there is one CPU");
    }
    let options = "--cpus 1,2 --runs 6 --warmup 0 --precision 0 --lower-is-better --metric misses:.([0-9]+)";
    let zero = World::new();
    let ran = zero.run(options, &sh("echo misses: $((8 - 4 * {n}))"));
    ran.success().prints(&["It cannot be told yet: some figures are zero", "4.00 on 1 CPU and 0"]);
    for form in ["--json", "--csv", "--markdown"] {
        zero.morecores(&["show", "study", form]).success();
    }
    zero.morecores(&["report", "study", "-o", "page.html"]).success();
    zero.morecores(&["compare", "study", "study"]).success();
}
