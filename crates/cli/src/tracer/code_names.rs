//! Names of the functions in which the samples of a trace found the command, in its own code and in
//! the kernel, and of the variables that its threads waited for. They are found right after the
//! run, before another run can replace or remove the files.

use std::collections::BTreeSet;

use morecores_explain::trace::{CodeEvents, FoundCode};
use morecores_study::trace::{Module, TraceFacts, UntracedFact};
use morecores_symbols::{KernelSymbols, Symbolizer};
use tracing::debug;

/// Adds the names to the facts of a trace, and a note on the files without names.
pub(super) fn name_code(facts: &mut TraceFacts, events: CodeEvents) {
    let FoundCode { instructions, kernel, futexes } = events.locate(&facts.known);
    let mut symbolizer = Symbolizer::new();
    let mut failures: Vec<String> = Vec::new();
    for (number, offsets) in instructions {
        let Some(module) = facts.modules.get(number as usize) else { continue };
        match symbolizer.functions(number, module, &offsets) {
            Ok(functions) => facts.functions.extend(functions),
            Err(error) => {
                debug!("no function names for {}: {error}", module.path);
                failures.push(error.to_string());
            }
        }
    }
    name_kernel_functions(facts, &kernel);
    facts.functions.sort_by_key(|function| (function.module, function.start));
    for futex in futexes {
        let Some(module) = facts.modules.get(futex.code.module as usize) else { continue };
        // A futex outside all variables is on a heap or a stack, and a file without names has been
        // reported above.
        let variable = symbolizer.variable(module, &futex.code, futex.address);
        facts.variables.extend(variable.ok().flatten());
    }
    let what = "the names of some functions".to_owned();
    facts.untraced.extend((!failures.is_empty()).then(|| UntracedFact { what, why: failures.join("; ") }));
}

/// Adds the functions at these addresses of the kernel, or a note on the reason why they have no
/// names. A trace without modules names no functions at all.
fn name_kernel_functions(facts: &mut TraceFacts, addresses: &BTreeSet<u64>) {
    if facts.modules.is_empty() || addresses.is_empty() {
        return;
    }
    match KernelSymbols::read() {
        Ok(symbols) => {
            facts.functions.extend(symbols.functions(facts.modules.len() as u32, addresses));
            facts.modules.push(Module::kernel());
        }
        Err(error) => {
            let what = "the names of the kernel's functions".to_owned();
            facts.untraced.push(UntracedFact { what, why: error.to_string() });
        }
    }
}
