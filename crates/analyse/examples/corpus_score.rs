//! How far predictions for the programs of the corpus that are there for tuning are from the truth:
//!
//!     cargo run --release -p morecores-analyse --example corpus_score [-- each]

#![allow(clippy::print_stdout)]
#[path = "../tests/corpus/mod.rs"]
mod corpus;
use corpus::{Program, Size, TUNING, Watch, trace, truth};
use morecores_analyse::forecast::{Evidence, Measured, TracedProgram, forecast};
use morecores_analyse::trace::Timeline;
use rayon::prelude::*;
fn main() {
    let each = std::env::args().any(|a| a == "each");
    let programs: Vec<Program> = corpus::corpus(TUNING).collect();
    let only2 = std::env::args().any(|a| a == "two");
    for (from, to) in [(&[1u32][..], 2u32), (&[1, 2], 8), (&[1, 2, 4], 16)] {
        if only2 && to != 8 {
            continue;
        }
        let rows: Vec<(f64, bool, f64, String)> = programs
            .par_iter()
            .filter_map(|p| {
                let largest = *from.last()?;
                let read = |cpus: u32, n: u32| {
                    let t = trace(p, Size { cpus, n }, 99, Watch::Exact);
                    TracedProgram::of_timeline(&Timeline::new(&t.header, &t.events), cpus, n)
                };
                let points: Vec<Measured> = from
                    .iter()
                    .map(|&cpus| {
                        let own = corpus::simulate(p, Size { cpus, n: cpus }, 0, Watch::Untraced);
                        let work: f64 = own.threads.iter().map(|(_, t)| t.as_secs_f64()).sum();
                        Measured {
                            cpus,
                            elapsed: truth(p, cpus).as_secs_f64(),
                            error: 0.005,
                            deviation: 0.01,
                            work: Some(work),
                        }
                    })
                    .collect();
                let mut programs = vec![];
                if largest > 1 {
                    programs.extend(read(1, largest));
                    programs.extend(read(1, to));
                }
                programs.extend(read(largest, largest));
                programs.extend(read(largest, to));
                let e = Evidence { points, programs, told_n: true, is_time: true, ..Evidence::default() };
                let f = forecast(&e, &[to])?;
                let pt = f.points.last()?;
                let t = truth(p, to).as_secs_f64();
                let b = pt.elapsed_band90_s?;
                let err = pt.elapsed_s.unwrap_or((b[0] * b[1]).sqrt()) / t - 1.0;
                Some((err, b[0] <= t && t <= b[1], (b[1] - b[0]) / (b[0] * b[1]).sqrt(), p.to_string()))
            })
            .collect();
        if each {
            for r in &rows {
                println!("{to} {:+.3} {} {:.2} {}", r.0, r.1, r.2, r.3);
            }
        }
        let mut e: Vec<f64> = rows.iter().map(|r| r.0.abs()).collect();
        e.sort_by(f64::total_cmp);
        let mut w: Vec<f64> = rows.iter().map(|r| r.2).collect();
        w.sort_by(f64::total_cmp);
        let at = |v: &[f64], s: f64| 100.0 * v[((v.len() - 1) as f64 * s) as usize];
        println!(
            "to {to}: median {:.1} p90 {:.1} bias {:+.1} cover {:.0}% width {:.0}%",
            at(&e, 0.5),
            at(&e, 0.9),
            100.0 * rows.iter().map(|r| r.0).sum::<f64>() / rows.len() as f64,
            100.0 * rows.iter().filter(|r| r.1).count() as f64 / rows.len() as f64,
            at(&w, 0.5)
        );
    }
}
