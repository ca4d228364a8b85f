//! User commands around the runs.
//!
//! Nothing here runs the commands.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use crate::os_text::{self, NotHex};

/// User commands that run around the measured ones, through `/bin/sh -c`, and are never measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(try_from = "HookFields", into = "HookFields")]
pub struct Hooks {
    /// Command that runs once, before the first run.
    #[cfg_attr(feature = "typescript", ts(type = "string | null"))]
    pub setup: Option<OsString>,
    /// Command that runs before every run.
    #[cfg_attr(feature = "typescript", ts(type = "string | null"))]
    pub prepare: Option<OsString>,
    /// Command that runs once, after the last run, even if the study failed.
    #[cfg_attr(feature = "typescript", ts(type = "string | null"))]
    pub cleanup: Option<OsString>,
}

/// JSON form of [`Hooks`]; text that is not UTF-8 also has its bytes in hexadecimal.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct HookFields {
    setup: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    setup_hex: Option<String>,
    prepare: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prepare_hex: Option<String>,
    cleanup: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cleanup_hex: Option<String>,
}

impl From<Hooks> for HookFields {
    fn from(hooks: Hooks) -> Self {
        let readable = |line: &Option<OsString>| line.as_deref().map(os_text::readable);
        let hex = |line: &Option<OsString>| line.as_deref().and_then(os_text::hex);
        Self {
            setup: readable(&hooks.setup),
            setup_hex: hex(&hooks.setup),
            prepare: readable(&hooks.prepare),
            prepare_hex: hex(&hooks.prepare),
            cleanup: readable(&hooks.cleanup),
            cleanup_hex: hex(&hooks.cleanup),
        }
    }
}

impl TryFrom<HookFields> for Hooks {
    type Error = NotHex;

    fn try_from(fields: HookFields) -> Result<Self, NotHex> {
        let line = |line: Option<String>, hex: Option<String>| {
            line.map(|line| os_text::from_json(line, hex.as_deref())).transpose()
        };
        Ok(Self {
            setup: line(fields.setup, fields.setup_hex)?,
            prepare: line(fields.prepare, fields.prepare_hex)?,
            cleanup: line(fields.cleanup, fields.cleanup_hex)?,
        })
    }
}
