//! Names of the functions in which the samples of a trace found the command, in its own code and in
//! the kernel, and of the variables that its threads waited for. They are found right after the
//! run, before another run can replace or remove the files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::SystemTime;

use morecores_explain::trace::{CodeEvents, FoundCode};
use morecores_study::trace::{
    CodeAddress, GeneratedFunction, LockUses, Module, SourceMap, Tid, TraceFacts, UntracedFact,
};
use morecores_symbols::{KernelSymbols, PerfMap, Symbolizer, function_offsets};
use tracing::debug;

use super::DebugFiles;

/// Function that every C library with locks defines.
const LOCKING_FUNCTION: &str = "pthread_mutex_lock";

/// Adds the names to the facts of a trace that began after `began`, and a note on the code without
/// names. `located` are the files of other mount namespaces, by the number of their module.
/// `debug_files` are those of servers, if the user wants them.
pub(super) fn name_code(
    facts: &mut TraceFacts,
    events: CodeEvents,
    began: SystemTime,
    located: HashMap<u32, OwnedFd>,
    debug_files: Option<&DebugFiles>,
) {
    let uses = facts.lock_uses.as_mut().map(|all| all.uses.as_mut_slice()).unwrap_or_default();
    let FoundCode { instructions, generated, kernel, lock_calls, futexes } =
        events.locate(&facts.known, &facts.modules, uses);
    for (lock, call) in uses.iter_mut().zip(lock_calls) {
        lock.code = call;
    }
    facts.untraced.extend(unprobed_note(facts, &located));
    let module = |(number, file)| Some((facts.modules.get(number as usize)?.clone(), file));
    let mut symbolizer = Symbolizer::with_located_files(located.into_iter().filter_map(module).collect());
    let mut places = Vec::new();
    let mut failures: Vec<String> = Vec::new();
    if let Some(debug_files) = debug_files {
        let code = instructions.iter();
        let code = code.filter_map(|(number, offsets)| Some((facts.modules.get(*number as usize)?, offsets)));
        failures.extend(debug_files.add_to(&mut symbolizer, code));
    }
    for (number, offsets) in instructions {
        let Some(module) = facts.modules.get(number as usize) else { continue };
        match symbolizer.functions(number, module, &offsets) {
            Ok(functions) => {
                facts.functions.extend(functions);
                // The file has just been read.
                places.extend(symbolizer.source_places(number, module, &offsets).unwrap_or_default());
            }
            Err(error) => {
                debug!("no function names for {}: {error}", module.path);
                failures.push(error.to_string());
            }
        }
    }
    failures.extend(name_generated_functions(facts, &generated, began));
    name_kernel_functions(facts, &kernel);
    facts.functions.sort_by_key(|function| (function.module, function.start));
    facts.source_map = SourceMap::from_places(places);
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

/// Note on the files whose functions for locks were not probed, although the holds of locks were
/// counted: those of a C library in another place than the command's, and of static programs that
/// the command started.
fn unprobed_note(facts: &TraceFacts, located: &HashMap<u32, OwnedFd>) -> Option<UntracedFact> {
    let LockUses { files, .. } = facts.lock_uses.as_ref()?;
    let modules = (0..).zip(&facts.modules).filter(|(_, module)| module.has_path());
    let with_locks = modules.filter(|(number, module)| {
        let file = match located.get(number) {
            Some(file) => PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())),
            None if files.contains(&module.path) => return false,
            None => PathBuf::from(&module.path),
        };
        function_offsets(&file, &[LOCKING_FUNCTION]).is_ok_and(|found| !found.is_empty())
    });
    let paths: BTreeSet<&str> = with_locks.map(|(_, module)| module.path.as_str()).collect();
    (!paths.is_empty()).then(|| UntracedFact {
        what: format!("the holds of locks in {}", paths.into_iter().collect::<Vec<_>>().join(", ")),
        why: "only the functions of the command's own program and C library are probed".to_owned(),
    })
}

/// Adds the functions that each process generated at these addresses. Returns the reasons why some
/// have no names, each once.
fn name_generated_functions(
    facts: &mut TraceFacts,
    code: &BTreeMap<Tid, BTreeMap<u64, CodeAddress>>,
    began: SystemTime,
) -> BTreeSet<String> {
    let mut failures = BTreeSet::new();
    for (process, places) in code {
        let map = match PerfMap::read(*process, began) {
            Ok(map) => map,
            Err(error) => {
                debug!("no names for the generated code of process {}: {error}", process.0);
                failures.insert(error.to_string());
                continue;
            }
        };
        for (address, place) in places {
            let Some((range, name)) = map.function(*address) else { continue };
            let function = GeneratedFunction {
                process: *process,
                module: place.module,
                start: place.offset.saturating_sub(address - range.start),
                end: place.offset.saturating_add(range.end - address),
                name: name.to_owned(),
            };
            facts.generated.push(function);
        }
    }
    facts.generated.sort_by_key(|function| (function.process, function.module, function.start));
    facts.generated.dedup();
    failures
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
