//! Call stacks as folded lines, for the tools that draw flame graphs: `make;main;read 1234`, CPU
//! time in microseconds.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use morecores_explain::CallStack;

/// Writes the CPU time of all stacks. A `;` in a name becomes `:`, because it divides functions.
///
/// # Errors
///
/// Those of the output.
pub fn write_folded(stacks: &[CallStack], output: impl Write) -> io::Result<()> {
    let mut lines: BTreeMap<String, f64> = BTreeMap::new();
    for stack in stacks.iter().filter(|stack| !stack.component.is_idle()) {
        let names =
            std::iter::once(&stack.command).chain(stack.functions.iter().map(|function| &function.name));
        let line = names.map(|name| name.replace(';', ":")).collect::<Vec<String>>().join(";");
        *lines.entry(line).or_default() += stack.seconds;
    }
    let mut output = BufWriter::new(output);
    for (line, seconds) in lines {
        writeln!(output, "{line} {}", (seconds * 1e6).round() as u64)?;
    }
    output.flush()
}
