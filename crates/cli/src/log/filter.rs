//! Selection of events by level and by the crate or module that emits them.

use std::fmt;
use std::str::FromStr;

use tracing::Metadata;
use tracing::level_filters::LevelFilter;

/// Crates that emit events.
const CRATES: [&str; 5] =
    ["morecores", "morecores_lock_lab", "morecores_machine", "morecores_measure", "morecores_trace"];

/// Whether a target is a crate of morecores, or a module of one.
pub(super) fn is_morecores_target(target: &str) -> bool {
    CRATES.iter().any(|name| is_within(target, name))
}

/// Whether a target is a module, or a module below it.
fn is_within(target: &str, module: &str) -> bool {
    target.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Selection of events.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Filter {
    /// Most detailed level of all other modules.
    all: LevelFilter,
    /// Most detailed level of each of these modules; the longest name that fits decides.
    modules: Vec<(String, LevelFilter)>,
}

impl Filter {
    /// Selection by the number of `-v`.
    pub(super) fn from_verbosity(verbosity: u8) -> Self {
        let all = match verbosity {
            0 => LevelFilter::OFF,
            1 => LevelFilter::INFO,
            2 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        };
        Self { all, modules: Vec::new() }
    }

    /// Whether no event is selected.
    pub(super) fn is_off(&self) -> bool {
        self.max_level() == LevelFilter::OFF
    }

    /// Most detailed level of any module.
    pub(super) fn max_level(&self) -> LevelFilter {
        self.modules.iter().map(|(_, level)| *level).fold(self.all, LevelFilter::max)
    }

    /// Whether an event is selected.
    pub(super) fn selects(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level(metadata.target())
    }

    fn level(&self, target: &str) -> LevelFilter {
        let fitting = self.modules.iter().filter(|(module, _)| is_within(target, module));
        fitting.max_by_key(|(module, _)| module.len()).map_or(self.all, |(_, level)| *level)
    }
}

/// Text that selects nothing that exists.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unknown(String);

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, others @ ..] = CRATES;
        write!(
            f,
            "`{}` is neither a level (off, error, warn, info, debug, trace) nor CRATE=LEVEL with one of the crates {first}, {}",
            self.0,
            others.join(", ")
        )
    }
}

impl FromStr for Filter {
    type Err = Unknown;

    /// Parses a list such as `info,morecores_machine=debug`. An empty text selects nothing.
    fn from_str(text: &str) -> Result<Self, Unknown> {
        let mut filter = Self { all: LevelFilter::OFF, modules: Vec::new() };
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let unknown = || Unknown(part.to_owned());
            match part.split_once('=') {
                None => filter.all = level(part).ok_or_else(unknown)?,
                Some((module, word)) if is_morecores_target(module) => {
                    filter.modules.push((module.to_owned(), level(word).ok_or_else(unknown)?));
                }
                Some(_) => return Err(unknown()),
            }
        }
        Ok(filter)
    }
}

fn level(word: &str) -> Option<LevelFilter> {
    // `LevelFilter` also parses the empty word, and numbers, whose order nobody knows by heart.
    word.parse().ok().filter(|_| word.starts_with(|c: char| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_applies_to_all_modules_or_to_some() {
        let filter: Filter = "info,morecores_machine=debug,morecores_machine::undo=off".parse().unwrap();
        assert_eq!(
            [
                "morecores",
                "morecores_machine::cgroup::location",
                "morecores_machine::undo",
                "morecores_machined"
            ]
            .map(|target| filter.level(target)),
            [LevelFilter::INFO, LevelFilter::DEBUG, LevelFilter::OFF, LevelFilter::INFO]
        );
        assert_eq!(filter.max_level(), LevelFilter::DEBUG);
    }

    #[test]
    fn nothing_is_selected_by_default() {
        for text in ["", "off", "OFF", "morecores=off"] {
            assert!(text.parse::<Filter>().unwrap().is_off(), "{text}");
        }
        assert!(Filter::from_verbosity(0).is_off() && !Filter::from_verbosity(1).is_off());
    }

    #[test]
    fn a_filter_that_selects_nothing_is_refused_by_name() {
        for (text, part) in [
            ("x", "`x`"),
            ("3", "`3`"),
            ("info,debgu", "`debgu`"),
            ("morecores_view=debug", "`morecores_view=debug`"),
            ("morecores_trace=", "`morecores_trace=`"),
        ] {
            let refused = text.parse::<Filter>().unwrap_err().to_string();
            assert!(refused.starts_with(part) && refused.contains("morecores_machine"), "{refused}");
        }
    }

    #[test]
    fn events_of_other_libraries_are_dropped() {
        assert!(is_morecores_target("morecores") && is_morecores_target("morecores_trace::driver"));
        assert!(!is_morecores_target("mio::poll") && !is_morecores_target("morecores_tracer"));
    }
}
