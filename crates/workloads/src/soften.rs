//! `soften`: the softening of a true-colour bitmap, source 001's real-life example.
//!
//! Each pass replaces every pixel by the mean of its 3x3 neighbourhood, separately for each colour.
//! Beyond the edge the nearest pixel inside counts. The bitmap is cut into bands of rows, one per
//! thread. This module holds the arguments and the order of events. The arithmetic is in `kernel`
//! and the threads' part in `band`. `reference` repeats the published algorithm to check both.

mod adjacent_band;
mod band;
mod bitmap;
mod kernel;
mod reference;
mod sweep;

use std::fmt;

use clap::ValueEnum;
use morecores_study::Nanos;

use crate::{Checksum, Outcome, Rate, Threads, WorkloadError, memory, team};
use bitmap::Size;

/// Arguments that determine the memory, for messages.
const MEMORY_ARGUMENTS: &str = "--width or --height";

/// Maximum pixels per side: 2^17, 17 times the width of an 8K screen. The limit keeps every size in
/// bytes far below 64 bits.
const MAX_SIDE: i64 = 131_072;

/// Arguments of `soften`. `--help` says how much memory they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
#[command(after_help = "\
Memory: 6 bytes for each pixel (7.5 MiB by default), and for each thread after the first at most 144 bytes for each \
pixel of width.")]
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
    /// Passes over the bitmap [default: 6000 in row order, 300 in column order]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    passes: Option<u32>,
    /// Order in which a thread walks over its band
    #[arg(long, value_enum, default_value_t = Order::Row)]
    order: Order,
    /// Start value of the random bitmap
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Part that is computed again, outside the measured part, to check the result
    #[arg(long, value_enum, default_value_t = Check::LastPass)]
    check: Check,
}

/// Order in which a thread walks over its band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// Along the rows, as the bitmap lies in memory
    Row,
    /// Down the columns, as published
    Column,
}

impl Order {
    /// Number of passes that take 1 to 2 s on one current CPU (measured on a 2024 server core with
    /// AVX-512, 1280x1024).
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

/// Extent of the recomputation that checks the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Check {
    /// The last pass, by the published algorithm on the same threads; and the known checksum, if
    /// there is one
    LastPass,
    /// All passes, by the published algorithm on one thread: about 100 times the time of the run
    AllPasses,
}

/// A row of the table of known results.
type KnownResult = (Size, u32, u64, Checksum);

/// Independently computed results, by size, passes and seed. The sums are by OpenCV 5.0.0,
/// `cv2.boxFilter(bitmap, cv2.CV_16U, (3, 3), normalize=False, borderType=cv2.BORDER_REPLICATE)`.
/// numpy rounds and truncates them, and `zlib.crc32` gives the checksum of the bytes. `--check
/// all-passes` finds equal checksums.
const KNOWN_RESULTS: [KnownResult; 2] = [
    (Size { width: 1280, height: 1024 }, Order::Row.default_passes(), 1, Checksum(0xa287_f25d)),
    (Size { width: 1280, height: 1024 }, Order::Column.default_passes(), 1, Checksum(0x0f56_13e2)),
];

/// Ninths added to the means of pass `pass`, counted from 0, before truncation to whole numbers.
/// The first pass adds 4, which rounds to the nearest number. If all passes added 4, no pixel would
/// change after about 1000 passes, even on slopes, and the result would say nothing about later
/// passes. The later passes therefore use the nine remainders in turn, which on average rounds
/// equally.
const fn rounding(pass: u32) -> u16 {
    // Two and nine have no common divisor, so all nine remainders occur.
    ((4 + 2 * (pass % 9)) % 9) as u16
}

/// Softens a bitmap according to `args` and checks the result.
///
/// # Errors
/// More threads than rows, too little memory, a refused thread, or a wrong result.
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
    // The check of all passes needs no more memory than the run, and the run's memory is free by
    // then.
    memory::require(plan.memory(args.threads.count()), MEMORY_ARGUMENTS)?;

    let bands = plan.bands(args.threads.count())?;
    let work = bands.into_iter().map(|band| move || band.run()).collect();
    // A band is missing only if another band panicked, and `team::run` propagated that panic.
    let results: Vec<_> = team::run("soften", work)?.into_iter().flatten().collect();

    let checksum = band::checksum(&results);
    let check_name = check(args.check, &plan, &results, checksum)?;
    let parallel_time = band::parallel_time(&results);
    let pixels = size.pixels() as f64 * f64::from(passes);
    Ok(Outcome {
        name: "soften",
        parameters: format!(
            "{size} pixels, {passes} passes, {} order, seed {}, {}",
            args.order, args.seed, args.threads
        ),
        parallel_time,
        // A pass too short for the clock still took some time.
        rate: Rate { value: pixels / 1e6 / parallel_time.max(Nanos(1)).as_secs_f64(), unit: "megapixels/s" },
        figures: Vec::new(),
        checksum,
        check_name,
    })
}

/// Bitmap of `seed` before the first pass: 3 bytes per pixel, rows from top to bottom. Other
/// programs can soften the bitmap for comparison.
pub fn bitmap(width: usize, height: usize, seed: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    bitmap::append(&mut bytes, 0..height, width, seed);
    bytes
}

/// Compares the result with every reference of `check`, and returns the reference in words.
fn check(
    check: Check,
    plan: &band::Plan,
    results: &[band::BandResult],
    checksum: Checksum,
) -> Result<&'static str, WorkloadError> {
    if let Some(wrong_pixel) = results.iter().find_map(|band| band.wrong_pixel) {
        return Err(WorkloadError::WrongResult {
            what: format!("soften, pixel {},{} of the last pass", wrong_pixel.x, wrong_pixel.y),
            expected: format!("{:?}", wrong_pixel.expected),
            got: format!("{:?}", wrong_pixel.got),
        });
    }
    let require_equal = |what: &str, expected: Checksum| {
        (expected == checksum).then_some(()).ok_or_else(|| WorkloadError::WrongResult {
            what: format!("soften, {what}"),
            expected: expected.to_string(),
            got: checksum.to_string(),
        })
    };
    if check == Check::AllPasses {
        require_equal("all passes computed again", reference::checksum(plan.size, plan.passes, plan.seed))?;
    }
    let known = KNOWN_RESULTS
        .iter()
        .find(|(size, passes, seed, _)| (*size, *passes, *seed) == (plan.size, plan.passes, plan.seed));
    if let Some(&(.., expected)) = known {
        require_equal("known value", expected)?;
    }
    Ok(match (check, known) {
        (Check::AllPasses, _) => "all passes computed again",
        (Check::LastPass, Some(_)) => "known value",
        (Check::LastPass, None) => "last pass computed again",
    })
}
