//! `raytrace`: POV-Ray, the ray tracer of source 002, on a scene of this project or on its own
//! benchmark.
//!
//! The program is Debian's. This module holds the arguments, starts the program and checks its
//! picture. Its arguments and its output are in `povray`, the picture in `picture`.

mod picture;
mod povray;

use std::fmt;
use std::fs;
use std::path::Path;

use clap::ValueEnum;
use morecores_study::Nanos;

use crate::cleanup::CleanupProcess;
use crate::{Checksum, Outcome, Rate, Threads, WorkloadError, memory, processes};
use picture::Picture;
use povray::Job;

/// Arguments that determine the memory, for messages.
const MEMORY_ARGUMENTS: &str = "--width or --height";

/// Maximum pixels per side: four times the width of an 8K screen.
const MAX_SIDE: i64 = 32_768;

/// Minimum number of rows: the check needs a strip that is smaller than the picture.
const MIN_HEIGHT: i64 = 16;

/// Path of the benchmark in Debian's package of examples.
const BENCHMARK: &str = "/usr/share/doc/povray/examples/advanced/benchmark/benchmark.pov";

/// Mean brightness of the benchmark's picture, 0 to 255, in a grid of four by four parts, from
/// POV-Ray 3.7.0.10 at 320x240; rows from the top.
const BENCHMARK_PARTS: [u8; picture::PART_COUNT] =
    [164, 190, 225, 217, 138, 128, 102, 120, 127, 111, 104, 126, 156, 112, 114, 107];

/// Tolerance for the brightness of a part: noise and another size change the mean of a part by less
/// than 4.
const BENCHMARK_TOLERANCE: u8 = 12;

/// Arguments of `raytrace`. `--help` says how much memory they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
#[command(after_help = "\
Requirements: Debian's packages povray and, for the benchmark, povray-examples.
Memory: 48 bytes for each pixel (3.5 MiB by default), and POV-Ray's own: about 10 MiB and 3 MiB for each thread; with \
the benchmark up to 200 MiB.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Scene to trace
    #[arg(long, value_enum, default_value_t = Scene::Vase)]
    scene: Scene,
    /// Width of the picture, in pixels
    #[arg(long, value_name = "PIXELS", default_value = "320")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_SIDE))]
    width: u32,
    /// Height of the picture, in pixels
    #[arg(long, value_name = "PIXELS", default_value = "240")]
    #[arg(value_parser = clap::value_parser!(u32).range(MIN_HEIGHT..=MAX_SIDE))]
    height: u32,
}

/// Scene to trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scene {
    /// A glass vase on marble under clouds, written for morecores
    Vase,
    /// POV-Ray's standard benchmark: about 30 times the work
    Benchmark,
}

impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vase => "vase",
            Self::Benchmark => "benchmark",
        })
    }
}

impl Scene {
    /// Text of the scene.
    fn text(self) -> Result<Vec<u8>, WorkloadError> {
        match self {
            Self::Vase => Ok(include_bytes!("../scenes/vase.pov").to_vec()),
            Self::Benchmark => fs::read(BENCHMARK).map_err(|_| WorkloadError::NotInstalled {
                program: "POV-Ray's benchmark scene".to_owned(),
                package: "povray-examples",
            }),
        }
    }
}

/// Traces a scene according to `args` and checks the picture.
///
/// # Errors
/// A missing POV-Ray or scene, too little memory, no room for the scene, a failure of POV-Ray, or a
/// wrong picture.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    let (width, height) = (args.width as usize, args.height as usize);
    memory::require(povray::memory(width * height, args.threads.count()), MEMORY_ARGUMENTS)?;
    let text = args.scene.text()?;
    let cleanup = CleanupProcess::new()?;
    processes::require(povray::threads(args.threads.count()))?;
    let directory = cleanup.make_directory(&std::env::temp_dir())?;
    let job = Job { directory: &directory, width, height, rows: 0..height, threads: args.threads.count() };
    job.write_scene(&text)?;
    let trace_result = job.trace(&cleanup)?;
    let check_name = match args.scene {
        Scene::Vase => check_strip(&cleanup, &directory, &job, &trace_result.picture)?,
        Scene::Benchmark => check_parts(&trace_result.picture)?,
    };
    Ok(Outcome {
        name: "raytrace",
        parameters: format!("{}, {width}x{height} pixels, {}", args.scene, args.threads),
        parallel_time: trace_result.time,
        // A picture too small for POV-Ray's clock still took some time.
        rate: Rate {
            value: (width * height) as f64 / trace_result.time.max(Nanos(1)).as_secs_f64(),
            unit: "pixels/s",
        },
        figures: Vec::new(),
        checksum: Checksum(crc32fast::hash(trace_result.picture.bytes())),
        check_name,
    })
}

/// Traces a strip of a sixteenth of the rows again, at the place with most of the scene. The strip
/// uses other blocks and so another order, and its pixels must be identical.
fn check_strip(
    cleanup: &CleanupProcess,
    directory: &Path,
    job: &Job<'_>,
    picture: &Picture,
) -> Result<&'static str, WorkloadError> {
    let first = job.height * 5 / 8;
    let rows = first..first + job.height / 16;
    let strip = Job { directory, rows: rows.clone(), ..job.clone() }.trace(cleanup)?.picture;
    match strip.first_difference(picture, rows) {
        None => Ok("a strip was traced again"),
        Some((x, y)) => Err(WorkloadError::WrongResult {
            what: format!("raytrace, pixel {x},{y}"),
            expected: format!("{:?}", strip.pixel(x, y)),
            got: format!("{:?}", picture.pixel(x, y)),
        }),
    }
}

/// Compares the brightness of the picture's parts. The benchmark has jittered lights, so every
/// order of tracing gives another picture, but only a slightly different one.
fn check_parts(picture: &Picture) -> Result<&'static str, WorkloadError> {
    let parts = picture.parts();
    let is_near = |(got, expected): (&u8, &u8)| got.abs_diff(*expected) <= BENCHMARK_TOLERANCE;
    if parts.iter().zip(&BENCHMARK_PARTS).all(is_near) {
        return Ok("brightness of 16 parts");
    }
    Err(WorkloadError::WrongResult {
        what: "raytrace, brightness of 16 parts of the picture".to_owned(),
        expected: format!("{BENCHMARK_PARTS:?} within {BENCHMARK_TOLERANCE}"),
        got: format!("{parts:?}"),
    })
}
