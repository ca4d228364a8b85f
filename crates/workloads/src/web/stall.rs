//! A server with deliberate stalls, to test whether a load generator notices them.

use std::fmt;
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use morecores_study::Nanos;

use crate::clock::monotonic;

/// Stalls at equal intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stall {
    /// Time from the end of one stall to the end of the next.
    period: Nanos,
    /// Duration of each stall: less than `period`.
    duration: Nanos,
}

impl Stall {
    /// Sleeps until the end of the current stall, if there is one. All threads of a server stall
    /// together, as if one common cause held them up.
    pub(super) fn sleep_until_end(self, server_start: Nanos) {
        let remaining = self.remaining(monotonic().since(server_start));
        if remaining > Nanos::ZERO {
            thread::sleep(Duration::from_nanos(remaining.0));
        }
    }

    /// Remaining time of the stall at `time` after the start of the server. A period ends with its
    /// stall, so any interval of whole periods has an equal share of stalls, including the first
    /// one.
    fn remaining(self, time: Nanos) -> Nanos {
        let remaining = Nanos(self.period.0 - time.0 % self.period.0);
        if remaining > self.duration { Nanos::ZERO } else { remaining }
    }
}

impl FromStr for Stall {
    type Err = String;

    /// Parses two whole numbers of milliseconds, such as `1000,100`.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once(',').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let Some((period, duration)) = numbers else {
            return Err("two numbers of milliseconds are needed, like 1000,100".to_owned());
        };
        // An hour or more is not a stall. The limit also excludes overflow in these products.
        if !(1..3_600_000).contains(&period) || !(1..period).contains(&duration) {
            return Err("a stall must be shorter than the time from one to the next, and that than an hour"
                .to_owned());
        }
        Ok(Self { period: Nanos::from_millis(period), duration: Nanos::from_millis(duration) })
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms in {}", self.duration.0 / 1_000_000, self.period.0 / 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_ends_after_its_duration() {
        let stall: Stall = "1000,100".parse().unwrap();
        for (time, remaining) in
            [(0, 0), (50, 0), (899, 0), (900, 100), (960, 40), (999, 1), (1000, 0), (1950, 50)]
        {
            assert_eq!(
                stall.remaining(Nanos::from_millis(time)),
                Nanos::from_millis(remaining),
                "at {time} ms"
            );
        }
        assert_eq!(stall.to_string(), "100 ms in 1000");
        for text in ["", "1000", "1000,1000", "0,0", "10,0", "-5,1", "1000,100,1", "4000000,1"] {
            assert!(text.parse::<Stall>().is_err(), "{text}");
        }
    }
}
