//! Call stacks as a profile of pprof: `profile.proto` in gzip
//! (<https://github.com/google/pprof/blob/main/proto/profile.proto>).
//!
//! Two values for each stack: CPU time, and idle time of CPUs while threads waited there or ran
//! there alone. The label `component` tells the kinds of time apart.

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use morecores_explain::{CallStack, StackFunction};
use prost::Message;

/// The messages of `profile.proto` that the profile uses, with its field numbers.
mod proto {
    use prost::Message;

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub(super) sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub(super) sample: Vec<Sample>,
        #[prost(message, repeated, tag = "3")]
        pub(super) mapping: Vec<Mapping>,
        #[prost(message, repeated, tag = "4")]
        pub(super) location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub(super) function: Vec<Function>,
        #[prost(string, repeated, tag = "6")]
        pub(super) string_table: Vec<String>,
        #[prost(int64, tag = "9")]
        pub(super) time_nanos: i64,
        #[prost(int64, tag = "10")]
        pub(super) duration_nanos: i64,
        #[prost(int64, repeated, tag = "13")]
        pub(super) comment: Vec<i64>,
        #[prost(int64, tag = "14")]
        pub(super) default_sample_type: i64,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct ValueType {
        #[prost(int64, tag = "1")]
        pub(super) r#type: i64,
        #[prost(int64, tag = "2")]
        pub(super) unit: i64,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Sample {
        #[prost(uint64, repeated, tag = "1")]
        pub(super) location_id: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub(super) value: Vec<i64>,
        #[prost(message, repeated, tag = "3")]
        pub(super) label: Vec<Label>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Label {
        #[prost(int64, tag = "1")]
        pub(super) key: i64,
        #[prost(int64, tag = "2")]
        pub(super) str: i64,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Mapping {
        #[prost(uint64, tag = "1")]
        pub(super) id: u64,
        #[prost(int64, tag = "5")]
        pub(super) filename: i64,
        #[prost(bool, tag = "7")]
        pub(super) has_functions: bool,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Location {
        #[prost(uint64, tag = "1")]
        pub(super) id: u64,
        #[prost(uint64, tag = "2")]
        pub(super) mapping_id: u64,
        #[prost(message, repeated, tag = "4")]
        pub(super) line: Vec<Line>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Line {
        #[prost(uint64, tag = "1")]
        pub(super) function_id: u64,
        #[prost(int64, tag = "2")]
        pub(super) line: i64,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Function {
        #[prost(uint64, tag = "1")]
        pub(super) id: u64,
        #[prost(int64, tag = "2")]
        pub(super) name: i64,
        #[prost(int64, tag = "3")]
        pub(super) system_name: i64,
        #[prost(int64, tag = "4")]
        pub(super) filename: i64,
    }
}

/// Facts about the profiled run.
#[derive(Clone, Debug)]
pub struct ProfiledRun {
    /// Time of the profile, in nanoseconds since 1970.
    pub began_ns: u64,
    /// Elapsed time of the run, in nanoseconds.
    pub elapsed_ns: u64,
    /// Remarks on the profile, one line each.
    pub comments: Vec<String>,
}

/// Writes all stacks as a profile.
///
/// # Errors
///
/// Those of the output.
pub fn write_pprof(stacks: &[CallStack], run: &ProfiledRun, output: impl Write) -> io::Result<()> {
    let mut builder = ProfileBuilder::new();
    // Readers take the first mapping for the program: that of the stack with the most time.
    let longest = stacks.iter().max_by(|one, other| one.seconds.total_cmp(&other.seconds));
    if let Some(module) = longest.and_then(|stack| stack.functions.last()?.module.as_deref()) {
        builder.mapping(module);
    }
    stacks.iter().for_each(|stack| builder.add(stack));
    let comment = run.comments.iter().map(|comment| builder.strings.index(comment)).collect();
    let ProfileBuilder { strings, profile, .. } = builder;
    let profile = proto::Profile {
        string_table: strings.texts,
        time_nanos: run.began_ns as i64,
        duration_nanos: run.elapsed_ns as i64,
        comment,
        ..profile
    };
    let mut encoder = GzEncoder::new(output, Compression::default());
    encoder.write_all(&profile.encode_to_vec())?;
    encoder.finish()?.flush()
}

/// Texts by their index. The first one is empty, as the format requires.
#[derive(Default)]
struct StringTable {
    texts: Vec<String>,
    indices: HashMap<String, i64>,
}

impl StringTable {
    fn index(&mut self, text: &str) -> i64 {
        if let Some(index) = self.indices.get(text) {
            return *index;
        }
        let index = self.texts.len() as i64;
        self.texts.push(text.to_owned());
        self.indices.insert(text.to_owned(), index);
        index
    }
}

struct ProfileBuilder {
    strings: StringTable,
    profile: proto::Profile,
    mappings: HashMap<String, u64>,
    functions: HashMap<(String, i64), u64>,
    locations: HashMap<StackFunction, u64>,
}

impl ProfileBuilder {
    fn new() -> Self {
        let mut strings = StringTable::default();
        strings.index("");
        let unit = strings.index("nanoseconds");
        let sample_type = ["cpu", "idle"].map(|name| proto::ValueType { r#type: strings.index(name), unit });
        let default_sample_type = sample_type[0].r#type;
        let profile = proto::Profile {
            sample_type: sample_type.into(),
            default_sample_type,
            ..proto::Profile::default()
        };
        let (mappings, functions, locations) = Default::default();
        Self { strings, profile, mappings, functions, locations }
    }

    fn add(&mut self, stack: &CallStack) {
        let command = StackFunction { name: stack.command.clone(), module: None, line: None };
        let outermost_first = std::iter::once(&command).chain(&stack.functions);
        let mut location_id: Vec<u64> = outermost_first.map(|function| self.location(function)).collect();
        location_id.reverse();
        let nanoseconds = (stack.seconds * 1e9).round() as i64;
        let value = if stack.component.is_idle() { vec![0, nanoseconds] } else { vec![nanoseconds, 0] };
        let (key, str) = (self.strings.index("component"), self.strings.index(stack.component.key()));
        self.profile.sample.push(proto::Sample {
            location_id,
            value,
            label: vec![proto::Label { key, str }],
        });
    }

    fn location(&mut self, function: &StackFunction) -> u64 {
        if let Some(id) = self.locations.get(function) {
            return *id;
        }
        let mapping_id = function.module.as_deref().map_or(0, |module| self.mapping(module));
        let (file, line) = function.line.as_ref().map_or(("", 0), |(file, line)| (file.as_str(), *line));
        let filename = self.strings.index(file);
        let function_id = self.function(&function.name, filename);
        let id = self.profile.location.len() as u64 + 1;
        let line = vec![proto::Line { function_id, line: i64::from(line) }];
        self.profile.location.push(proto::Location { id, mapping_id, line });
        self.locations.insert(function.clone(), id);
        id
    }

    fn mapping(&mut self, module: &str) -> u64 {
        if let Some(id) = self.mappings.get(module) {
            return *id;
        }
        let (id, filename) = (self.profile.mapping.len() as u64 + 1, self.strings.index(module));
        self.profile.mapping.push(proto::Mapping { id, filename, has_functions: true });
        self.mappings.insert(module.to_owned(), id);
        id
    }

    fn function(&mut self, name: &str, filename: i64) -> u64 {
        let key = (name.to_owned(), filename);
        if let Some(id) = self.functions.get(&key) {
            return *id;
        }
        let (id, text) = (self.profile.function.len() as u64 + 1, self.strings.index(name));
        self.profile.function.push(proto::Function { id, name: text, system_name: text, filename });
        self.functions.insert(key, id);
        id
    }
}
