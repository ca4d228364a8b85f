//! Studies of locks for tests: the smallest one, and a page with invented figures for tests of a
//! reader's actions.
#![allow(dead_code)]

use std::fs;
use std::path::PathBuf;

use morecores_study::lock::{ContentionSample, LockCell, LockName, LockSample, LockStudyWriter};
use morecores_study::{Closing, Nanos, Quantity, StopReason};
use morecores_testkit::{lock_header, lock_plan, lock_time};
use morecores_view::page::{Page, PageLocks};
use serde_json::{Value, json};

use super::World;
use super::studies::build;

/// Arguments of `morecores` for the smallest study of locks.
pub(crate) const TINY: [&str; 13] =
    ["locks", "--lock", "std", "--threads", "1", "--hold", "0", "--think", "0", "--runs", "1", "-o", "study"];

/// Script of a laboratory that answers at once: some nanoseconds for a time, one turn of each
/// thread for contention. It appends each question to the file `asked`.
pub(crate) const LABORATORY: &str = r#"#!/bin/sh
echo "$1" >>asked
case $1 in
*contest*) threads=${1#*threads\":}; threads=${threads%%,*}
    turns=1; waits=7; while [ "$threads" -gt 1 ]; do turns=$turns,1; waits=$waits,7; threads=$((threads - 1)); done
    echo "{\"of\":\"contest\",\"window_ns\":1000,\"turns\":[$turns],\"user_ns\":900,\"system_ns\":0,\"longest_waits_ns\":[$waits]}" ;;
*preempted*) echo '{"of":"preempted","waited_ns":9,"burned_ns":1,"waits":3}' ;;
*) echo '{"of":"time","ns":15.5}' ;;
esac
"#;

/// Locks of the page, of morecores and of the system, each with its hand-over time in nanoseconds.
const LOCKS: [(&str, f64); 5] = [
    ("spin", 90.0),
    ("block", 5_200.0),
    ("adaptive", 140.0),
    ("parking-lot", 180.0),
    ("pthread-normal", 900.0),
];
const THREADS: [u32; 3] = [1, 2, 4];
const HOLDS_NS: [u64; 3] = [0, 1_000, 100_000];
/// Number of CPUs of the page's machine.
const CPUS: u32 = 2;

/// Study of locks with this name, on the machine of the committed study of a build.
pub(crate) fn locks(name: &str) -> PageLocks {
    let head = fs::read_to_string(build().join("study.json")).expect("a head");
    let head: Value = serde_json::from_str(&head).expect("JSON");
    let lock_names = LOCKS.map(|(lock, _)| lock);
    let costs = LOCKS.map(|(lock, handoff)| {
        json!({
            "lock": lock, "free_ns": estimate(12.0), "hand_over_ns": estimate(handoff),
            "preempted_burned": estimate(if lock == "spin" { 0.98 } else { 0.01 }), "preempted_wait_ns": estimate(3.9e6),
            "longest_wait_ns": 8_123_456,
        })
    });
    let points = THREADS.map(|threads| HOLDS_NS.map(|hold| point(threads, hold))).concat();
    let rows: Vec<(String, f64, f64)> = points.iter().flat_map(rows).collect();
    let names = |header: &str, names: &[&str]| {
        let cell = |name: &&str| json!({"value": null, "unit": null, "text": name});
        json!({"header": header, "figures": false, "cells": names.iter().map(cell).collect::<Vec<_>>()})
    };
    let figures = |header: &str, unit: Quantity, values: &[f64]| {
        let cell = |value: &f64| json!({"value": value, "unit": unit, "text": unit.text(*value)});
        json!({"header": header, "figures": true, "cells": values.iter().map(cell).collect::<Vec<_>>()})
    };
    let contention = json!({
        "title": "Under contention",
        "columns": [
            names("lock", &rows.iter().map(|row| row.0.as_str()).collect::<Vec<_>>()),
            figures("threads", Quantity::Count, &rows.iter().map(|row| row.1).collect::<Vec<_>>()),
            figures("holds a second", Quantity::Rate, &rows.iter().map(|row| row.2).collect::<Vec<_>>()),
        ],
        "now": vec![true; rows.len()],
    });
    let free = json!({
        "title": "Each lock by itself",
        "columns": [
            names("lock", &lock_names),
            figures("free", Quantity::Time, &[12e-9; LOCKS.len()]),
            figures("hand-over", Quantity::Time, &LOCKS.map(|(_, ns)| ns * 1e-9)),
        ],
        "now": vec![true; LOCKS.len()],
    });
    let page = json!({
        "name": name,
        "command": "morecores locks --threads 1,2,4 --hold 0,1us,100us",
        "cpus": CPUS,
        "view": {
            "schema": "morecores.locks-view/1",
            "plan": {
                "locks": lock_names, "cpus": "0-1", "threads": THREADS, "holds": HOLDS_NS, "thinks": ["hold"],
                "rounds": 10, "window_ns": 20_000_000, "watched_ns": 100_000_000, "watched_rounds": 3, "seed": 7,
            },
            "host": head["host"], "rounds": 10, "whole": true, "damaged_lines": 0, "steal": 0.004,
            "prices": {
                "switch_ns": estimate(1_620.0), "wake_ns": estimate(5_200.0),
                "lines": [{"from": 0, "to": 1, "ns": estimate(61.0)}, {"from": 1, "to": 0, "ns": estimate(63.0)}],
            },
            "locks": costs, "points": points, "cost_model": null,
            "advice": [{"situation": "more_threads_than_cpus", "take": ["block"], "never": ["spin"], "worst": 0.08}],
        },
        "advice": [
            {"lead": "No other thread wants it", "rest": "take any; spin is the cheapest at 12.0 ns."},
            {"lead": "Held under 5.20 µs, a CPU for each thread", "rest": "take adaptive, or spin."},
            {"lead": "More threads than CPUs", "rest": "take block; never spin, which reaches 8.0% of its rate."},
        ],
        "prices": ["A context switch takes 1.62 µs.", "A cache line takes 62.0 ns from one CPU to another."],
        "tables": [free, contention],
        "notices": [{"severity": "caution", "text": "The hypervisor took 0.40% of the CPUs' time."}],
    });
    serde_json::from_value(page).expect("a study of locks of a page")
}

/// Writes a whole study of two locks to disk. Each thread at one lock takes it three times as often
/// as a thread at the other.
pub(crate) fn lock_study(world: &World) -> PathBuf {
    let path = world.path("desk.study");
    let plan = lock_plan();
    let mut writer = LockStudyWriter::create(&path, lock_header(plan.clone())).expect("a study");
    for round in 0..plan.rounds {
        for &cell in plan.experiment().cells_of_round(round) {
            let mut run = lock_time(round, cell, 1_500.0);
            run.sample = sample(cell, plan.window_ns).unwrap_or(run.sample);
            writer.append(&run).expect("room");
        }
    }
    writer
        .close(Closing {
            ended_at_ns: Nanos(2),
            reason: StopReason::RunsExhausted,
            other_programs: Vec::new(),
            quiet: None,
        })
        .expect("an end");
    path
}

/// Sample of a cell that does not time single operations.
fn sample(cell: LockCell, window_ns: Nanos) -> Option<LockSample> {
    match cell {
        LockCell::Contention { lock, threads, watched, .. } => {
            let turns = if lock == LockName::Adaptive { 3_000 } else { 1_000 };
            Some(LockSample::Contention(ContentionSample {
                window_ns,
                turns: vec![turns; threads as usize],
                user_ns: Nanos(window_ns.0 * u64::from(threads)),
                system_ns: Nanos::ZERO,
                longest_waits_ns: watched.then(|| vec![Nanos(4_000); threads as usize]),
            }))
        }
        LockCell::Preempted { .. } => {
            Some(LockSample::Preempted { waited_ns: Nanos(4_000_000), burned_ns: Nanos(40_000), waits: 1 })
        }
        _ => None,
    }
}

/// Writes a page of these studies to a file.
pub(crate) fn lock_page(world: &World, locks: Vec<PageLocks>) -> PathBuf {
    let page = Page { locks, ..Page::new("0.0.0") };
    let path = world.path("locks.html");
    fs::write(&path, morecores_report::page_html(&page).expect("a page")).expect("written");
    path
}

fn estimate(value: f64) -> Value {
    json!({"value": value, "ci95": [value * 0.94, value * 1.05]})
}

/// Point of the page. While threads queue for the lock, a turn takes the hold plus the hand-over. A
/// spinner wastes its time while the owner is off its CPU.
fn point(threads: u32, hold_ns: u64) -> Value {
    let busy = f64::from(threads.min(CPUS));
    let crowded = threads > CPUS;
    let rates = LOCKS.map(|(lock, handoff)| {
        let between = if threads == 1 { 12.0 + hold_ns as f64 } else { handoff };
        let lost = if crowded && lock == "spin" { 12.0 } else { 1.0 };
        1e9 / (hold_ns as f64 + between) / lost
    });
    let fastest = rates.into_iter().fold(0.0, f64::max);
    let results = LOCKS.iter().zip(rates).map(|(&(lock, _), rate)| {
        let burned = if threads == 1 { 0.01 } else if lock == "spin" { busy - 1.0 } else { 0.2 };
        json!({
            "lock": lock, "per_s": estimate(rate), "of_fastest": estimate(rate / fastest),
            "cpus": estimate(busy), "burned_cpus": estimate(burned),
            "luckiest": if threads == 1 { 1.0 } else { 1.4 }, "unluckiest": if threads == 1 { 1.0 } else { 0.6 },
            "longest_wait_ns": u64::from(threads) * (hold_ns + 1_000),
        })
    });
    json!({"threads": threads, "hold_ns": hold_ns, "think_ns": hold_ns, "results": results.collect::<Vec<_>>()})
}

/// Lock, threads and rate of each result, as text.
fn rows(point: &Value) -> Vec<(String, f64, f64)> {
    let results = point["results"].as_array().expect("results");
    let row = |result: &Value| {
        let rate = result["per_s"]["value"].as_f64().expect("a rate");
        let lock = result["lock"].as_str().expect("a name").to_owned();
        (lock, point["threads"].as_f64().expect("threads"), rate)
    };
    results.iter().map(row).collect()
}
