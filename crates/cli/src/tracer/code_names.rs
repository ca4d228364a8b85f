//! Names of the functions in which the samples of a trace found the command, and of the variables
//! that its threads waited for. They are found right after the run, before another run can replace
//! or remove the files.

use morecores_explain::trace::{CodeEvents, FoundCode};
use morecores_study::trace::{TraceFacts, UntracedFact};
use morecores_symbols::Symbolizer;
use tracing::debug;

/// Adds the names to the facts of a trace, and a note on the files without names.
pub(super) fn name_code(facts: &mut TraceFacts, events: CodeEvents) {
    let FoundCode { instructions, futexes } = events.locate(&facts.known);
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
