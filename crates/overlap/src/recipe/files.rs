//! Programs that move, copy, remove or look at files.

use super::filters::reads_input;
use super::{Command, Kind, absolute};
use crate::effects::{Effects, Origin, Search, State, Write};

/// Arguments split into options, all of which are among `known`, and operands. `None` if another
/// option stands there.
fn split_options<'a>(command: &Command<'a>, known: &str) -> Option<(Vec<&'a str>, Vec<&'a String>)> {
    let mut options = Vec::new();
    let mut operands = Vec::new();
    let mut only_operands = false;
    for word in command.arguments {
        match word.strip_prefix('-') {
            Some("-") if !only_operands => only_operands = true,
            Some(letters) if !only_operands && !letters.is_empty() => {
                if !letters.chars().all(|letter| known.contains(letter)) {
                    return None;
                }
                options.push(letters);
            }
            _ => operands.push(word),
        }
    }
    Some((options, operands))
}

/// Pairs of source and target of `mv`, `cp` and `ln`: the last operand is a name or a directory.
/// `None` for a source that is a directory.
fn pairs(command: &Command, operands: &[&String]) -> Option<Vec<(String, String)>> {
    let (target, sources) = operands.split_last()?;
    if sources.is_empty() || command.has_directory(sources)? {
        return None;
    }
    if !command.is_directory(target)? {
        let [source] = sources else { return None };
        return Some(vec![((*source).clone(), (*target).clone())]);
    }
    sources
        .iter()
        .map(|source| {
            let name = command.path(source).file_name()?.to_str()?.to_owned();
            Some(((*source).clone(), format!("{target}/{name}")))
        })
        .collect()
}

/// Effects of `mv [-f] SOURCE… TARGET`.
pub(super) fn move_effects(command: &Command) -> Option<Effects> {
    let (_, operands) = split_options(command, "fv")?;
    let mut effects = Effects::default();
    for (source, target) in pairs(command, &operands)? {
        effects.reads.push(command.path(&source));
        let origin = Origin::Moved(command.path(&source));
        effects.writes.push(Write { origin, ..command.write(&target, State::Other) });
        effects.writes.push(command.write(&source, State::Absent));
    }
    Some(effects)
}

/// Effects of `cp [-f] SOURCE… TARGET`, without directories.
pub(super) fn copy_effects(command: &Command) -> Option<Effects> {
    let (_, operands) = split_options(command, "fv")?;
    let mut effects = Effects::default();
    for (source, target) in pairs(command, &operands)? {
        effects.reads.push(command.path(&source));
        // A regular file, whatever links lead to the source. make asks for no more than its time.
        effects.writes.push(command.write(&target, State::Text { mode: 0o666 }));
    }
    Some(effects)
}

/// Effects of `ln -s [-f] TARGET NAME`.
pub(super) fn link_effects(command: &Command) -> Option<Effects> {
    let (options, operands) = split_options(command, "sfnv")?;
    let [target, name] = operands[..] else { return None };
    // It would be made in the directory.
    if command.files.kind_behind_links(&command.path(name))? == Kind::Directory {
        return None;
    }
    // A hard link would share the time of its target.
    if !options.iter().any(|letters| letters.contains('s')) {
        return None;
    }
    // The target of a link starts from the folder of the link. A reader of the link needs it.
    let folder = command.path(name).parent()?.to_owned();
    let target = absolute(&folder, target.as_ref());
    let write = Write { origin: Origin::Link(target.clone()), ..command.write(name, State::Other) };
    Some(Effects { reads: vec![target], writes: vec![write], search: Search::default() })
}

/// Effects of `rm [-f] FILE…`, without directories.
pub(super) fn remove_effects(command: &Command) -> Option<Effects> {
    let (_, operands) = split_options(command, "fv")?;
    if command.has_directory(&operands)? {
        return None;
    }
    let writes = operands.iter().map(|name| command.write(name, State::Absent)).collect();
    Some(Effects { writes, ..Effects::default() })
}

/// Effects of `mkdir [-p] DIRECTORY…`.
pub(super) fn directory_effects(command: &Command) -> Option<Effects> {
    let (options, operands) = split_options(command, "p")?;
    let mut writes = Vec::new();
    for name in operands {
        let path = command.path(name);
        let makes_parents = !options.is_empty();
        let mut missing = Vec::new();
        for folder in path.ancestors() {
            if command.files.kind(folder)? != Kind::Missing {
                break;
            }
            missing.push(folder);
        }
        if missing.len() > 1 && !makes_parents {
            return None;
        }
        writes.extend(
            missing.iter().rev().map(|folder| {
                Write::new(folder.to_path_buf(), State::Directory { may_exist: makes_parents })
            }),
        );
    }
    Some(Effects { writes, ..Effects::default() })
}

/// Effects of `rmdir DIRECTORY…`.
pub(super) fn remove_directory_effects(command: &Command) -> Option<Effects> {
    let (_, operands) = split_options(command, "")?;
    let writes = operands.iter().map(|name| command.write(name, State::Absent)).collect();
    Some(Effects { writes, ..Effects::default() })
}

/// Effects of `touch FILE…` with the present time.
pub(super) fn touch_effects(command: &Command) -> Option<Effects> {
    let (options, operands) = split_options(command, "cf")?;
    let may_be_absent = options.iter().any(|letters| letters.contains('c'));
    changed(command, &operands, if may_be_absent { State::Other } else { State::Text { mode: 0o666 } })
}

/// Effects of `chmod MODE FILE…`.
pub(super) fn mode_effects(command: &Command) -> Option<Effects> {
    // A mode such as `-w` looks like an option.
    let (_, operands) = split_options(command, "f")?;
    let (_, names) = operands.split_first()?;
    changed(command, names, State::Other)
}

/// Files that are changed in place.
fn changed(command: &Command, names: &[&String], after: State) -> Option<Effects> {
    if names.is_empty() || command.has_directory(names)? {
        return None;
    }
    Some(Effects {
        reads: command.paths(names.iter().copied()),
        writes: names.iter().map(|name| command.write(name, after)).collect(),
        search: Search::default(),
    })
}

/// Effects of `test EXPRESSION`: every operand may be a file.
pub(super) fn test_effects(command: &Command) -> Option<Effects> {
    let words =
        command.arguments.iter().filter(|word| !matches!(word.as_str(), "]" | "!" | "=" | "!=" | "(" | ")"));
    let operands = words.filter(|word| !word.is_empty() && !word.starts_with('-'));
    Some(Effects { reads: command.paths(operands), ..Effects::default() })
}

/// Effects of a program that reads its operands: `cat`, `cmp`.
pub(super) fn read_effects(command: &Command) -> Option<Effects> {
    let (_, operands) = split_options(command, "su")?;
    Some(Effects { reads: reads_input(command, &operands)?, ..Effects::default() })
}

/// Effects of a command that touches no file.
pub(super) fn no_effects(_: &Command) -> Option<Effects> {
    Some(Effects::default())
}
