//! The derived view as JSON: its keys are the public contract of `docs/format.md`.
//!
//! The shapes are those of the record; nothing is added, left out or rounded here.

use morecores_record::View;

/// The view as JSON for people and programs, indented, with a newline at the end.
///
/// # Errors
///
/// Never for a view that was computed from a study: only where a map's key is not a text.
pub fn view_json(view: &View) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(view)?;
    text.push('\n');
    Ok(text)
}
