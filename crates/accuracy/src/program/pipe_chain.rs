//! A chain of three processes that work in turn and hand over by pipes: only one works at a time,
//! on any number of CPUs.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};

use clap::Args;

use super::KnownProgram;
use super::work_parts::{idle_while_working, part_of_time};
use crate::clock::{burn, tree_cpu};
use crate::wait::{fork, wait};
use crate::{AccuracyError, ExpectedReport, Part, Share, Truth};

/// Processes in the chain.
const LINKS: u32 = 3;

/// CPU time between two handoffs: some 100 times the time to wake an idle virtual CPU.
const TURN_S: f64 = 0.005;

/// See the module.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct PipeChain {
    /// CPU time of all work, in seconds
    #[arg(long)]
    pub work_s: f64,
}

impl KnownProgram for PipeChain {
    fn run(&self) -> Result<Truth, AccuracyError> {
        let rounds = (self.work_s / TURN_S / f64::from(LINKS)).round().max(1.0) as u32;
        let turn = part_of_time(self.work_s / f64::from(rounds * LINKS), 100.0);
        let open = || pipe().map_err(AccuracyError::system("make a pipe"));
        let (from_first, to_second) = open()?;
        let (from_second, to_third) = open()?;
        let (mut from_third, to_first) = open()?;
        // Each link ends at the end of its input: no process keeps an end of another link's pipe.
        let pass = |mut from: PipeReader, mut to: PipeWriter| {
            while receive_token(&mut from) {
                burn(turn);
                if to.write_all(b"x").is_err() {
                    break;
                }
            }
        };
        let mut first = Some(to_second);
        let mut middle = Some((from_first, to_third));
        let mut last = Some((from_second, to_first));
        let second = fork(|| {
            drop((first.take(), last.take()));
            if let Some((from, to)) = middle.take() {
                pass(from, to);
            }
        })?;
        drop(middle.take());
        let third = fork(|| {
            drop(first.take());
            if let Some((from, to)) = last.take() {
                pass(from, to);
            }
        })?;
        drop(last.take());
        if let Some(mut to) = first.take() {
            for _ in 0..rounds {
                burn(turn);
                to.write_all(b"x").map_err(AccuracyError::system("write to a pipe"))?;
                if !receive_token(&mut from_third) {
                    break;
                }
            }
        }
        [second, third].into_iter().try_for_each(wait)?;
        Ok(Truth { cpu_s: tree_cpu().as_secs_f64(), ..Truth::default() })
    }

    fn expected(&self, truth: &Truth, cpus: u32, _: f64) -> ExpectedReport {
        ExpectedReport::from_shares([
            Share::from_own_clocks(Part::Work, truth.cpu_s),
            Share::from_construction(Part::TooLittleWork, idle_while_working(cpus, 1, self.work_s)),
        ])
    }

    fn arguments(&self) -> Vec<String> {
        ["pipe-chain", "--work-s", &self.work_s.to_string()].map(String::from).to_vec()
    }
}

/// Waits for the turn of this link; returns false after the last turn.
fn receive_token(from: &mut PipeReader) -> bool {
    from.read_exact(&mut [0]).is_ok()
}
