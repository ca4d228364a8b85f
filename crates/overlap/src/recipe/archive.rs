//! Archivers: `ar` and `ranlib`.

use super::Command;
use crate::effects::{Effects, Search, State};

/// Effects of `ar OPERATION ARCHIVE MEMBER…`, for the operations that write or read one archive.
pub(super) fn effects(command: &Command) -> Option<Effects> {
    let (words, mut reads) = command.expand_response_files()?;
    let [operation, archive, members @ ..] = &words[..] else { return None };
    let operation = operation.strip_prefix('-').unwrap_or(operation);
    // Positions, scripts and extraction are left alone.
    if operation.is_empty() || !operation.bytes().all(|letter| b"rqcsSuvDUPtT".contains(&letter)) {
        return None;
    }
    if archive.starts_with('-') || members.iter().any(|member| member.starts_with('-')) {
        return None;
    }
    reads.push(command.path(archive));
    reads.extend(command.paths(members));
    let changes = operation.bytes().any(|letter| b"rqs".contains(&letter));
    let writes = changes.then(|| command.write(archive, State::Binary { mode: 0o666 }));
    Some(Effects { reads, writes: writes.into_iter().collect(), search: Search::default() })
}

/// Effects of `ranlib ARCHIVE…`.
pub(super) fn index_effects(command: &Command) -> Option<Effects> {
    let archives: Vec<&String> =
        command.arguments.iter().filter(|word| !matches!(word.as_str(), "-D" | "-U")).collect();
    if archives.is_empty() || archives.iter().any(|word| word.starts_with('-')) {
        return None;
    }
    Some(Effects {
        reads: command.paths(archives.iter().copied()),
        writes: archives
            .iter()
            .map(|archive| command.write(archive, State::Binary { mode: 0o666 }))
            .collect(),
        search: Search::default(),
    })
}
