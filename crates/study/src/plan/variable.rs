//! Environment variable of the command that the user gave.
//!
//! Nothing here reads or sets a variable.

use std::ffi::{OsStr, OsString};

use serde::{Deserialize, Serialize};

use crate::os_text::{self, NotHex};
use crate::substitute;

/// Environment variable of the command that the command does not simply inherit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(try_from = "VariableFields", into = "VariableFields")]
pub struct Variable {
    /// Name of the variable; never empty.
    #[cfg_attr(feature = "typescript", ts(type = "string"))]
    pub name: OsString,
    /// Value of the variable, with `{n}` not yet replaced; absent if the value is inherited
    /// unchanged from morecores.
    #[cfg_attr(feature = "typescript", ts(type = "string", optional))]
    pub value: Option<OsString>,
}

impl Variable {
    /// Value at one CPU count, with `{n}` replaced; `None` if the value is inherited.
    pub fn value_at(&self, n: u32) -> Option<OsString> {
        self.value.as_deref().map(|value| substitute(value, n))
    }

    /// Returns whether the value differs between CPU counts.
    pub fn uses_n(&self) -> bool {
        self.value.as_deref().is_some_and(holds_n)
    }
}

/// Returns whether a text differs between CPU counts: whether it contains `{n}`, and not only
/// `{{n}}`.
pub fn holds_n(text: &OsStr) -> bool {
    substitute(text, 0) != substitute(text, 1)
}

/// JSON form of [`Variable`]; text that is not UTF-8 also has its bytes in hexadecimal.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct VariableFields {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name_hex: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value_hex: Option<String>,
}

impl From<Variable> for VariableFields {
    fn from(variable: Variable) -> Self {
        Self {
            name: os_text::readable(&variable.name),
            name_hex: os_text::hex(&variable.name),
            value: variable.value.as_deref().map(os_text::readable),
            value_hex: variable.value.as_deref().and_then(os_text::hex),
        }
    }
}

impl TryFrom<VariableFields> for Variable {
    type Error = NotHex;

    fn try_from(fields: VariableFields) -> Result<Self, NotHex> {
        let hex = fields.value_hex;
        Ok(Self {
            name: os_text::from_json(fields.name, fields.name_hex.as_deref())?,
            value: fields.value.map(|value| os_text::from_json(value, hex.as_deref())).transpose()?,
        })
    }
}
