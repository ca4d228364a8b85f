//! Places of instructions in the source code. The map numbers its files and names, because most of
//! them occur many times. This module must not read debug information.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::code::{CodeAddress, SourceLine};

/// Place of neighbouring instructions of a module in the source code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// Index of the module in [`TraceFacts::modules`](super::TraceFacts::modules).
    pub module: u32,
    /// Offset of the first known instruction in the module's file.
    pub start: u64,
    /// Offset after the first byte of the last known instruction.
    pub end: u64,
    /// Line in the function to which the instructions belong in the file. If the instructions are
    /// of an inlined function, the line calls it.
    pub line: SourceLine,
    /// Functions that the compiler inlined there, the outermost first.
    pub inlined: Vec<InlinedFunction>,
}

/// Function that the compiler inlined into another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinedFunction {
    /// Demangled name.
    pub name: String,
    /// Line in the function, if it is known. If the instructions are of a further inlined function,
    /// the line calls it.
    pub line: Option<SourceLine>,
}

/// Places in the source code of the instructions in stacks and samples, where the modules have line
/// numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceMap {
    /// Paths of source files, as the compiler recorded them.
    files: Vec<String>,
    /// Demangled names of inlined functions.
    names: Vec<String>,
    /// Ranges by module and start.
    ranges: Vec<SourceRange>,
}

/// Line of a source file of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileLine {
    file: u32,
    line: u32,
}

/// Place of neighbouring instructions, by the numbers of the map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RangeRow", into = "RangeRow")]
pub struct SourceRange {
    module: u32,
    start: u64,
    end: u64,
    /// Line of the function of the file, as in [`SourcePlace::line`].
    pub line: FileLine,
    /// Inlined functions, the outermost first: number of the name, and line.
    pub inlined: Vec<(u32, Option<FileLine>)>,
}

/// Range in JSON: module, start, end, file, line, and for each inlined function name, file, line. A
/// line of zero is unknown.
type RangeRow = (u32, u64, u64, u32, u32, Vec<(u32, u32, u32)>);

impl From<RangeRow> for SourceRange {
    fn from((module, start, end, file, line, inlined): RangeRow) -> Self {
        let function =
            |(name, file, line): (u32, u32, u32)| (name, (line > 0).then_some(FileLine { file, line }));
        let inlined = inlined.into_iter().map(function).collect();
        Self { module, start, end, line: FileLine { file, line }, inlined }
    }
}

impl From<SourceRange> for RangeRow {
    fn from(SourceRange { module, start, end, line: FileLine { file, line }, inlined }: SourceRange) -> Self {
        let function = |(name, line): (u32, Option<FileLine>)| {
            let FileLine { file, line } = line.unwrap_or(FileLine { file: 0, line: 0 });
            (name, file, line)
        };
        (module, start, end, file, line, inlined.into_iter().map(function).collect())
    }
}

impl SourceMap {
    /// Map of these places.
    pub fn from_places(places: impl IntoIterator<Item = SourcePlace>) -> Self {
        let (mut files, mut names) = (Numbering::default(), Numbering::default());
        let mut line = |SourceLine { file, line }: SourceLine| FileLine { file: files.number(file), line };
        let range = |SourcePlace { module, start, end, line: of_function, inlined }: SourcePlace| {
            let function = |InlinedFunction { name, line: inside }: InlinedFunction| {
                (names.number(name), inside.map(&mut line))
            };
            let inlined = inlined.into_iter().map(function).collect();
            SourceRange { module, start, end, line: line(of_function), inlined }
        };
        let mut ranges: Vec<SourceRange> = places.into_iter().map(range).collect();
        ranges.sort_by_key(|range| (range.module, range.start));
        Self { files: files.texts, names: names.texts, ranges }
    }

    /// Whether the map has no place.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Range that contains an instruction.
    pub fn range(&self, CodeAddress { module, offset }: CodeAddress) -> Option<&SourceRange> {
        let after = self.ranges.partition_point(|range| (range.module, range.start) <= (module, offset));
        let range = self.ranges.get(after.checked_sub(1)?)?;
        (range.module == module && offset < range.end).then_some(range)
    }

    /// Name of an inlined function; empty for a number that the map does not have.
    pub fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }

    /// Path of the source file with a line, and the number of the line.
    pub fn line(&self, FileLine { file, line }: FileLine) -> (&str, u32) {
        (self.files.get(file as usize).map_or("", String::as_str), line)
    }
}

/// Texts, each with a number.
#[derive(Default)]
struct Numbering {
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Numbering {
    fn number(&mut self, text: String) -> u32 {
        let next = self.texts.len() as u32;
        *self.numbers.entry(text).or_insert_with_key(|text| {
            self.texts.push(text.clone());
            next
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(file: &str, line: u32) -> SourceLine {
        SourceLine { file: file.to_owned(), line }
    }

    #[test]
    fn places_are_found_by_their_instructions_after_a_round_trip() {
        let inlined = |name: &str, line| InlinedFunction { name: name.to_owned(), line };
        let place = |module, start, end, line, inlined| SourcePlace { module, start, end, line, inlined };
        let map = SourceMap::from_places([
            place(1, 0x40, 0x48, line("/b.c", 9), vec![]),
            place(
                0,
                0x40,
                0x48,
                line("/a.c", 7),
                vec![inlined("square", Some(line("/b.c", 3))), inlined("half", None)],
            ),
        ]);
        let text = serde_json::to_string(&map).expect("JSON");
        assert_eq!(
            text,
            r#"{"files":["/b.c","/a.c"],"names":["square","half"],"ranges":[[0,64,72,1,7,[[0,0,3],[1,0,0]]],[1,64,72,0,9,[]]]}"#
        );
        let map: SourceMap = serde_json::from_str(&text).expect("a map");
        let at = |module, offset| map.range(CodeAddress { module, offset });
        let first = at(0, 0x47).expect("inside");
        assert_eq!(map.line(first.line), ("/a.c", 7));
        let functions: Vec<_> = first
            .inlined
            .iter()
            .map(|(name, line)| (map.name(*name), line.map(|line| map.line(line))))
            .collect();
        assert_eq!(functions, [("square", Some(("/b.c", 3))), ("half", None)]);
        assert_eq!(at(1, 0x40).map(|range| map.line(range.line)), Some(("/b.c", 9)));
        assert_eq!([at(0, 0x48), at(0, 0x3f), at(1, 0), at(2, 0x40)], [None; 4]);
        // Numbers that a damaged header does not define.
        assert_eq!((map.name(7), map.line(FileLine { file: 9, line: 1 })), ("", ("", 1)));
    }
}
