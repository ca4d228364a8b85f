//! Parsers of short texts on the command line: a share, a time, a size.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow, bail, ensure};
use jiff::SignedDuration;
use morecores_study::{Bytes, Nanos};

use crate::args::WorthArgs;

/// Largest CPU count, and value of `{n}`, that is accepted. A larger one is a typing error: no
/// machine has as many CPUs.
pub(super) const LARGEST_NUMBER: u32 = 65_536;
/// Most numbers of a range.
const LONGEST_RANGE: u32 = 1024;

/// Parses numbers and ranges: `4,8-10,64`. `what` names the values, for the error. The result is
/// ascending, without repetitions.
pub(super) fn number_list(option: &str, what: &str, text: &str) -> Result<Vec<u32>> {
    let wrong =
        |part: &str| anyhow!("{option} `{part}`: write {what} from 1 to {LARGEST_NUMBER}, like 4,8,16");
    let number = |part: &str| {
        let number = part.trim().parse::<u32>().ok().filter(|number| (1..=LARGEST_NUMBER).contains(number));
        number.ok_or_else(|| wrong(part))
    };
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        ensure!(first <= last && last - first < LONGEST_RANGE, wrong(part));
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// Parses a share given as a percentage, with or without the sign: `1%` and `1` are 0.01.
pub(crate) fn percent(option: &str, text: &str) -> Result<f64> {
    let number = text.trim().strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    let percent = number.map_err(|_| anyhow!("{option} `{text}`: write a percentage like 1% or 0.5%"))?;
    ensure!((0.0..100.0).contains(&percent), "{option} `{text}`: write a percentage from 0% to below 100%");
    Ok(percent / 100.0)
}

/// Parses the value of `--worth`, a share of a CPU.
pub(crate) fn worth(args: &WorthArgs) -> Result<Option<f64>> {
    let Some(text) = &args.worth else { return Ok(None) };
    match text.trim().parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(Some(share)),
        _ => bail!("--worth `{text}`: write a share of a CPU above 0 and up to 1, like 0.25"),
    }
}

/// Parses a time with its unit: `90s`, `10m`, `1h 30m`, `500ms`. A bare number is in seconds.
pub(crate) fn duration(option: &str, text: &str) -> Result<Nanos> {
    let wrong = || anyhow!("{option} `{text}`: write a time like 90s, 10m or 1h30m");
    let nanos = match text.trim().parse::<f64>() {
        Ok(seconds) => Nanos::from_secs_f64(seconds),
        Err(_) => {
            let parsed: SignedDuration = text.trim().parse().map_err(|_| wrong())?;
            Nanos(u64::try_from(parsed.as_nanos()).map_err(|_| wrong())?)
        }
    };
    ensure!(nanos > Nanos::ZERO, wrong());
    Ok(nanos)
}

/// Parses a time like [`duration`]; none for `0`, which means no limit.
pub(crate) fn time_limit(option: &str, text: &str) -> Result<Option<Nanos>> {
    if text.trim().parse() == Ok(0.0) {
        return Ok(None);
    }
    duration(option, text).map(Some)
}

/// Parses an amount of data as GNU programs do: `512M` and `512MiB` are 512 times 2^20 bytes,
/// `512MB` is 512 million bytes.
pub(crate) fn size(option: &str, text: &str) -> Result<Bytes> {
    let wrong = || anyhow!("{option} `{text}`: write a size like 64K, 512M or 2G");
    let digits = text.trim().find(|c: char| !c.is_ascii_digit()).unwrap_or(text.trim().len());
    let (number, unit) = text.trim().split_at(digits);
    let power = |letter: char| "KMGT".find(letter.to_ascii_uppercase()).map(|place| place as u32 + 1);
    let mut letters = unit.chars();
    let factor = match (letters.next(), letters.as_str()) {
        (None, _) | (Some('B'), "") => Some(1),
        (Some(letter), "" | "iB") => power(letter).and_then(|power| 1024_u64.checked_pow(power)),
        (Some(letter), "B") => power(letter).and_then(|power| 1000_u64.checked_pow(power)),
        _ => None,
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    factor.and_then(|factor| number.checked_mul(factor)).map(Bytes).ok_or_else(wrong)
}

/// Parses a time with its unit, possibly zero: `0`, `100ns`, `1.5us`, `10ms`.
pub(super) fn short_time(text: &str) -> Result<Nanos> {
    let wrong = || anyhow!("`{text}`: write a time with its unit, like 0, 100ns, 1us or 1ms");
    if text == "0" {
        return Ok(Nanos::ZERO);
    }
    // A bare number is refused: it could mean nanoseconds or microseconds.
    let parsed: SignedDuration = text.parse().map_err(|_| wrong())?;
    u64::try_from(parsed.as_nanos()).map(Nanos).map_err(|_| wrong())
}

/// Parses the exit statuses of `--success`: numbers from 0 to 255, separated by commas.
pub(crate) fn success(text: Option<&str>) -> Result<Option<BTreeSet<u8>>> {
    let Some(text) = text else { return Ok(None) };
    let statuses: Option<BTreeSet<u8>> = text.split(',').map(|status| status.trim().parse().ok()).collect();
    match statuses {
        Some(statuses) => Ok(Some(statuses)),
        None => bail!(
            "--success {text}: give exit statuses from 0 to 255 with commas between them, as in --success 0,1"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_times_parse_as_people_write_them() {
        assert_eq!(percent("-", "1%").unwrap(), 0.01);
        assert_eq!(percent("-", "0.5").unwrap(), 0.005);
        assert_eq!(duration("-", "90s").unwrap(), Nanos::from_millis(90_000));
        assert_eq!(duration("-", "1h 30m").unwrap(), Nanos::from_millis(5_400_000));
        assert_eq!(duration("-", "500ms").unwrap(), Nanos::from_millis(500));
        assert_eq!(duration("-", "2.5").unwrap(), Nanos::from_millis(2_500));
    }

    #[test]
    fn bad_values_say_what_to_write() {
        for text in ["", "one", "-1", "100%", "inf", "NaN"] {
            let error = percent("--precision", text).unwrap_err().to_string();
            assert!(error.contains("write a percentage"), "{text}: {error}");
        }
        for text in ["", "soon", "-5s", "0", "0s", "inf"] {
            assert!(duration("--timeout", text).is_err() || text == "inf", "{text}");
        }
    }

    #[test]
    fn a_worth_is_a_share_of_a_cpu() {
        let worth = |text: &str| worth(&WorthArgs { worth: Some(text.to_owned()) });
        assert_eq!(super::worth(&WorthArgs::default()).unwrap(), None);
        assert_eq!([worth("0.1").unwrap(), worth("1").unwrap()], [Some(0.1), Some(1.0)]);
        for text in ["0", "-0.1", "1.01", "x", "", "NaN", "inf", "25%"] {
            let error = worth(text).unwrap_err().to_string();
            assert!(error.contains("above 0 and up to 1"), "{text}: {error}");
        }
    }

    #[test]
    fn a_limit_of_zero_is_no_limit() {
        let read = |text| time_limit("--max-time", text).ok();
        assert_eq!(
            [read("0"), read("0.0"), read("90s")],
            [Some(None), Some(None), Some(Some(Nanos::from_millis(90_000)))]
        );
        assert_eq!([read("0s"), read("none"), read("-1")], [None; 3]);
    }

    #[test]
    fn sizes_have_the_units_of_gnu_programs() {
        let read = |text| size("--input-limit", text).ok().map(|size| size.0);
        assert_eq!(
            ["0", "5", "5B", "1K", "1k", "1KiB", "1KB", "2M", "3G", "1T"].map(read),
            [0, 5, 5, 1024, 1024, 1024, 1000, 2 << 20, 3 << 30, 1 << 40].map(Some)
        );
        assert_eq!(["", "K", "1.5G", "-1", "1X", "1Kib", "99999999999T"].map(read), [None; 7]);
    }

    #[test]
    fn short_times_need_a_unit() {
        let read = |text| short_time(text).ok().map(|time| time.0);
        assert_eq!([read("0"), read("0ns"), read("100ns")], [Some(0), Some(0), Some(100)]);
        assert_eq!(
            [read("1us"), read("1µs"), read("1.5us"), read("10ms")],
            [1_000, 1_000, 1_500, 10_000_000].map(Some)
        );
        assert_eq!([read("5"), read(""), read("-1us"), read("us")], [None; 4]);
    }
}
