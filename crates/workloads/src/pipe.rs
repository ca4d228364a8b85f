//! `pipe`: pairs of processes that pass a message back and forth over two pipes.
//!
//! This module holds the arguments and the order of events. The messages and the pipes are in
//! `pipe/ends.rs`. Pairs share nothing but the start, so their mutual slowdown is caused by the
//! kernel.

mod ends;

use std::cell::Cell;

use morecores_study::{Bytes, Nanos};

use self::ends::{Message, PipeEnd};
use crate::barrier::Barrier;
use crate::clock::Span;
use crate::{Checksum, Figure, Outcome, Rate, Threads, WorkloadError, memory, processes};

/// Longest message, in bytes: sixteen times a pipe's default capacity. Longer messages would
/// measure the copying of memory.
const MAX_SIZE: i64 = 1 << 20;

/// Default capacity of a pipe: 16 pages (man 7 pipe).
const PIPE_CAPACITY: Bytes = Bytes::from_kib(64);

/// Arguments of `pipe`. `--help` says how much memory they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
#[command(mut_arg("threads", |arg| arg.help("Pairs of processes").visible_alias("pairs")))]
#[command(
    after_help = "Memory: four times --size for each pair, and the 128 KiB of its pipes in the kernel."
)]
pub struct Args {
    #[command(flatten)]
    pairs: Threads,
    /// Length of a message, in bytes
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
    let needed = pairs as u64 * (4 * u64::from(args.size) + 2 * PIPE_CAPACITY.0);
    memory::require(Bytes(needed), "--threads or --size")?;

    let barrier = &Barrier::new(2 * pairs)?;
    let pair = |number| move || Pair { number, pairs, barrier, args: *args }.run();
    let results = processes::run((1..=pairs).map(pair).collect())?;

    let mut checksum = None;
    for (index, &[operations, sum, ..]) in results.iter().enumerate() {
        let (sum, number) = (Checksum(sum as u32), index + 1);
        require_equal(format!("operations of pair {number}"), &args.operations, &operations)?;
        require_equal(format!("answers of pair {number}"), checksum.get_or_insert(sum), &sum)?;
    }
    let spans = results.iter().map(|&[_, _, from, to]| Span { start: Nanos(from), end: Nanos(to) });
    let parallel_time = Span::elapsed_time(spans).max(Nanos(1));
    let operations = args.operations as f64;
    Ok(Outcome {
        name: "pipe",
        parameters: format!(
            "{pairs} pair{} of processes, {} operations each, messages of {} B",
            if pairs == 1 { "" } else { "s" },
            args.operations,
            args.size
        ),
        parallel_time,
        rate: Rate { value: pairs as f64 * operations / parallel_time.as_secs_f64(), unit: "operations/s" },
        figures: vec![Figure {
            name: "there and back",
            value: parallel_time.as_secs_f64() * 1e6 / operations,
            unit: "us",
        }],
        checksum: checksum.unwrap_or(Checksum(0)),
        check_name: "every message",
    })
}

fn require_equal<T: PartialEq + ToString>(what: String, expected: &T, got: &T) -> Result<(), WorkloadError> {
    let wrong = || WorkloadError::WrongResult {
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
    barrier: &'a Barrier,
    args: Args,
}

impl Pair<'_> {
    /// Sends messages and receives answers. Returns the operations, the checksum of the answers,
    /// the start and the end.
    fn run(&self) -> Result<[u64; 4], WorkloadError> {
        let process_error =
            |source| WorkloadError::Process { number: 2 * self.number, wanted: 2 * self.pairs, source };
        let (own_end, partner_end) = PipeEnd::pair().map_err(process_error)?;
        // The partner must not hold this process's ends, so that each process notices the end of
        // the other.
        let own_end = Cell::new(Some(own_end));
        let ask = || {
            let end = own_end.take();
            self.barrier.wait();
            let (span, result_of_questions) =
                Span::measure(|| end.map_or(Ok([0; 2]), |end| self.ask_questions(&end)));
            let [operations, checksum] = result_of_questions?;
            Ok([operations, checksum, span.start.0, span.end.0])
        };
        let answer = || {
            drop(own_end.take());
            self.barrier.wait();
            Ok([self.answer_questions(&partner_end)?, 0, 0, 0])
        };
        let [result, [answered, ..]] = processes::run_pair(ask, answer)?;
        require_equal(format!("messages answered in pair {}", self.number), &result[0], &answered)?;
        Ok(result)
    }

    /// Number of answers, and their checksum. The number is less than requested if the partner is
    /// gone.
    fn ask_questions(&self, end: &PipeEnd) -> Result<[u64; 2], WorkloadError> {
        let mut message = Message::new(self.args.size)?;
        let mut answers = crc32fast::Hasher::new();
        let mut operations = 0;
        while operations < self.args.operations {
            message.set_question(operations);
            if !end.send(message.bytes()) {
                break;
            }
            message.set_answer(operations);
            let Some(got) = end.receive(&mut message) else { break };
            self.check_message("answer", operations, got)?;
            answers.update(message.first_word());
            operations += 1;
        }
        Ok([operations, u64::from(answers.finalize())])
    }

    /// Number of answered questions.
    fn answer_questions(&self, end: &PipeEnd) -> Result<u64, WorkloadError> {
        let mut message = Message::new(self.args.size)?;
        let mut operations = 0;
        while operations < self.args.operations {
            message.set_question(operations);
            let Some(got) = end.receive(&mut message) else { break };
            self.check_message("question", operations, got)?;
            message.set_answer(operations);
            if !end.send(message.bytes()) {
                break;
            }
            operations += 1;
        }
        Ok(operations)
    }

    /// Checks that a message is the expected one.
    fn check_message(
        &self,
        what: &str,
        operation: u64,
        got: Result<(), (u8, u8)>,
    ) -> Result<(), WorkloadError> {
        let what = || format!("{what} {operation} of pair {}", self.number);
        got.or_else(|(expected, got)| require_equal(what(), &expected, &got))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const ARGS: Args = Args { pairs: Threads::new(std::num::NonZeroU16::MIN), size: 8, operations: 100 };

    fn pair(barrier: &Barrier) -> Pair<'_> {
        Pair { number: 1, pairs: 1, barrier, args: ARGS }
    }

    #[test]
    fn a_wrong_message_is_found_and_ends_the_other_as_well() {
        let barrier = Barrier::new(1).unwrap();
        let (own_end, partner_end) = PipeEnd::pair().unwrap();
        thread::scope(|scope| {
            // The partner answers the right questions, but is asked one more in between.
            let partner = scope.spawn(|| {
                let mut message = Message::new(8).unwrap();
                for number in [0, 1, 1] {
                    message.set_question(number);
                    assert!(partner_end.send(message.bytes()));
                    message.set_answer(number);
                    partner_end.receive(&mut message);
                }
                drop(partner_end);
            });
            let error = pair(&barrier).answer_questions(&own_end).unwrap_err();
            drop(own_end);
            assert!(error.to_string().contains("question 2 of pair 1: expected 2, got 1"), "{error}");
            assert_eq!(error.exit_status(), 1);
            partner.join().unwrap();
        });
    }

    #[test]
    fn a_missing_partner_is_noticed() {
        let barrier = Barrier::new(1).unwrap();
        let (own_end, partner_end) = PipeEnd::pair().unwrap();
        drop(partner_end);
        assert_eq!(pair(&barrier).ask_questions(&own_end).unwrap()[0], 0);
        assert_eq!(pair(&barrier).answer_questions(&own_end).unwrap(), 0);
    }
}
