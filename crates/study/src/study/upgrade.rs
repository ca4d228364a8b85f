//! Earlier schemas, read as the newest one.
//!
//! `morecores.study/1` held studies of commands only, and `morecores.locks/1` studies of locks.
//! Both have the lines of today. Nothing is written here: resuming a study writes it in the newest
//! schema.

use serde_json::{Value, json};

use super::STUDY_SCHEMA;

const LOCKS_1_SCHEMA: &str = "morecores.locks/1";

/// Reason for which a header cannot be read by this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SchemaError {
    /// A later version wrote the header.
    Newer {
        /// Schema that the header names.
        found: String,
        /// Newest schema of this name that this version reads.
        known: &'static str,
    },
    /// The header names no schema of a study.
    Unknown(String),
}

/// Header in the newest schema.
pub(super) fn upgrade_header(mut header: Value) -> Result<Value, SchemaError> {
    let schema = header.get("schema").and_then(Value::as_str).unwrap_or_default().to_owned();
    match name_and_number(&schema) {
        Some(("morecores.study", 1)) => {
            let command = header.as_object_mut().and_then(|fields| fields.remove("command"));
            header["subject"] = command.unwrap_or_default();
        }
        Some(("morecores.study", 2)) => return Ok(header),
        Some(("morecores.study", _)) => {
            return Err(SchemaError::Newer { found: schema, known: STUDY_SCHEMA });
        }
        Some(("morecores.locks", 1)) => header["subject"] = json!({"kind": "locks"}),
        Some(("morecores.locks", _)) => {
            return Err(SchemaError::Newer { found: schema, known: LOCKS_1_SCHEMA });
        }
        _ => return Err(SchemaError::Unknown(schema)),
    }
    header["schema"] = json!(STUDY_SCHEMA);
    Ok(header)
}

/// Name of a schema, and its number.
fn name_and_number(schema: &str) -> Option<(&str, u32)> {
    let (name, number) = schema.rsplit_once('/')?;
    Some((name, number.parse().ok().filter(|number| *number > 0)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_schema_1_name_their_subject() {
        let command = json!({"kind": "program", "argv": ["true"]});
        assert_eq!(
            upgrade_header(json!({"schema": "morecores.study/1", "command": command, "tool": "0.1.0"})),
            Ok(json!({"schema": STUDY_SCHEMA, "subject": command, "tool": "0.1.0"}))
        );
        assert_eq!(
            upgrade_header(json!({"schema": "morecores.locks/1", "plan": {}})),
            Ok(json!({"schema": STUDY_SCHEMA, "subject": {"kind": "locks"}, "plan": {}}))
        );
        let newest = json!({"schema": STUDY_SCHEMA, "subject": command});
        assert_eq!(upgrade_header(newest.clone()), Ok(newest));
    }

    #[test]
    fn later_and_unknown_schemas_are_refused() {
        for (schema, known) in [("morecores.study/3", STUDY_SCHEMA), ("morecores.locks/2", LOCKS_1_SCHEMA)] {
            let error = upgrade_header(json!({"schema": schema}));
            assert_eq!(error, Err(SchemaError::Newer { found: schema.to_owned(), known }));
        }
        for header in
            [json!({"schema": "morecores.study/x"}), json!({"schema": "hyperfine/1"}), json!({}), json!(3)]
        {
            assert!(matches!(upgrade_header(header), Err(SchemaError::Unknown(_))));
        }
    }
}
