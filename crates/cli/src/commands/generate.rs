//! `morecores generate`: man pages, completions and the reference, from the definitions of the
//! help.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;
use clap_complete::Shell;

use crate::args::{Cli, Generate, GenerateArgs};
use crate::exit;

pub(crate) fn generate(args: &GenerateArgs) -> Result<u8> {
    match &args.what {
        Generate::Man { directory } => {
            create_directory(directory)?;
            clap_mangen::generate_to(Cli::definition(), directory)
                .with_context(|| format!("cannot write to {}", directory.display()))?;
        }
        Generate::Markdown { directory } => {
            create_directory(directory)?;
            let options = clap_markdown::MarkdownOptions::new()
                .title("The command line of morecores".to_owned())
                .show_footer(false);
            let text =
                clap_markdown::help_markdown_command_custom(&fence_examples(Cli::definition()), &options);
            let file = directory.join("reference.md");
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Generate::Completions { directory } => {
            create_directory(directory)?;
            for shell in Shell::value_variants() {
                clap_complete::generate_to(*shell, &mut Cli::definition(), "morecores", directory)
                    .with_context(|| format!("cannot write to {}", directory.display()))?;
            }
        }
    }
    Ok(exit::SUCCESS)
}

fn create_directory(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))
}

/// Fences the examples as preformatted text. Other paragraphs are wrapped.
fn fence_examples(mut command: clap::Command) -> clap::Command {
    let paragraph = |text: &str| {
        let is_example = text.lines().any(|line| line.starts_with(' '));
        if is_example { format!("```text\n{text}\n```") } else { text.to_owned() }
    };
    let marked = command.get_after_help().map(|text| {
        let text = text.to_string();
        text.split("\n\n").map(paragraph).collect::<Vec<_>>().join("\n\n")
    });
    if let Some(text) = marked {
        command = command.after_help(text);
    }
    command.mut_subcommands(fence_examples)
}
