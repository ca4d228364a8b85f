//! Call stacks as folded lines, for the tools that draw flame graphs: `make;main;read 1234`, CPU
//! time in microseconds.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use morecores_explain::CallStack;

/// Writes the CPU time of all stacks. A `;` in a name becomes `:`, because it divides functions.
/// `lost_events` is the number of events that the trace lost: the format has no remarks, and a
/// stack of a microsecond says it.
///
/// # Errors
///
/// Those of the output.
pub fn write_folded(stacks: &[CallStack], lost_events: u64, output: impl Write) -> io::Result<()> {
    let mut lines: BTreeMap<String, f64> = BTreeMap::new();
    for stack in stacks.iter().filter(|stack| !stack.component.is_idle()) {
        let names =
            std::iter::once(&stack.command).chain(stack.functions.iter().map(|function| &function.name));
        let line = names.map(|name| name.replace(';', ":")).collect::<Vec<String>>().join(";");
        *lines.entry(line).or_default() += stack.seconds;
    }
    let mut output = BufWriter::new(output);
    if lost_events > 0 {
        writeln!(output, "[the trace lost {lost_events} events: times are wrong] 1")?;
    }
    for (line, seconds) in lines {
        writeln!(output, "{line} {}", (seconds * 1e6).round() as u64)?;
    }
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lossy_trace_is_marked() {
        let written = |lost_events| {
            let mut text = Vec::new();
            write_folded(&[], lost_events, &mut text).expect("written");
            String::from_utf8(text).expect("text")
        };
        assert_eq!(written(0), "");
        assert_eq!(written(7), "[the trace lost 7 events: times are wrong] 1\n");
    }
}
