//! `keysearch`: the search for a key of the cipher RC5-32/12/9, like the RC5 client of
//! distributed.net.
//!
//! A block of text is known in clear and enciphered, and every key of a range is tried. The threads
//! do nothing but compute, in blocks of keys that they take from a common counter. This module
//! holds the arguments and the order of events. The cipher's fast form is in `cipher`, over numbers
//! or whole vectors of them (`word`). `search` tries a block of keys, and `reference` repeats the
//! published algorithm to check both.

mod cipher;
mod reference;
mod search;
mod word;

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use clap::ValueEnum;
use morecores_study::Nanos;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::clock::Span;
use crate::{Checksum, Outcome, Rate, Threads, WorkloadError, team};
use search::{BLOCK_BITS, Findings, TextPair};

/// Bits of a key: nine bytes.
const KEY_BITS: u32 = 72;

/// Maximum bits of the range. 2^40 keys take hours.
const MAX_BITS: i64 = 40;

/// The known text, as in RSA Data Security's challenges, whose messages all begin with "The unknown
/// message is: ".
const TEXT: [u8; 8] = *b"The unkn";

/// Arguments of `keysearch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
#[command(after_help = "\
Memory: independent of the arguments.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Unknown bits of the key; 2^BITS keys are tried [default: 24 with the scalar core, 27
    /// otherwise]
    #[arg(long, value_name = "BITS")]
    #[arg(value_parser = clap::value_parser!(u32).range(i64::from(BLOCK_BITS)..=MAX_BITS))]
    bits: Option<u32>,
    /// Method of trying keys
    #[arg(long, value_enum, default_value_t = Core::Auto)]
    core: Core,
    /// Start value of the random key
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// Method by which a thread tries keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Core {
    /// The faster method on this machine
    Auto,
    /// Many keys at once, in vector registers
    Simd,
    /// One key after the other
    Scalar,
}

impl Core {
    /// Number of unknown bits whose keys take 1 to 3 s on one current CPU (measured on a 2024
    /// server core with AVX-512).
    const fn default_bits(self) -> u32 {
        match self {
            Self::Auto | Self::Simd => 27,
            Self::Scalar => 24,
        }
    }

    /// Actual core: simd or scalar.
    fn resolve(self) -> Self {
        match self {
            // The baseline of x86-64 has no shift with a separate distance for each lane.
            #[cfg(target_arch = "x86_64")]
            Self::Auto if !is_x86_feature_detected!("avx2") => Self::Scalar,
            Self::Auto => Self::Simd,
            core => core,
        }
    }
}

impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Simd => "simd",
            Self::Scalar => "scalar",
        })
    }
}

/// A row of the table of known results: bits, seed, checksum.
type KnownResult = (u32, u64, Checksum);

/// Independently computed results: by a C program around the paper's listing of the cipher,
/// compiled by gcc 12, and `zlib.crc32`.
const KNOWN_RESULTS: [KnownResult; 2] = [(27, 1, Checksum(0x10ba_a619)), (24, 1, Checksum(0xe8d8_8e21))];

/// Result of a thread.
struct ThreadResult {
    span: Span,
    findings: Findings,
    /// First block of the thread, and its findings there; `None` if the other threads took all
    /// blocks.
    first: Option<(u64, Findings)>,
}

/// Searches according to `args` and checks the result.
///
/// # Errors
/// More threads than blocks of keys, a refused thread, or a wrong result.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    let bits = args.bits.unwrap_or_else(|| args.core.default_bits());
    let core = args.core.resolve();
    let (threads, blocks) = (args.threads.count(), 1u64 << (bits - BLOCK_BITS));
    if threads as u64 > blocks {
        let parts = blocks as usize;
        return Err(WorkloadError::TooManyThreads { threads, parts, what: "blocks of 65536 keys" });
    }
    let key = key(args.seed);
    let pair = TextPair::new(TEXT, key);
    // The range holds all keys that agree with the key in the known bits.
    let first_key = key >> bits << bits;
    let next_block = AtomicU64::new(0);

    let piece = || {
        let mut findings = Findings::default();
        let mut first = None;
        let (span, ()) = Span::measure(|| {
            loop {
                let block = next_block.fetch_add(1, Relaxed);
                if block >= blocks {
                    break;
                }
                let block_key = first_key + (u128::from(block) << BLOCK_BITS);
                let block_findings = search::search_block(core, &pair, block_key);
                first.get_or_insert_with(|| (block, block_findings.clone()));
                findings.add(block_findings);
            }
        });
        let result = ThreadResult { span, findings, first };
        check_first_block(&result, &pair, first_key).map(|()| result)
    };
    let results: Vec<_> =
        team::run("keysearch", vec![piece; threads])?.into_iter().collect::<Result<_, _>>()?;

    let parallel_time = Span::elapsed_time(results.iter().map(|thread| thread.span));
    let mut findings = Findings::default();
    results.into_iter().for_each(|thread| findings.add(thread.findings));
    let checksum = checksum(&findings);
    let check_name = check(&findings, key, bits, args.seed, checksum)?;
    Ok(Outcome {
        name: "keysearch",
        parameters: format!("{bits} bits, {core} core, seed {}, {}", args.seed, args.threads),
        parallel_time,
        rate: Rate {
            value: (bits as f64).exp2() / 1e6 / parallel_time.max(Nanos(1)).as_secs_f64(),
            unit: "megakeys/s",
        },
        figures: Vec::new(),
        checksum,
        check_name,
    })
}

/// The key of a seed.
fn key(seed: u64) -> u128 {
    let mut bytes = [0; 16];
    ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes[..KEY_BITS as usize / 8]);
    u128::from_le_bytes(bytes)
}

/// Searches a thread's first block again, by the published algorithm.
fn check_first_block(result: &ThreadResult, pair: &TextPair, first_key: u128) -> Result<(), WorkloadError> {
    let Some((block, findings)) = &result.first else { return Ok(()) };
    let reference_findings = reference::search(pair, first_key + (u128::from(*block) << BLOCK_BITS));
    if reference_findings == *findings {
        return Ok(());
    }
    Err(WorkloadError::WrongResult {
        what: format!("keysearch, block {block} of the range"),
        expected: reference_findings.to_string(),
        got: findings.to_string(),
    })
}

/// Checksum of the found keys, nine bytes each, and of the sum, four bytes.
fn checksum(findings: &Findings) -> Checksum {
    let mut crc = crc32fast::Hasher::new();
    for key in &findings.keys {
        crc.update(&reference::key_bytes(*key));
    }
    crc.update(&findings.sum.to_le_bytes());
    Checksum(crc.finalize())
}

/// Checks that the key and no other key was found, and that the checksum is the known one, if there
/// is one.
fn check(
    findings: &Findings,
    key: u128,
    bits: u32,
    seed: u64,
    checksum: Checksum,
) -> Result<&'static str, WorkloadError> {
    if findings.keys != [key] {
        let expected_findings = Findings { keys: vec![key], sum: findings.sum };
        return Err(WorkloadError::WrongResult {
            what: "keysearch, the key".to_owned(),
            expected: expected_findings.to_string(),
            got: findings.to_string(),
        });
    }
    match KNOWN_RESULTS.iter().find(|known| (known.0, known.1) == (bits, seed)) {
        Some((.., expected)) if *expected != checksum => Err(WorkloadError::WrongResult {
            what: "keysearch, known value".to_owned(),
            expected: expected.to_string(),
            got: checksum.to_string(),
        }),
        Some(_) => Ok("the key was found, known value"),
        None => Ok("the key was found"),
    }
}
