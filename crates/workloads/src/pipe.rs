//! `pipe`: pairs of processes that pass a message back and forth over two pipes.
//!
//! This module holds the arguments and the order of events. The messages and the pipes are in
//! `pipe/ends.rs`. Pairs share nothing but the start, so their mutual slowdown is caused by the
//! kernel.

mod ends;

use std::cell::Cell;

use morecores_study::{Bytes, Nanos};

use self::ends::{End, Message};
use crate::clock::Span;
use crate::gate::Gate;
use crate::{Checksum, Figure, Outcome, Rate, Threads, WorkloadError, memory, processes};

/// Longest message, in bytes: sixteen times a pipe's default capacity. Longer messages would
/// measure the copying of memory.
const MAX_SIZE: i64 = 1 << 20;

/// Default capacity of a pipe: 16 pages (man 7 pipe).
const PIPE: Bytes = Bytes::from_kib(64);

/// Arguments of `pipe`. `--help` says how much memory they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
#[command(mut_arg("threads", |arg| arg.help("Pairs of processes").visible_alias("pairs")))]
#[command(after_help = "Memory: four times --size a pair, and the 128 KiB of its pipes in the kernel.")]
pub struct Args {
    #[command(flatten)]
    pairs: Threads,
    /// Length of a message
    #[arg(long, value_name = "BYTES", default_value = "8")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_SIZE))]
    size: u32,
    /// Messages that each pair sends there and back
    #[arg(long, value_name = "COUNT", default_value = "700000", value_parser = clap::value_parser!(u64).range(1..))]
    operations: u64,
}

/// Passes messages according to `args` and checks every one.
///
/// # Errors
/// Too little memory, a refused process or pipe, or a wrong message.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    let pairs = args.pairs.count();
    let needed = pairs as u64 * (4 * u64::from(args.size) + 2 * PIPE.0);
    memory::require(Bytes(needed), "--threads or --size")?;

    let gate = &Gate::new(2 * pairs)?;
    let pair = |number| move || Pair { number, pairs, gate, args: *args }.play();
    let results = processes::run((1..=pairs).map(pair).collect())?;

    let mut checksum = None;
    for (index, &[operations, sum, ..]) in results.iter().enumerate() {
        let (sum, number) = (Checksum(sum as u32), index + 1);
        equal(format!("operations of pair {number}"), &args.operations, &operations)?;
        equal(format!("answers of pair {number}"), checksum.get_or_insert(sum), &sum)?;
    }
    let spans = results.iter().map(|&[_, _, from, to]| Span { from: Nanos(from), to: Nanos(to) });
    let parallel = Span::around(spans).max(Nanos(1));
    let operations = args.operations as f64;
    Ok(Outcome {
        name: "pipe",
        parameters: format!(
            "{pairs} pair{} of processes, {} operations each, messages of {} B",
            if pairs == 1 { "" } else { "s" },
            args.operations,
            args.size
        ),
        parallel,
        rate: Rate { value: pairs as f64 * operations / parallel.as_secs_f64(), unit: "operations/s" },
        figures: vec![Figure {
            name: "there and back",
            value: parallel.as_secs_f64() * 1e6 / operations,
            unit: "us",
        }],
        checksum: checksum.unwrap_or(Checksum(0)),
        checked: "every message",
    })
}

fn equal<T: PartialEq + ToString>(what: String, expected: &T, got: &T) -> Result<(), WorkloadError> {
    let wrong = || WorkloadError::Wrong {
        what: format!("pipe, {what}"),
        expected: expected.to_string(),
        got: got.to_string(),
    };
    if expected == got { Ok(()) } else { Err(wrong()) }
}

/// A process that will make its partner.
struct Pair<'a> {
    number: usize,
    pairs: usize,
    gate: &'a Gate,
    args: Args,
}

impl Pair<'_> {
    /// Sends messages and receives answers. Returns the operations, the checksum of the answers,
    /// the start and the end.
    fn play(&self) -> Result<[u64; 4], WorkloadError> {
        let refused =
            |source| WorkloadError::Process { number: 2 * self.number, wanted: 2 * self.pairs, source };
        let (own, theirs) = End::pair().map_err(refused)?;
        // The partner must not hold this process's ends, so that each process notices the end of
        // the other.
        let own = Cell::new(Some(own));
        let ask = || {
            let end = own.take();
            self.gate.pass();
            let (span, asked) = Span::of(|| end.map_or(Ok([0; 2]), |end| self.ask(&end)));
            let [operations, checksum] = asked?;
            Ok([operations, checksum, span.from.0, span.to.0])
        };
        let answer = || {
            drop(own.take());
            self.gate.pass();
            Ok([self.answer(&theirs)?, 0, 0, 0])
        };
        let [result, [answered, ..]] = processes::beside(ask, answer)?;
        equal(format!("messages answered in pair {}", self.number), &result[0], &answered)?;
        Ok(result)
    }

    /// Number of answers, and their checksum. The number is less than requested if the partner is
    /// gone.
    fn ask(&self, end: &End) -> Result<[u64; 2], WorkloadError> {
        let mut message = Message::new(self.args.size)?;
        let mut answers = crc32fast::Hasher::new();
        let mut operations = 0;
        while operations < self.args.operations {
            message.question(operations);
            if !end.send(message.bytes()) {
                break;
            }
            message.answer(operations);
            let Some(got) = end.receive(&mut message) else { break };
            self.right("answer", operations, got)?;
            answers.update(message.start());
            operations += 1;
        }
        Ok([operations, u64::from(answers.finalize())])
    }

    /// Number of answered questions.
    fn answer(&self, end: &End) -> Result<u64, WorkloadError> {
        let mut message = Message::new(self.args.size)?;
        let mut operations = 0;
        while operations < self.args.operations {
            message.question(operations);
            let Some(got) = end.receive(&mut message) else { break };
            self.right("question", operations, got)?;
            message.answer(operations);
            if !end.send(message.bytes()) {
                break;
            }
            operations += 1;
        }
        Ok(operations)
    }

    /// Checks that a message is the expected one.
    fn right(&self, what: &str, operation: u64, got: Result<(), (u8, u8)>) -> Result<(), WorkloadError> {
        let what = || format!("{what} {operation} of pair {}", self.number);
        got.or_else(|(expected, got)| equal(what(), &expected, &got))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const ARGS: Args = Args { pairs: Threads::new(std::num::NonZeroU16::MIN), size: 8, operations: 100 };

    fn pair(gate: &Gate) -> Pair<'_> {
        Pair { number: 1, pairs: 1, gate, args: ARGS }
    }

    #[test]
    fn a_wrong_message_is_found_and_ends_the_other_as_well() {
        let gate = Gate::new(1).unwrap();
        let (own, theirs) = End::pair().unwrap();
        thread::scope(|scope| {
            // The partner answers the right questions, but is asked one more in between.
            let partner = scope.spawn(|| {
                let mut message = Message::new(8).unwrap();
                for number in [0, 1, 1] {
                    message.question(number);
                    assert!(theirs.send(message.bytes()));
                    message.answer(number);
                    theirs.receive(&mut message);
                }
                drop(theirs);
            });
            let error = pair(&gate).answer(&own).unwrap_err();
            drop(own);
            assert!(error.to_string().contains("question 2 of pair 1: expected 2, got 1"), "{error}");
            assert_eq!(error.exit_status(), 1);
            partner.join().unwrap();
        });
    }

    #[test]
    fn a_partner_that_is_gone_is_noticed() {
        let gate = Gate::new(1).unwrap();
        let (own, theirs) = End::pair().unwrap();
        drop(theirs);
        assert_eq!(pair(&gate).ask(&own).unwrap()[0], 0);
        assert_eq!(pair(&gate).answer(&own).unwrap(), 0);
    }
}
