//! Substitutions of commands in recipe lines whose values follow without running anything: those
//! that Automake writes into each of its rules.

use brush_parser::Parser;
use brush_parser::ast::{
    AndOr, Command as Node, CommandPrefixOrSuffixItem, CompoundList, Pipeline, SeparatorOperator,
    SimpleCommand,
};

use super::word::Context;
use super::{Kind, absolute};

/// The output of a command without its last line ends; `None` if it is not known.
pub(super) fn value(command: &str, context: Context) -> Option<String> {
    let program =
        Parser::builder().posix_mode(true).sh_mode(true).build(command.as_bytes()).parse_program().ok()?;
    let [CompoundList(items)] = &program.complete_commands[..] else { return None };
    let [item] = &items[..] else { return None };
    if !matches!(item.1, SeparatorOperator::Sequence) {
        return None;
    }
    match (&item.0.first, &item.0.additional[..]) {
        (pipeline, []) => edited_name(pipeline, context),
        (test, [AndOr::Or(echo)]) => folder_of_source(test, echo, context),
        _ => None,
    }
}

/// `test -f 'FILE' || echo 'FOLDER/'`: the folder of a source that is not in the build's.
fn folder_of_source(test: &Pipeline, echo: &Pipeline, context: Context) -> Option<String> {
    let ([test], [echo]) = (&test.seq[..], &echo.seq[..]) else { return None };
    let (test, echo) = (words(test, context)?, words(echo, context)?);
    let ([test, option, file], [echo, folder]) = (&test[..], &echo[..]) else { return None };
    if test != "test" || option != "-f" || echo != "echo" {
        return None;
    }
    match context.files.kind(&absolute(context.directory, file.as_ref()))? {
        Kind::File => Some(String::new()),
        Kind::Missing | Kind::Directory => Some(folder.clone()),
    }
}

/// `echo NAME | sed 's|[^/]*$|FOLDER/&|;s|\.ENDING$||'`: the name without its ending, in a folder
/// beside it.
fn edited_name(pipeline: &Pipeline, context: Context) -> Option<String> {
    let [echo, sed] = &pipeline.seq[..] else { return None };
    let (echo, sed) = (words(echo, context)?, words(sed, context)?);
    let ([echo, name], [sed, script]) = (&echo[..], &sed[..]) else { return None };
    if echo != "echo" || sed != "sed" {
        return None;
    }
    let (folder, ending) = script.split_once(';')?;
    let folder = folder.strip_prefix("s|[^/]*$|")?.strip_suffix("/&|")?;
    let ending = ending.strip_prefix("s|\\")?.strip_suffix("$||")?;
    let is_plain =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if !is_plain(folder) || !is_plain(ending) {
        return None;
    }
    let (path, file) = name.rsplit_once('/').map_or(("", name.as_str()), |(path, file)| (path, file));
    let separator = if path.is_empty() { "" } else { "/" };
    let stem = file.strip_suffix(ending).unwrap_or(file);
    Some(format!("{path}{separator}{folder}/{stem}"))
}

/// The words of a command without assignments and redirections.
pub(super) fn words(command: &Node, context: Context) -> Option<Vec<String>> {
    let Node::Simple(SimpleCommand { prefix: None, word_or_name: Some(name), suffix }) = command else {
        return None;
    };
    let mut words = context.expand(name)?;
    for item in suffix.iter().flat_map(|suffix| &suffix.0) {
        let CommandPrefixOrSuffixItem::Word(word) = item else { return None };
        words.extend(context.expand(word)?);
    }
    Some(words)
}
