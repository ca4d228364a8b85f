//! Options of a prediction: CPU counts that need not exist, prices, changes to a program.

use std::ffi::OsString;

use anyhow::{Result, anyhow, bail, ensure};
use morecores_machine::counts::CountsError;
use morecores_predict::forecast::WhatIfChange;
use morecores_report::{Price, cpus};
use morecores_study::Bytes;
use morecores_view::View;

use crate::args::{PredictArgs, WhatIfArgs};

use super::texts::{LARGEST_NUMBER, number_list, size};

/// Values of a list of CPU counts of machines that need not exist.
const CPU_COUNTS: &str = "CPU counts";

/// Default predicted counts, as multiples of the largest measured count.
const TIMES: [u32; 3] = [2, 4, 8];

/// CPU counts that `run --predict` requests in a study with this largest count.
pub(super) fn targets(text: &str, largest: u32) -> Result<Vec<u32>> {
    if text.is_empty() {
        return Ok(TIMES.map(|times| times * largest).to_vec());
    }
    let targets = number_list("--predict", CPU_COUNTS, text)?;
    check_largest_count("--predict", &targets, largest)?;
    Ok(targets)
}

/// Error on counts that this machine does not have, with the options that predict them.
pub(super) fn explain_missing_cpus(error: CountsError) -> anyhow::Error {
    let hint = match &error {
        CountsError::TooMany { within, beyond, .. } => {
            let cpus =
                if within.is_empty() { String::new() } else { format!("--cpus {} ", join_counts(within)) };
            format!("; to predict larger machines: {cpus}--predict={}", join_counts(beyond))
        }
        _ => String::new(),
    };
    anyhow!("{error}{hint}")
}

fn join_counts(counts: &[usize]) -> String {
    counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Checks that no list of CPU counts follows `--predict` without an equals sign: the list would
/// become the command.
pub(super) fn check_no_list(predict: Option<&str>, command: &[OsString]) -> Result<()> {
    let Some(first) = command.first().and_then(|word| word.to_str()).filter(|_| predict == Some("")) else {
        return Ok(());
    };
    ensure!(
        number_list("--predict", CPU_COUNTS, first).is_err(),
        "`{first}` would be the command: write a list of CPU counts with an equals sign, --predict={first}"
    );
    Ok(())
}

/// Options of `morecores predict`.
#[derive(Debug)]
pub(crate) struct PredictOptions {
    pub(crate) cpus: Vec<u32>,
    pub(crate) from: Option<Vec<u32>>,
    pub(crate) prices: Vec<Price>,
    pub(crate) memory: Option<Bytes>,
}

impl PredictOptions {
    /// Reads the arguments, for the study of `view`.
    pub(crate) fn new(args: &PredictArgs, view: &View) -> Result<Self> {
        let measured: Vec<u32> = view.points.iter().map(|point| point.cpus).collect();
        ensure!(!measured.is_empty(), "the study has no successful run, so nothing can be predicted");
        let from = args.from.as_deref().map(|text| number_list("--from", CPU_COUNTS, text)).transpose()?;
        if let Some(missing) = from.iter().flatten().find(|count| !measured.contains(count)) {
            bail!("--from {missing}: measured were {}", format_counts(&measured));
        }
        let largest = from.as_ref().unwrap_or(&measured).iter().max().copied().unwrap_or(1);
        let mut cpus = match &args.cpus {
            Some(text) => number_list("--cpus", CPU_COUNTS, text)?,
            None => default_targets(view, largest),
        };
        check_largest_count("--cpus", &cpus, largest)?;
        let prices = args.price.as_deref().map(prices).transpose()?.unwrap_or_default();
        if let Some(price) = prices.iter().find(|p| p.cpus <= largest && !measured.contains(&p.cpus)) {
            bail!(
                "--price {}: this count is neither measured nor predicted (measured: {}); leave it out",
                price.cpus,
                format_counts(&measured)
            );
        }
        cpus.extend(prices.iter().map(|price| price.cpus).filter(|count| *count > largest));
        cpus.sort_unstable();
        cpus.dedup();
        let memory = args.memory.as_deref().map(|text| size("--memory", text)).transpose()?;
        Ok(Self { cpus, from, prices, memory })
    }
}

/// Default CPU counts to predict.
pub(crate) fn default_targets(view: &View, largest: u32) -> Vec<u32> {
    let planned: Vec<u32> = view.plan.predict.iter().copied().filter(|count| *count > largest).collect();
    if planned.is_empty() { TIMES.map(|times| times * largest).to_vec() } else { planned }
}

/// Options of `morecores what-if`.
#[derive(Debug)]
pub(crate) struct WhatIfOptions {
    /// Requested changes. An empty list requests all possible changes.
    pub(crate) changes: Vec<WhatIfChange>,
    pub(crate) cpus: Option<Vec<u32>>,
}

impl WhatIfOptions {
    /// Reads the arguments.
    pub(crate) fn new(args: &WhatIfArgs) -> Result<Self> {
        let without = args.without.iter().map(|what| match what.as_str() {
            "disk" => WhatIfChange::RemoveDisk,
            "serial" => WhatIfChange::RemoveSerial,
            name => WhatIfChange::RemoveNamed(name.to_owned()),
        });
        let mut changes: Vec<WhatIfChange> = without.collect();
        for text in &args.faster {
            let wrong = || anyhow!("--faster `{text}`: write a command and how much faster, like ld=2x");
            let (command, factor) = text.rsplit_once('=').ok_or_else(wrong)?;
            let factor: f64 = factor.trim_end_matches(['x', '×']).parse().map_err(|_| wrong())?;
            ensure!(factor.is_finite() && factor > 1.0 && !command.is_empty(), wrong());
            changes.push(WhatIfChange::SpeedUp { command: command.to_owned(), factor });
        }
        let cpus = args.cpus.as_deref().map(|text| number_list("--cpus", CPU_COUNTS, text)).transpose()?;
        Ok(Self { changes, cpus })
    }
}

/// Checks that all predicted counts are larger than the counts on which the prediction rests.
fn check_largest_count(option: &str, counts: &[u32], largest: u32) -> Result<()> {
    match counts.iter().find(|count| **count <= largest) {
        Some(count) => bail!("{option} {count}: {} are measured; predict more than that", cpus(largest)),
        None => Ok(()),
    }
}

fn prices(text: &str) -> Result<Vec<Price>> {
    let one = |part: &str| {
        let wrong = || anyhow!("--price `{part}`: write CPUs and the price of an hour, like 2=0.10,16=0.80");
        let (count, price) = part.split_once('=').ok_or_else(wrong)?;
        let count: u32 = count.trim().parse().map_err(|_| wrong())?;
        let per_hour: f64 = price.trim().parse().map_err(|_| wrong())?;
        ensure!((1..=LARGEST_NUMBER).contains(&count) && per_hour.is_finite() && per_hour >= 0.0, wrong());
        Ok(Price { cpus: count, per_hour })
    };
    text.split(',').map(one).collect()
}

fn format_counts(counts: &[u32]) -> String {
    counts.iter().map(u32::to_string).collect::<Vec<_>>().join(", ") + " CPUs"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_may_exceed_those_of_this_machine() {
        assert_eq!(number_list("-", CPU_COUNTS, "64, 4,8-10").unwrap(), [4, 8, 9, 10, 64]);
        for wrong in ["", "0", "all", "4-2", "1e3", "70000", "1-65536"] {
            let error = number_list("--cpus", CPU_COUNTS, wrong).unwrap_err().to_string();
            assert!(error.starts_with("--cpus `") && error.contains("like 4,8,16"), "{error}");
        }
        assert!(check_largest_count("--cpus", &[4, 8], 2).is_ok());
        let error = check_largest_count("--cpus", &[2, 8], 2).unwrap_err().to_string();
        assert_eq!(error, "--cpus 2: 2 CPUs are measured; predict more than that");
    }

    #[test]
    fn prices_by_the_hour() {
        let read = prices("2=0.10, 16=0.8").unwrap();
        assert_eq!(read, [Price { cpus: 2, per_hour: 0.10 }, Price { cpus: 16, per_hour: 0.8 }]);
        for wrong in ["", "2", "x=1", "2=-1", "0=1", "2=nan"] {
            assert!(prices(wrong).is_err(), "{wrong}");
        }
    }
}
