//! Source of the command's standard input.
//!
//! Nothing here opens or reads the source.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Bytes;
use crate::os_text::{self, NotHex};

/// Source of the command's standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(try_from = "InputFields", into = "InputFields")]
pub struct InputSource {
    /// Path of the file, or `-` for the standard input of morecores; absent for `/dev/null`.
    #[cfg_attr(feature = "typescript", ts(rename = "input", type = "string | null"))]
    pub path: Option<PathBuf>,
    /// Size and checksum of input that a later morecores cannot find by the path: a pipe, or
    /// standard input.
    #[cfg_attr(feature = "typescript", ts(rename = "input_content", optional))]
    pub content: Option<InputContent>,
}

/// Size and checksum of an input: enough to recognise the same input later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct InputContent {
    /// Size of the input.
    pub bytes: Bytes,
    /// CRC-32 of the content, as `crc32` and zip compute it.
    pub crc32: u32,
}

/// Form of [`InputSource`] in the plan's JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct InputFields {
    input: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input_hex: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input_content: Option<InputContent>,
}

impl From<InputSource> for InputFields {
    fn from(source: InputSource) -> Self {
        let path = source.path.as_deref().map(std::path::Path::as_os_str);
        Self {
            input: path.map(os_text::readable),
            input_hex: path.and_then(os_text::hex),
            input_content: source.content,
        }
    }
}

impl TryFrom<InputFields> for InputSource {
    type Error = NotHex;

    fn try_from(fields: InputFields) -> Result<Self, NotHex> {
        let hex = fields.input_hex;
        let path = fields.input.map(|path| os_text::from_json(path, hex.as_deref())).transpose()?;
        Ok(Self { path: path.map(PathBuf::from), content: fields.input_content })
    }
}
