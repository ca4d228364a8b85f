//! A server that stalls on purpose: the test of whether a load generator sees it.

use std::fmt;
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use morecores_study::Nanos;

use crate::clock::now;

/// Stalls in equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stall {
    /// From the end of one to that of the next.
    every: Nanos,
    /// How long each lasts: less than that.
    lasts: Nanos,
}

impl Stall {
    /// Sleeps where the time is in a stall, until its end. All threads of a server stall together, as if one thing held
    /// them all up.
    pub(super) fn pass(self, begun: Nanos) {
        let left = self.left(now().since(begun));
        if left > Nanos::ZERO {
            thread::sleep(Duration::from_nanos(left.0));
        }
    }

    /// What is left of the stall at a time since the server began. A period ends with its stall: whatever time of as
    /// many whole periods is looked at has the same share of stalls in it, the first ones included.
    fn left(self, time: Nanos) -> Nanos {
        let left = Nanos(self.every.0 - time.0 % self.every.0);
        if left > self.lasts { Nanos::ZERO } else { left }
    }
}

impl FromStr for Stall {
    type Err = String;

    /// Two whole numbers of milliseconds: `1000,100`.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once(',').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let Some((every, lasts)) = numbers else {
            return Err("two numbers of milliseconds are needed, like 1000,100".to_owned());
        };
        // An hour and more is no stall; and so no product here is too large.
        if !(1..3_600_000).contains(&every) || !(1..every).contains(&lasts) {
            return Err("a stall must be shorter than the time from one to the next, and that than an hour"
                .to_owned());
        }
        Ok(Self { every: Nanos::from_millis(every), lasts: Nanos::from_millis(lasts) })
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms in {}", self.lasts.0 / 1_000_000, self.every.0 / 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_ends_when_it_is_over() {
        let stall: Stall = "1000,100".parse().unwrap();
        for (time, left) in
            [(0, 0), (50, 0), (899, 0), (900, 100), (960, 40), (999, 1), (1000, 0), (1950, 50)]
        {
            assert_eq!(stall.left(Nanos::from_millis(time)), Nanos::from_millis(left), "at {time} ms");
        }
        assert_eq!(stall.to_string(), "100 ms in 1000");
        for text in ["", "1000", "1000,1000", "0,0", "10,0", "-5,1", "1000,100,1", "4000000,1"] {
            assert!(text.parse::<Stall>().is_err(), "{text}");
        }
    }
}
