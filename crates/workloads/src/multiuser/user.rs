//! A user: a directory, and rounds of activities in the user's own order.
//!
//! This module knows the list of activities and nothing of their implementation.

use std::fs;
use std::path::{Path, PathBuf};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{compute, files, shell};
use crate::outcome::TMPDIR;
use crate::{Checksum, WorkloadError};

/// An activity of a user, done once per round in a directory. The function draws its random
/// numbers, checks its work, and returns a number that depends on the work.
type Activity = fn(&Path, &mut ChaCha8Rng) -> Result<u64, WorkloadError>;

/// Activities of a round: the basic activities of source 004's Test 4.
pub(super) const ACTIVITIES: [Activity; 8] = [
    shell::children,
    shell::script,
    shell::pipeline,
    shell::signals,
    files::write_and_read,
    compute::sort,
    compute::sieve,
    compute::memory,
];

/// A user at work.
pub(super) struct User {
    home: PathBuf,
    random: ChaCha8Rng,
}

impl User {
    /// Makes a user with a directory. The generator is ChaCha8, whose output is permanently
    /// defined. Each user draws from a separate stream.
    pub(super) fn new(number: usize, home: PathBuf, seed: u64) -> Result<Self, WorkloadError> {
        if let Err(source) = fs::create_dir(&home) {
            return Err(WorkloadError::File {
                operation: "make the directory",
                path: home,
                source,
                option: TMPDIR,
            });
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(number as u64);
        Ok(Self { home, random })
    }

    /// Does all activities `rounds` times, and removes the directory.
    pub(super) fn work(mut self, rounds: u32) -> Result<Checksum, WorkloadError> {
        let mut all = crc32fast::Hasher::new();
        for _ in 0..rounds {
            for activity in shuffle_activities(&mut self.random) {
                all.update(&activity(&self.home, &mut self.random)?.to_le_bytes());
            }
        }
        // Any file that an activity has left is an error, and fails here.
        match fs::remove_dir(&self.home) {
            Ok(()) => Ok(Checksum(all.finalize())),
            Err(source) => Err(WorkloadError::File {
                operation: "remove the directory",
                path: self.home,
                source,
                option: TMPDIR,
            }),
        }
    }
}

/// The activities in a random order (Fisher and Yates; Knuth, Algorithm 3.4.2P).
fn shuffle_activities(random: &mut ChaCha8Rng) -> [Activity; ACTIVITIES.len()] {
    let mut order = ACTIVITIES;
    for last in (1..order.len()).rev() {
        order.swap(last, random.next_u32() as usize % (last + 1));
    }
    order
}

/// Compares the result of an activity with the expected one.
pub(super) fn expect_equal<T: PartialEq + std::fmt::Debug>(
    what: &str,
    expected: &T,
    got: &T,
) -> Result<(), WorkloadError> {
    if expected == got {
        return Ok(());
    }
    Err(WorkloadError::WrongResult {
        what: format!("multiuser, {what}"),
        expected: format!("{expected:?}"),
        got: format!("{got:?}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_activity_is_done_in_every_round_in_some_order() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let addresses = |order: [Activity; 8]| order.map(|activity| activity as usize);
        let rounds: Vec<_> = (0..20).map(|_| addresses(shuffle_activities(&mut random))).collect();
        let mut sorted = rounds.clone();
        sorted.iter_mut().for_each(|round| round.sort_unstable());
        assert!(sorted.windows(2).all(|pair| pair[0] == pair[1]));
        assert!(rounds.windows(2).any(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn every_activity_works_and_leaves_nothing() {
        let home = |name| std::env::temp_dir().join(format!("multiuser-{name}-{}", std::process::id()));
        let work = |seed, name| User::new(0, home(name), seed).unwrap().work(2).unwrap();
        let first = work(1, "a");
        assert_eq!(work(1, "b"), first);
        assert_ne!(work(2, "c"), first);
        assert!(!home("a").exists());
    }

    #[test]
    fn unequal_results_are_wrong() {
        assert!(expect_equal("it", &1, &1).is_ok());
        assert_eq!(expect_equal("it", &1, &2).unwrap_err().exit_status(), 1);
    }
}
