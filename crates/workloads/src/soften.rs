//! `soften`: the softening of a true-colour bitmap, source 001's real-life example.
//!
//! Each pass replaces every pixel by the mean of its 3x3 neighbourhood, each colour for itself; beyond the edge counts
//! the nearest pixel inside. The bitmap is cut into bands of rows, one a
//! thread. This module holds the arguments and the order of events; the arithmetic is in `kernel`, the threads'
//! part in `band`, and `reference` repeats the published algorithm to check both.

mod band;
mod bitmap;
mod kernel;
mod neighbour;
mod reference;
mod sweep;

use std::fmt;

use clap::ValueEnum;
use morecores_study::Nanos;

use crate::{Checksum, Outcome, Rate, Threads, WorkloadError, memory, team};
use bitmap::Size;

/// Arguments that decide the memory, for messages.
const LOWER: &str = "--width or --height";

/// Pixels a side at most: 2^17, 17 times the width of an 8K screen. Keeps every size in bytes far inside 64 bits.
const MAX_SIDE: i64 = 131_072;

/// Arguments of `soften`. `--help` says how much memory they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
#[command(after_help = "\
Memory: 6 bytes a pixel (7.5 MiB by default), and for each thread after the first at most 144 bytes a pixel of width.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Width of the bitmap, in pixels of 3 bytes
    #[arg(long, value_name = "PIXELS", default_value = "1280")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_SIDE))]
    width: u32,
    /// Height of the bitmap, in pixels
    #[arg(long, value_name = "PIXELS", default_value = "1024")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_SIDE))]
    height: u32,
    /// How often the bitmap is softened [default: 6000 in row order, 300 in column order]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    passes: Option<u32>,
    /// How a thread walks over its band
    #[arg(long, value_enum, default_value_t = Order::Row)]
    order: Order,
    /// Start value of the random bitmap
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// What is computed again, outside the measured part, to check the result
    #[arg(long, value_enum, default_value_t = Check::LastPass)]
    check: Check,
}

/// How a thread walks over its band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// Along the rows, as the bitmap lies in memory
    Row,
    /// Down the columns, as published
    Column,
}

impl Order {
    /// Passes that take 1 to 2 s on one CPU of today (measured on a 2024 server core with AVX-512, 1280x1024).
    const fn default_passes(self) -> u32 {
        match self {
            Self::Row => 6000,
            Self::Column => 300,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Row => "row",
            Self::Column => "column",
        })
    }
}

/// What is computed again to check the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Check {
    /// The last pass, by the published algorithm on the same threads; and the known checksum where there is one
    LastPass,
    /// All passes, by the published algorithm on one thread: some 100 times the time of the run
    AllPasses,
}

/// A row of the table of known results.
type Known = (Size, u32, u64, Checksum);

/// Results known from elsewhere, by size, passes and seed: sums by OpenCV 5.0.0,
/// `cv2.boxFilter(bitmap, cv2.CV_16U, (3, 3), normalize=False, borderType=cv2.BORDER_REPLICATE)`, rounded and cut in
/// numpy, and `zlib.crc32` of the bytes. `--check all-passes` finds the same.
const KNOWN: [Known; 2] = [
    (Size { width: 1280, height: 1024 }, Order::Row.default_passes(), 1, Checksum(0xa287_f25d)),
    (Size { width: 1280, height: 1024 }, Order::Column.default_passes(), 1, Checksum(0x0f56_13e2)),
];

/// Ninths added to the means of pass `pass`, counted from 0, before they are cut to whole numbers. The first pass adds
/// 4, which rounds to the nearest. If all did, no pixel would change any more after some 1000 passes, slopes and all,
/// and the result would say nothing about the passes after them; so the others take the nine remainders in turn,
/// which on average is the same rounding.
const fn rounding(pass: u32) -> u16 {
    // Two and nine have no common divisor, so all nine come up.
    ((4 + 2 * (pass % 9)) % 9) as u16
}

/// Softens a bitmap as `args` say and checks the result.
///
/// # Errors
/// More threads than rows, too little memory, a refused thread, a wrong result.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    let size = Size { width: args.width as usize, height: args.height as usize };
    let passes = args.passes.unwrap_or_else(|| args.order.default_passes());
    if args.threads.count() > size.height {
        return Err(WorkloadError::TooManyThreads {
            threads: args.threads.count(),
            parts: size.height,
            what: "rows",
        });
    }
    let plan = band::Plan { size, passes, order: args.order, seed: args.seed };
    // The check of all passes needs no more than the run, whose memory has been given back by then.
    memory::require(plan.memory(args.threads.count()), LOWER)?;

    let bands = plan.bands(args.threads.count())?;
    let work = bands.into_iter().map(|band| move || band.run()).collect();
    // A band is missing only where another one panicked, and that panic went on in `team::run`.
    let results: Vec<_> = team::run("soften", work)?.into_iter().flatten().collect();

    let checksum = band::checksum(&results);
    let checked = check(args.check, &plan, &results, checksum)?;
    let parallel = band::parallel_time(&results);
    let pixels = size.pixels() as f64 * f64::from(passes);
    Ok(Outcome {
        name: "soften",
        parameters: format!(
            "{size} pixels, {passes} passes, {} order, seed {}, {}",
            args.order, args.seed, args.threads
        ),
        parallel,
        // A pass too short for the clock still took some time.
        rate: Rate { value: pixels / 1e6 / parallel.max(Nanos(1)).as_secs_f64(), unit: "megapixels/s" },
        figures: Vec::new(),
        checksum,
        checked,
    })
}

/// The bitmap that `seed` stands for, before the first pass: 3 bytes a pixel, rows from top to bottom. For whoever wants to
/// soften the same one by other means.
pub fn bitmap(width: usize, height: usize, seed: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    bitmap::append(&mut bytes, 0..height, width, seed);
    bytes
}

/// Compares the result with everything that `check` asks for, and says with what.
fn check(
    check: Check,
    plan: &band::Plan,
    results: &[band::Softened],
    checksum: Checksum,
) -> Result<&'static str, WorkloadError> {
    if let Some(wrong) = results.iter().find_map(|band| band.wrong) {
        return Err(WorkloadError::Wrong {
            what: format!("soften, pixel {},{} of the last pass", wrong.x, wrong.y),
            expected: format!("{:?}", wrong.expected),
            got: format!("{:?}", wrong.got),
        });
    }
    let same = |what: &str, expected: Checksum| {
        (expected == checksum).then_some(()).ok_or_else(|| WorkloadError::Wrong {
            what: format!("soften, {what}"),
            expected: expected.to_string(),
            got: checksum.to_string(),
        })
    };
    if check == Check::AllPasses {
        same("all passes computed again", reference::checksum(plan.size, plan.passes, plan.seed))?;
    }
    let known = KNOWN
        .iter()
        .find(|(size, passes, seed, _)| (*size, *passes, *seed) == (plan.size, plan.passes, plan.seed));
    if let Some(&(.., expected)) = known {
        same("known value", expected)?;
    }
    Ok(match (check, known) {
        (Check::AllPasses, _) => "all passes computed again",
        (Check::LastPass, Some(_)) => "known value",
        (Check::LastPass, None) => "last pass computed again",
    })
}
