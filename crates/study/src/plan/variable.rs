//! A variable of the command's environment that the user gave.
//!
//! Nothing here reads or sets one.

use std::ffi::{OsStr, OsString};

use serde::{Deserialize, Serialize};

use crate::os_text::{self, NotHex};
use crate::substitute;

/// A variable of the command's environment that it does not simply inherit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(try_from = "VariableFields", into = "VariableFields")]
pub struct Variable {
    /// Its name; never empty.
    #[cfg_attr(feature = "typescript", ts(type = "string"))]
    pub name: OsString,
    /// Its value, with `{n}` not yet replaced; absent: passed on from the environment of morecores as it is.
    #[cfg_attr(feature = "typescript", ts(type = "string", optional))]
    pub value: Option<OsString>,
}

impl Variable {
    /// The value at one CPU count, `{n}` replaced; none where the variable is passed on.
    pub fn value_at(&self, n: u32) -> Option<OsString> {
        self.value.as_deref().map(|value| substitute(value, n))
    }

    /// Whether the value differs from one CPU count to another.
    pub fn uses_n(&self) -> bool {
        self.value.as_deref().is_some_and(holds_n)
    }
}

/// Whether a text differs from one CPU count to another: whether it holds `{n}`, and not only `{{n}}`.
pub fn holds_n(text: &OsStr) -> bool {
    substitute(text, 0) != substitute(text, 1)
}

/// The same as it stands in JSON; what is not UTF-8 has its bytes beside it in hexadecimal.
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
