//! `quicksort`: numbers in memory, sorted in place, with the two sides of every cut in parallel.
//!
//! This module holds the arguments and the order of events. The sort is in `quicksort/sort.rs` and
//! its callees, which are independent of the input. The input and its fingerprint are in
//! `quicksort/input.rs`.

mod bound;
mod input;
mod parallel_partition;
mod partition;
mod queue;
mod runs;
mod sort;

use clap::ValueEnum;
use morecores_study::{Bytes, Nanos};

use self::input::{Fingerprint, InputOrder};
use crate::clock::Span;
use crate::{Checksum, Outcome, Rate, Threads, WorkloadError, memory};

pub use sort::sort;

/// Minimum length of a range that is cut or shared. Sorting so many numbers takes a millisecond or
/// two. Handing the range to another thread takes about 10 to 50 µs, which is small in comparison.
const MIN_RANGE: usize = 1 << 15;

/// Maximum number of items: 2^36, half a tebibyte.
const MAX_ITEMS: u64 = 1 << 36;

/// Argument to lower if memory is short.
const MEMORY_ARGUMENTS: &str = "--items";

/// Arguments of `quicksort`. `--help` says how much memory they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
#[command(after_help = "Memory: 8 bytes for each number (610.4 MiB by default).")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Numbers to sort, of 64 bits each
    #[arg(long, value_name = "COUNT", default_value = "80000000")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=MAX_ITEMS))]
    items: u64,
    /// Initial numbers
    #[arg(long, value_enum, default_value_t = InputOrder::Random)]
    input: InputOrder,
    /// Start value of the random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// A row of the table of known results: input, items, seed, checksum.
type KnownResult = (InputOrder, u64, u64, Checksum);

/// Independently computed results: numbers generated as here and sorted by numpy 1.24.2 (its merge
/// sort), and `zlib.crc32` of their bytes.
const KNOWN_RESULTS: [KnownResult; 8] = [
    (InputOrder::Random, 80_000_000, 1, Checksum(0xe064_6749)),
    (InputOrder::Sorted, 80_000_000, 1, Checksum(0x0466_8508)),
    (InputOrder::Reverse, 80_000_000, 1, Checksum(0x0466_8508)),
    (InputOrder::FewDistinct, 80_000_000, 1, Checksum(0x7552_f952)),
    // Smaller inputs, for tests and benches.
    (InputOrder::Random, 20_000_000, 1, Checksum(0x755b_dc31)),
    (InputOrder::Sorted, 20_000_000, 1, Checksum(0x97fa_8056)),
    (InputOrder::Reverse, 20_000_000, 1, Checksum(0x97fa_8056)),
    (InputOrder::FewDistinct, 20_000_000, 1, Checksum(0xb696_1d28)),
];

/// Maps each number to a random-looking number that no other number maps to: the last step of the
/// generator SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014).
const fn mix(number: u64) -> u64 {
    let x = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Sorts numbers according to `args` and checks the result.
///
/// # Errors
/// Too little memory, a refused thread, or a wrong result.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    let threads = args.threads.count();
    memory::require(Bytes(args.items * size_of::<u64>() as u64), MEMORY_ARGUMENTS)?;
    let mut numbers = memory::zeroed(args.items as usize, MEMORY_ARGUMENTS)?;
    let before = input::fill(&mut numbers, args.input, args.seed, threads)?;
    let (span, sorted) = Span::measure(|| sort(&mut numbers, threads));
    sorted?;
    let (after, checksum) = input::fingerprint_and_checksum(&numbers, threads)?;
    let check_name = check(args, before, after, checksum)?;
    let parallel_time = span.end.since(span.start);
    Ok(Outcome {
        name: "quicksort",
        parameters: format!(
            "{} numbers, {}, seed {}, {}",
            args.items,
            args.input.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned()),
            args.seed,
            args.threads
        ),
        parallel_time,
        rate: Rate {
            value: args.items as f64 / 1e6 / parallel_time.max(Nanos(1)).as_secs_f64(),
            unit: "million numbers/s",
        },
        figures: Vec::new(),
        checksum,
        check_name,
    })
}

/// Checks that the numbers are those of the input, in order, and that they match the known result.
fn check(
    args: &Args,
    before: Fingerprint,
    after: Fingerprint,
    checksum: Checksum,
) -> Result<&'static str, WorkloadError> {
    let wrong = |what: &str, expected: String, got: String| WorkloadError::WrongResult {
        what: format!("quicksort, {what}"),
        expected,
        got,
    };
    if let Some(place) = after.disorder {
        let what = format!("the number at {place}");
        return Err(wrong(&what, "none less than the one before it".to_owned(), "a lesser one".to_owned()));
    }
    if (before.sum, before.mixed) != (after.sum, after.mixed) {
        let format_sums = |fingerprint: Fingerprint| {
            format!("sums {:016x} and {:016x}", fingerprint.sum, fingerprint.mixed)
        };
        return Err(wrong("the numbers themselves", format_sums(before), format_sums(after)));
    }
    let row = (args.input, args.items, args.seed);
    match KNOWN_RESULTS.iter().find(|(order, items, seed, _)| (*order, *items, *seed) == row) {
        Some((.., known)) if *known != checksum => {
            Err(wrong("known value", known.to_string(), checksum.to_string()))
        }
        Some(_) => Ok("in order, the same numbers, known value"),
        None => Ok("in order, the same numbers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU16;

    #[test]
    fn a_lost_number_and_a_disorder_are_wrong() {
        let args =
            Args { threads: Threads::new(NonZeroU16::MIN), items: 3, input: InputOrder::Random, seed: 1 };
        let result = |before: &[u64], after: &[u64]| {
            let fingerprint = |numbers: &[u64]| input::fingerprint_and_checksum(numbers, 1).unwrap();
            let (after, checksum) = fingerprint(after);
            check(&args, fingerprint(before).0, after, checksum)
        };
        assert!(result(&[3, 1, 2], &[1, 2, 3]).is_ok());
        // The wrong results are other numbers with an equal sum, a repeated number, and two
        // exchanged numbers.
        for wrong in [[1, 1, 4], [1, 2, 2], [2, 1, 3], [1, 3, 2]] {
            assert_eq!(result(&[3, 1, 2], &wrong).unwrap_err().exit_status(), 1, "{wrong:?}");
        }
    }
}
