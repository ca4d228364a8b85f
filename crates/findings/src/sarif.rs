//! The findings as SARIF 2.1.0, the format of code review tools. Pure.

use serde_json::{Value, json};

use crate::findings::{Findings, SiteEffect};
use crate::words;

/// Findings as a SARIF log: one result for each site whose holds made the program fail, at its line
/// in the source code. Without a failure there is no result.
pub fn sarif(findings: &Findings) -> Value {
    let fails = findings.effects.iter().filter(|effect| effect.tally.failed() > 0);
    let mut results: Vec<Value> = fails.map(|effect| result(findings, effect)).collect();
    if results.is_empty() && findings.first_failure.is_some() {
        results.push(json!({
            "ruleId": rule(findings),
            "level": "error",
            "message": { "text": words::verdict_text(findings) },
        }));
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "morecores shake",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": [{
                    "id": rule(findings),
                    "shortDescription": { "text": words::verdict_text(findings) },
                }],
            }},
            "results": results,
        }],
    })
}

/// Identifier of the verdict, as in the JSON of the findings.
fn rule(findings: &Findings) -> Value {
    serde_json::to_value(findings.verdict).unwrap_or_default()
}

fn result(findings: &Findings, effect: &SiteEffect) -> Value {
    let locations: Vec<Value> = effect
        .sites
        .iter()
        .filter_map(|site| {
            let line = site.source.as_ref()?;
            Some(json!({ "physicalLocation": {
                "artifactLocation": { "uri": line.file },
                "region": { "startLine": line.line },
            }}))
        })
        .collect();
    let text = format!(
        "{} Failed runs with a thread held {}: {}.",
        words::verdict_text(findings),
        words::effect_text(effect, " or "),
        effect.tally
    );
    json!({ "ruleId": rule(findings), "level": "error", "message": { "text": text }, "locations": locations })
}
