//! Recipe lines: the meaning of the text behind `sh -c`.
//!
//! A line is understood if each of its commands is, on every branch. A branch that need not run is
//! taken to run: what make was told about its outputs is checked when the job has ended.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use brush_parser::Parser;
use brush_parser::ast::{
    AndOr, AssignmentName, AssignmentValue, Command as Node, CommandPrefixOrSuffixItem, CompoundCommand,
    CompoundList, CompoundListItem, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline,
    SeparatorOperator, SimpleCommand, Word,
};

use super::word::{Context, Variables};
use super::{
    Command, Executable, Files, Format, Input, Invocation, Kind, Meaning, Weight, absolute, command_meaning,
    programs, substitution, xargs,
};
use crate::disk::is_of_kernel;
use crate::effects::{Effects, Origin, State, Write};

/// Commands that every shell has built in, and that the table of programs knows.
const BUILT_IN: &[&str] = &["test", "[", "echo", "printf", "true", "false", ":"];

/// Longest line that is parsed, in bytes.
const MAX_LINE: usize = 32 << 10;

/// The meaning of a line; `None` if some part of it is not understood.
pub(super) fn meaning(text: &str, invocation: &Invocation, files: &dyn Files) -> Option<Meaning> {
    if text.len() > MAX_LINE {
        return None;
    }
    let program =
        Parser::builder().posix_mode(true).sh_mode(true).build(text.as_bytes()).parse_program().ok()?;
    let mut walk = Walk {
        files,
        directory: invocation.directory.clone(),
        variables: Variables { environment: &invocation.environment, assigned: HashMap::new() },
        input: Input::Inherited,
        effects: Effects::default(),
        weight: Weight::Light,
    };
    for list in &program.complete_commands {
        walk.list(list, Certainty::Certain)?;
    }
    Some(Meaning { effects: walk.effects, weight: walk.weight })
}

/// Whether a part of a line runs in every successful run of the line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Certainty {
    Certain,
    Possible,
}

/// The commands of a line in their order, and what they have done so far.
struct Walk<'a> {
    files: &'a dyn Files,
    directory: PathBuf,
    variables: Variables<'a>,
    /// Standard input of the commands that do not redirect it.
    input: Input,
    effects: Effects,
    weight: Weight,
}

/// Whether a condition of `trap` is a signal, and not the end of the shell.
fn is_signal(condition: &str) -> bool {
    ["HUP", "INT", "QUIT", "TERM", "PIPE", "1", "2", "3", "13", "15"].contains(&condition)
}

/// The disk as the commands find it that stand behind those of the walk.
impl Files for Walk<'_> {
    fn kind(&self, path: &Path) -> Option<Kind> {
        // A file in a new directory is written after the directory.
        match self.effects.writes.iter().rev().find(|write| write.concerns(path)) {
            None => self.files.kind(path),
            Some(write) => Kind::after(path, &write.path, write.after),
        }
    }

    fn kind_behind_links(&self, path: &Path) -> Option<Kind> {
        if self.writes(path) { self.kind(path) } else { self.files.kind_behind_links(path) }
    }

    fn program(&self, name: &str, directory: &Path, search_path: &str) -> Option<Executable> {
        let is_new = name.contains('/') && self.writes(&absolute(directory, name.as_ref()));
        if is_new { None } else { self.files.program(name, directory, search_path) }
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        if self.writes(path) { None } else { self.files.read(path) }
    }

    fn names(&self, folder: &Path) -> Vec<OsString> {
        self.files.names(folder)
    }
}

impl Walk<'_> {
    fn writes(&self, path: &Path) -> bool {
        self.effects.writes.iter().any(|write| write.concerns(path))
    }

    fn words(&self) -> Context<'_> {
        Context { variables: &self.variables, files: self, directory: &self.directory }
    }

    fn list(&mut self, list: &CompoundList, certainty: Certainty) -> Option<()> {
        let (last, others) = list.0.split_last()?;
        for item in others {
            // Its status does not count, so that a part after `&&` need not run.
            self.and_or(item, Certainty::Possible)?;
        }
        self.and_or(last, certainty)
    }

    /// A list of `&&` and `||`. `rest` is the certainty of what stands behind the first `&&`.
    fn and_or(&mut self, item: &CompoundListItem, rest: Certainty) -> Option<()> {
        let CompoundListItem(list, separator) = item;
        if !matches!(separator, SeparatorOperator::Sequence) {
            return None;
        }
        // `first || second`: `first` may fail in a successful run.
        let has_alternative = list.additional.iter().any(|next| matches!(next, AndOr::Or(_)));
        let rest = if has_alternative { Certainty::Possible } else { rest };
        self.pipeline(&list.first, if has_alternative { rest } else { Certainty::Certain })?;
        for next in &list.additional {
            let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = next;
            match rest {
                Certainty::Certain => self.pipeline(pipeline, rest)?,
                Certainty::Possible => self.unchanged(|walk| walk.pipeline(pipeline, rest))?,
            }
        }
        Some(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline, certainty: Certainty) -> Option<()> {
        if pipeline.timed.is_some() {
            return None;
        }
        let certainty = if pipeline.bang { Certainty::Possible } else { certainty };
        let (last, others) = pipeline.seq.split_last()?;
        if others.is_empty() {
            return self.node(last, certainty);
        }
        let input = self.input.clone();
        let writes = self.effects.writes.clone();
        for part in others {
            // Its status does not count.
            self.subshell(|walk| walk.node(part, Certainty::Possible))?;
            let printed = substitution::words(part, self.words()).and_then(|words| xargs::printed(&words));
            self.input = printed.map_or(Input::Redirected, Input::Known);
        }
        // They run at the same time, so that the order of their writes is not known.
        if self.effects.writes != writes {
            return None;
        }
        self.subshell(|walk| walk.node(last, certainty))?;
        self.input = input;
        Some(())
    }

    fn node(&mut self, node: &Node, certainty: Certainty) -> Option<()> {
        match node {
            Node::Simple(simple) => self.simple(simple, certainty),
            Node::Compound(compound, redirects) => {
                let mut effects = Effects::default();
                let input = self.input.clone();
                for redirect in redirects.iter().flat_map(|redirects| &redirects.0) {
                    if let Some(input) = self.redirect(redirect, &mut effects)? {
                        self.input = input;
                    }
                }
                self.add(effects, certainty);
                self.compound(compound, certainty)?;
                self.input = input;
                Some(())
            }
            _ => None,
        }
    }

    /// A part that leaves directory and variables as they are.
    fn subshell(&mut self, part: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let (directory, assigned) = (self.directory.clone(), self.variables.assigned.clone());
        part(self)?;
        (self.directory, self.variables.assigned) = (directory, assigned);
        Some(())
    }

    fn compound(&mut self, compound: &CompoundCommand, certainty: Certainty) -> Option<()> {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list, certainty),
            CompoundCommand::Subshell(subshell) => self.subshell(|walk| walk.list(&subshell.list, certainty)),
            CompoundCommand::IfClause(clause) => {
                self.branch(&clause.condition)?;
                self.branch(&clause.then)?;
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.branch(condition)?;
                    }
                    self.branch(&other.body)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    fn branch(&mut self, list: &CompoundList) -> Option<()> {
        self.unchanged(|walk| walk.list(list, Certainty::Possible))
    }

    /// A part that may not run. It must leave directory and variables as they are, because what
    /// follows would depend on the branch.
    fn unchanged(&mut self, part: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let (directory, assigned) = (self.directory.clone(), self.variables.assigned.clone());
        part(self)?;
        (self.directory == directory && self.variables.assigned == assigned).then_some(())
    }

    fn simple(&mut self, simple: &SimpleCommand, certainty: Certainty) -> Option<()> {
        let mut assignments = Vec::new();
        let mut effects = Effects::default();
        let mut input = self.input.clone();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) if !assignment.append => {
                    let (AssignmentName::VariableName(name), AssignmentValue::Scalar(value)) =
                        (&assignment.name, &assignment.value)
                    else {
                        return None;
                    };
                    assignments.push((name.clone(), self.words().expand_one(value)?));
                }
                CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                    input = self.redirect(redirect, &mut effects)?.unwrap_or(input);
                }
                _ => return None,
            }
        }
        // These would change what a program is, or where it writes.
        let is_special = |(name, _): &(String, String)| {
            ["PATH", "IFS", "CDPATH", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES", "AWKPATH"]
                .contains(&name.as_str())
        };
        if assignments.iter().any(is_special) {
            return None;
        }
        let Some(name) = &simple.word_or_name else {
            self.variables.assigned.extend(assignments);
            self.add(effects, certainty);
            return Some(());
        };
        let mut words = self.words().expand(name)?;
        let mut has_pattern = false;
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                CommandPrefixOrSuffixItem::Word(word)
                | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => match self.words().expand(word) {
                    Some(fields) => words.extend(fields),
                    None => {
                        words.extend(self.words().expand_pattern(word)?);
                        has_pattern = true;
                    }
                },
                CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                    input = self.redirect(redirect, &mut effects)?.unwrap_or(input);
                }
                CommandPrefixOrSuffixItem::ProcessSubstitution(..) => return None,
            }
        }
        let (name, arguments) = words.split_first()?;
        // `rm -f` of more names than are there does the same.
        let ignores_missing = || name == "rm" && arguments.first().is_some_and(|option| option == "-f");
        if has_pattern && !ignores_missing() {
            return None;
        }
        match (name.as_str(), arguments) {
            ("cd", [directory]) if !directory.starts_with('-') => {
                let directory = absolute(&self.directory, directory.as_ref());
                if self.kind(&directory)? != Kind::Directory {
                    return None;
                }
                self.directory = directory.canonicalize().unwrap_or(directory);
            }
            ("set", [option]) if matches!(option.as_str(), "-e" | "+e") => {}
            // What the shell does when a signal comes; the job is the same shell.
            ("trap", [_, signals @ ..])
                if !signals.is_empty() && signals.iter().all(|signal| is_signal(signal)) => {}
            // Only redirections, for the rest of the line.
            ("exec", []) => {}
            // Ends the line: what follows may not run, and a failure is the line's own.
            ("exit", [] | [_]) => {}
            _ => {
                let meaning = self.command(name, arguments, &input)?;
                self.weight = self.weight.max(meaning.weight);
                effects.append(meaning.effects);
            }
        }
        self.add(effects, certainty);
        Some(())
    }

    fn command(&self, name: &str, arguments: &[String], input: &Input) -> Option<Meaning> {
        let environment = self.variables.environment;
        let command = Command { files: self, directory: &self.directory, environment, arguments, input };
        if BUILT_IN.contains(&name) {
            let program = Executable { name: name.to_owned(), format: Format::Elf };
            return programs::meaning(&program, &command);
        }
        let program = command.program(name)?;
        command_meaning(&program, &command)
    }

    /// Adds the effects of a redirection. Returns the standard input if it is redirected.
    fn redirect(&self, redirect: &IoRedirect, effects: &mut Effects) -> Option<Option<Input>> {
        let IoRedirect::File(number, kind, target) = redirect else { return None };
        let path = |word: &Word| -> Option<PathBuf> {
            Some(absolute(&self.directory, self.words().expand_one(word)?.as_ref()))
        };
        match (kind, target) {
            // `2>&1`: both are the build's output, or a file that stands here too.
            (IoFileRedirectKind::DuplicateOutput, IoFileRedirectTarget::Fd(1 | 2)) => {}
            (IoFileRedirectKind::DuplicateOutput, IoFileRedirectTarget::Duplicate(word))
                if matches!(word.value.as_str(), "1" | "2") => {}
            (IoFileRedirectKind::Read, IoFileRedirectTarget::Filename(word)) => {
                let path = path(word)?;
                if path != Path::new("/dev/null") {
                    effects.reads.push(path);
                }
                return Some(number.is_none_or(|number| number == 0).then_some(Input::Redirected));
            }
            (
                IoFileRedirectKind::Write | IoFileRedirectKind::Clobber | IoFileRedirectKind::Append,
                IoFileRedirectTarget::Filename(word),
            ) => {
                let path = path(word)?;
                if !is_of_kernel(&path) {
                    effects.writes.push(Write::new(path, State::Text { mode: 0o666 }));
                }
            }
            _ => return None,
        }
        Some(None)
    }

    fn add(&mut self, mut effects: Effects, certainty: Certainty) {
        if certainty == Certainty::Possible {
            for write in &mut effects.writes {
                if matches!(write.origin, Origin::Moved(_)) {
                    (write.after, write.origin) = (State::Other, Origin::Command);
                }
            }
        }
        self.effects.append(effects);
    }
}
