//! Warnings and notes, each with its label: the few with the largest effect on the answer, or all.

use morecores_view::page::Statement;

use super::Style;
use crate::{Notice, Severity};

/// Largest number of notices shown unless all are requested: a reader of ten reads none. A choice.
const MAX_SHOWN: usize = 2;

/// Lines of the notices, which arrive in the order of their effect; the last line counts the
/// notices left out.
pub(super) fn notice_lines(notices: &[Notice], style: &Style) -> Vec<String> {
    let shown = if style.wide { notices.len() } else { notices.len().min(MAX_SHOWN) };
    let (shown_notices, rest) = notices.split_at(shown);
    let mut lines = Vec::new();
    for notice in shown_notices {
        let text = Statement::new(severity_label(notice.severity), &notice.text);
        let paint = |label: &str| style.paint().label(notice.severity, label);
        lines.extend(style.wrap_statement(&text, "  ", paint));
    }
    lines.extend(remaining_counts(rest).iter().flat_map(|text| style.wrap_dim(text)));
    lines
}

/// Label of a notice with this severity.
fn severity_label(severity: Severity) -> &'static str {
    if severity == Severity::Note { "note" } else { "warning" }
}

/// Number of notices left out: `3 more notes: --wide`, `1 more warning and 3 more notes: --wide`;
/// none if all are shown.
fn remaining_counts(rest: &[Notice]) -> Option<String> {
    let count_text =
        |what: &str| match rest.iter().filter(|notice| severity_label(notice.severity) == what).count() {
            0 => None,
            1 => Some(format!("1 more {what}")),
            n => Some(format!("{n} more {what}s")),
        };
    let counts: Vec<String> = ["warning", "note"].into_iter().filter_map(count_text).collect();
    (!counts.is_empty()).then(|| format!("{}: --wide", counts.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_notices_are_counted() {
        let style = Style { width: 80, colour: false, unicode: true, wide: false };
        let notices_with = |severities: &[Severity]| -> Vec<Notice> {
            let notice = |severity: &Severity| Notice { severity: *severity, text: "x".to_owned() };
            severities.iter().map(notice).collect()
        };
        use Severity::{Caution, Note, Serious};
        let six = notices_with(&[Serious, Serious, Caution, Note, Note, Note]);
        let counted = ["warning: x", "warning: x", "1 more warning and 3 more notes: --wide"];
        assert_eq!(notice_lines(&six, &style), counted);
        assert_eq!(notice_lines(&six[3..], &style), ["note: x", "note: x", "1 more note: --wide"]);
        assert_eq!(notice_lines(&six[4..], &style), ["note: x", "note: x"]);
        assert_eq!(notice_lines(&six, &Style { wide: true, ..style }).len(), 6);
        assert_eq!(notice_lines(&[], &style), [] as [&str; 0]);
    }
}
