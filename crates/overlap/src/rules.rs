//! The rules of one run of make, from the text of its dry run: targets, prerequisites, and the
//! lines of each recipe.
//!
//! Pure: `dry_run` makes the text. Its form is that of `make --dry-run --trace --print-data-base`
//! of GNU make 4.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::hazards::Recipe;
use crate::recipe::absolute;

/// Command that stands before the name of make in a dry run, so that make does not call itself.
pub(crate) const NO_COMMAND: &str = ": ";

/// Rules of one run of make.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    directory: PathBuf,
    /// Prerequisites of each target, by their names in the makefile.
    prerequisites: HashMap<String, Vec<String>>,
    /// Recipes by their lines, as the shell gets them.
    by_text: HashMap<String, Vec<RecipeLine>>,
    /// The same by the words of lines that need no shell.
    by_words: HashMap<Vec<String>, Vec<RecipeLine>>,
    /// Whether the makefile forbids parallel recipes.
    is_serial: bool,
}

/// One line of a recipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecipeLine {
    pub(crate) recipe: Recipe,
    /// Whether it calls make by `$(MAKE)`, which then runs in parallel too.
    pub(crate) calls_make: bool,
}

/// Command of a recipe, as make starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RecipeCommand {
    /// Text for a shell.
    Text(String),
    /// Words of a program.
    Words(Vec<String>),
}

impl RecipeCommand {
    /// The command that make started with these arguments.
    pub(crate) fn from_arguments(arguments: &[String]) -> Self {
        match arguments {
            [_, option, text] if matches!(option.as_str(), "-c" | "-ec") => Self::Text(text.clone()),
            _ => Self::Words(arguments.to_vec()),
        }
    }
}

impl Rules {
    /// Reads the text of a dry run. `make` is the value of `$(MAKE)` in the real run. `None` if the
    /// text has no rules.
    pub(crate) fn parse(text: &str, make: &str) -> Option<Self> {
        let mut rules = Self::default();
        let (run, database) = text.split_once("\n# Make data base")?;
        rules.read_recipes(run, make);
        let directory = database.lines().find_map(|line| line.strip_prefix("CURDIR := "))?;
        rules.directory = PathBuf::from(directory);
        let (_, files) = database.split_once("\n# Files\n")?;
        rules.read_rules(files);
        Some(rules)
    }

    /// The lines that the dry run prints: each recipe stands behind a line with its place.
    fn read_recipes(&mut self, run: &str, make: &str) {
        let marker = format!("{NO_COMMAND}{make}");
        let mut recipe = None;
        let mut lines = run.lines();
        while let Some(line) = lines.next() {
            if let Some(found) = traced_recipe(line) {
                recipe = Some(found);
                continue;
            }
            let Some(recipe) = &recipe else { continue };
            let mut text = line.to_owned();
            while text.ends_with('\\') && !text.ends_with("\\\\") {
                let Some(next) = lines.next() else { break };
                text.push('\n');
                text.push_str(next);
            }
            let calls_make = text.contains(&marker);
            let text = text.replace(&marker, make);
            let line = RecipeLine { recipe: recipe.clone(), calls_make };
            if let Ok(words) = shell_words::split(&text) {
                self.by_words.entry(words).or_default().push(line.clone());
            }
            self.by_text.entry(text).or_default().push(line);
        }
    }

    /// The files of the data base, each in a paragraph of its own.
    fn read_rules(&mut self, files: &str) {
        for paragraph in files.split("\n\n") {
            if paragraph.lines().any(|line| line == "# Not a target:") {
                continue;
            }
            let Some(rule) = paragraph.lines().find(|line| !line.starts_with('#') && !line.is_empty()) else {
                continue;
            };
            let Some((target, prerequisites)) = split_rule(rule) else { continue };
            if target == ".NOTPARALLEL" && prerequisites.trim().is_empty() {
                self.is_serial = true;
            }
            let names = prerequisites.split_whitespace().filter(|word| *word != "|").map(str::to_owned);
            self.prerequisites.entry(target.to_owned()).or_default().extend(names);
        }
    }

    /// Whether recipes never run at the same time.
    pub(crate) fn is_serial(&self) -> bool {
        self.is_serial
    }

    /// The recipe that has a command, if one alone has it; else the rule of a written file.
    pub(crate) fn recipe<'a>(
        &self,
        command: &RecipeCommand,
        mut writes: impl Iterator<Item = &'a Path>,
    ) -> Option<RecipeLine> {
        let lines = match command {
            RecipeCommand::Text(text) => self.by_text.get(text),
            RecipeCommand::Words(words) => self.by_words.get(words),
        };
        let lines = lines.map_or(&[][..], Vec::as_slice);
        let is_one_target = lines.windows(2).all(|pair| pair[0].recipe == pair[1].recipe);
        if let (true, [first, ..]) = (is_one_target, lines) {
            return Some(first.clone());
        }
        let target = writes.find_map(|path| self.target(path))?;
        let of_target = lines.iter().find(|line| line.recipe.target == target).cloned();
        let unplaced =
            || RecipeLine { recipe: Recipe { target, place: "no line known".into() }, calls_make: false };
        Some(of_target.unwrap_or_else(unplaced))
    }

    /// The target that a path is.
    pub(crate) fn target(&self, path: &Path) -> Option<String> {
        let relative = path.strip_prefix(&self.directory).ok().and_then(Path::to_str);
        let names = [relative, path.to_str()];
        let known = names.into_iter().flatten().find(|name| self.prerequisites.contains_key(*name));
        let spelled_otherwise = || {
            let is_path = |name: &&String| absolute(&self.directory, name.as_ref()) == path;
            self.prerequisites.keys().filter(|name| name.contains("..")).find(is_path).map(String::as_str)
        };
        known.or_else(spelled_otherwise).map(str::to_owned)
    }

    /// Whether a target is made after one of `others` in any run: it depends on it, directly or
    /// not.
    pub(crate) fn depends(&self, target: &str, others: &HashSet<String>) -> bool {
        let mut seen = HashSet::from([target]);
        let mut rest = vec![target];
        while let Some(name) = rest.pop() {
            for prerequisite in self.prerequisites.get(name).into_iter().flatten() {
                if others.contains(prerequisite) {
                    return true;
                }
                if seen.insert(prerequisite) {
                    rest.push(prerequisite);
                }
            }
        }
        false
    }
}

/// Place and target of a line of `--trace`, as in `Makefile:6: update target 'a.o' due to: a.c` and
/// `Makefile:6: target 'a.o' does not exist`.
fn traced_recipe(line: &str) -> Option<Recipe> {
    let (place, rest) = line.split_once(": ")?;
    let is_place = place.rsplit_once(':').is_some_and(|(_, number)| number.parse::<u32>().is_ok());
    let rest = rest.strip_prefix("update ").unwrap_or(rest).strip_prefix("target '")?;
    let (target, reason) = rest.rsplit_once("' due to: ").or_else(|| rest.rsplit_once("' does not exist"))?;
    let _ = reason;
    (is_place || place == "<builtin>").then(|| Recipe { target: target.to_owned(), place: place.to_owned() })
}

/// Target and prerequisites of a line such as `a.o: a.c | out`.
fn split_rule(rule: &str) -> Option<(&str, &str)> {
    let (target, rest) = rule.split_once(": ").or_else(|| Some((rule.strip_suffix(':')?, "")))?;
    Some((target.strip_suffix(':').unwrap_or(target), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of GNU make 4.3, shortened.
    const DRY_RUN: &str = "\
Makefile:11: target 'out' does not exist
mkdir -p out
Makefile:6: update target 'a.o' due to: a.c
gcc -c -o a.o \\
  a.c
Makefile:12: target 'sub' does not exist
cd s && : make all
echo done

# Make data base, printed on Mon Nov 30 01:40:37 2026

# Variables

# makefile
CURDIR := /b

# Files

# Not a target:
a.c:
#  Implicit rule search has been done.

all: prog sub
#  Phony target (prerequisite of .PHONY).

prog: a.o
#  recipe to execute (from 'Makefile', line 4):
\t$(CC) -o $@ $^

a.o: a.c | out
#  Implicit/static pattern stem: 'a'

../x/b.o: b.c

# files hash-table stats:
";

    #[test]
    fn recipes_are_found_by_their_commands_and_by_what_they_write() {
        let rules = Rules::parse(DRY_RUN, "make").expect("rules");
        let recipe = |command: RecipeCommand, writes: &[&str]| {
            let found = rules.recipe(&command, writes.iter().map(Path::new));
            found.map(|line| (line.recipe.target, line.recipe.place, line.calls_make))
        };
        let text = |text: &str| RecipeCommand::Text(text.to_owned());
        assert_eq!(
            recipe(text("gcc -c -o a.o \\\n  a.c"), &[]),
            Some(("a.o".into(), "Makefile:6".into(), false))
        );
        assert_eq!(recipe(text("cd s && make all"), &[]), Some(("sub".into(), "Makefile:12".into(), true)));
        let words = RecipeCommand::from_arguments(&["mkdir".into(), "-p".into(), "out".into()]);
        assert_eq!(recipe(words, &[]), Some(("out".into(), "Makefile:11".into(), false)));
        let unknown = recipe(text("a command of another dry run"), &["/b/prog"]);
        assert_eq!(unknown.map(|(target, ..)| target), Some("prog".into()));
        assert_eq!(rules.target(Path::new("/x/b.o")), Some("../x/b.o".into()));
        assert_eq!(recipe(text("true"), &["/b/a.c"]), None);
    }

    #[test]
    fn a_target_depends_on_the_prerequisites_of_its_prerequisites() {
        let rules = Rules::parse(DRY_RUN, "make").expect("rules");
        let depends = |target: &str, other: &str| rules.depends(target, &HashSet::from([other.to_owned()]));
        assert!(depends("all", "out"));
        assert!(depends("a.o", "out"));
        assert!(!depends("a.o", "sub"));
        assert!(!rules.is_serial());
        let serial = DRY_RUN.replace("# files hash", ".NOTPARALLEL:\n\n# files hash");
        assert!(Rules::parse(&serial, "make").expect("rules").is_serial());
    }
}
