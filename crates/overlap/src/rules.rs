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
    targets: HashMap<String, Target>,
    /// Targets by their absolute paths.
    by_path: HashMap<PathBuf, String>,
    /// Recipes by their lines, as the shell gets them.
    by_text: HashMap<String, Vec<RecipeLine>>,
    /// The same by the words of lines that need no shell.
    by_words: HashMap<Vec<String>, Vec<RecipeLine>>,
    /// Whether the makefile forbids parallel recipes, for all or for some targets.
    is_serial: bool,
    /// Whether a make that a recipe starts by its name, without `$(MAKE)`, shares the jobs: since
    /// 4.4.
    shares_jobs_by_name: bool,
}

/// A target of a rule.
#[derive(Debug, Default)]
struct Target {
    prerequisites: Vec<String>,
    /// Targets that the same recipe makes.
    siblings: Vec<String>,
    /// Whether make has considered it, so that no prerequisite of a pattern rule is missing.
    is_complete: bool,
}

/// Whether make keeps an order of two targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependency {
    Found,
    Missing,
    /// The rules of a target on the way are not complete.
    Unknown,
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
            [program, .., option, text] if is_shell(program) && is_command_option(option) => {
                Self::Text(text.clone())
            }
            _ => Self::Words(arguments.to_vec()),
        }
    }
}

impl Rules {
    /// Reads the text of a dry run. `make` is the value of `$(MAKE)` in the real run. `None` if the
    /// text has no rules.
    pub(crate) fn parse(text: &str, make: &str) -> Option<Self> {
        let mut rules = Self::default();
        // The last one: a make below prints its own before.
        let (run, database) = text.rsplit_once("\n# Make data base")?;
        rules.read_recipes(run, make);
        let directory = database.lines().find_map(|line| line.strip_prefix("CURDIR := "))?;
        let version = database.lines().find_map(|line| line.strip_prefix("MAKE_VERSION := "));
        rules.shares_jobs_by_name = version.is_none_or(|version| {
            let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
            (numbers.next(), numbers.next()) >= (Some(4), Some(4))
        });
        let (_, files) = database.split_once("\n# Files\n")?;
        rules.read_rules(files);
        let path = |name: &String| (absolute(Path::new(directory), name.as_ref()), name.clone());
        rules.by_path = rules.targets.keys().map(path).collect();
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
            let Some((name, prerequisites)) = split_rule(rule) else { continue };
            let names: Vec<&str> = prerequisites.split_whitespace().collect();
            self.is_serial |= name == ".NOTPARALLEL" || names.contains(&".WAIT");
            let target = self.targets.entry(name.to_owned()).or_default();
            target
                .prerequisites
                .extend(names.iter().filter(|word| **word != "|").map(|word| (*word).to_owned()));
            for line in paragraph.lines() {
                if let Some(siblings) = line.strip_prefix("#  Also makes: ") {
                    target.siblings.extend(siblings.split_whitespace().map(str::to_owned));
                }
                target.is_complete |= COMPLETE.iter().any(|start| line.starts_with(start));
            }
        }
        let pairs: Vec<(String, String)> = self
            .targets
            .iter()
            .flat_map(|(name, target)| target.siblings.iter().map(|other| (other.clone(), name.clone())))
            .collect();
        for (name, sibling) in pairs {
            self.targets.entry(name).or_default().siblings.push(sibling);
        }
    }

    /// Whether recipes never run at the same time.
    pub(crate) fn is_serial(&self) -> bool {
        self.is_serial
    }

    /// Whether a make that a recipe starts by its name, without `$(MAKE)`, shares the jobs.
    pub(crate) fn shares_jobs_by_name(&self) -> bool {
        self.shares_jobs_by_name
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
            || RecipeLine { recipe: Recipe { target, place: "no line known".into() }, calls_make: true };
        Some(of_target.unwrap_or_else(unplaced))
    }

    /// The target that a path is.
    pub(crate) fn target(&self, path: &Path) -> Option<String> {
        self.by_path.get(path).cloned()
    }

    /// Whether a target is made after one of `others` in any run: it depends on it, directly or
    /// not.
    pub(crate) fn dependency(&self, target: &str, others: &HashSet<String>) -> Dependency {
        let mut seen = HashSet::from([target]);
        let mut rest = vec![target];
        let mut is_complete = true;
        while let Some(name) = rest.pop() {
            let Some(rule) = self.targets.get(name) else { continue };
            let siblings = || rule.siblings.iter().filter_map(|sibling| self.targets.get(sibling));
            is_complete &= rule.is_complete || siblings().any(|sibling| sibling.is_complete);
            for prerequisite in siblings().chain([rule]).flat_map(|rule| &rule.prerequisites) {
                if others.contains(prerequisite) {
                    return Dependency::Found;
                }
                if seen.insert(prerequisite) {
                    rest.push(prerequisite);
                }
            }
        }
        if is_complete { Dependency::Missing } else { Dependency::Unknown }
    }

    /// Targets that the recipe of a target makes with it.
    pub(crate) fn siblings(&self, target: &str) -> impl Iterator<Item = &String> {
        self.targets.get(target).into_iter().flat_map(|target| &target.siblings)
    }
}

/// Beginnings of comments in the data base on a target whose prerequisites are all known.
const COMPLETE: &[&str] = &[
    "#  Implicit rule search has been done",
    "#  Phony target",
    "#  recipe to execute",
    "#  Implicit/static pattern stem",
];

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    matches!(name, "sh" | "dash" | "bash" | "ksh" | "zsh")
}

/// Whether an option of a shell says that the next argument is its command, as `-c` and `-ec` do.
fn is_command_option(option: &str) -> bool {
    option.starts_with('-') && option.ends_with('c')
}

/// Place and target of a line of `--trace`, as in `Makefile:6: update target 'a.o' due to: a.c` and
/// `Makefile:6: target 'a.o' does not exist`.
fn traced_recipe(line: &str) -> Option<Recipe> {
    let (place, rest) = line.split_once(": ")?;
    let is_place = place.rsplit_once(':').is_some_and(|(_, number)| number.parse::<u32>().is_ok());
    let rest = rest.strip_prefix("update ").unwrap_or(rest).strip_prefix("target '")?;
    let (target, _) = rest.rsplit_once("' due to: ").or_else(|| rest.rsplit_once("' does not exist"))?;
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
# default
MAKE_VERSION := 4.3

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
#  Implicit rule search has not been done.

p.c: p.y config
#  Also makes: p.h
#  recipe to execute (from 'Makefile', line 9):

p.h:
#  Implicit rule search has not been done.

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
        let dependency =
            |target: &str, other: &str| rules.dependency(target, &HashSet::from([other.to_owned()]));
        assert_eq!(dependency("prog", "out"), Dependency::Found);
        assert_eq!(dependency("a.o", "out"), Dependency::Found);
        assert_eq!(dependency("a.o", "sub"), Dependency::Missing);
        // make has not looked for the rule of `b.o`.
        assert_eq!(dependency("../x/b.o", "sub"), Dependency::Unknown);
        // One recipe makes both, by the prerequisites of the first.
        assert_eq!(dependency("p.h", "config"), Dependency::Found);
        assert!(!rules.is_serial() && !rules.shares_jobs_by_name());
        let changed =
            |text: &str, new: &str| Rules::parse(&DRY_RUN.replace(text, new), "make").expect("rules");
        assert!(changed("# files hash", ".NOTPARALLEL:\n\n# files hash").is_serial());
        assert!(changed("MAKE_VERSION := 4.3", "MAKE_VERSION := 4.4.1").shares_jobs_by_name());
    }

    #[test]
    fn a_shell_is_known_by_its_options() {
        let command = |words: &[&str]| {
            RecipeCommand::from_arguments(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        let text = RecipeCommand::Text("a && b".into());
        assert_eq!(command(&["/bin/sh", "-c", "a && b"]), text);
        assert_eq!(command(&["bash", "-eu", "-o", "pipefail", "-c", "a && b"]), text);
        let words = ["python3", "-c", "a && b"];
        assert_eq!(command(&words), RecipeCommand::Words(words.map(str::to_owned).to_vec()));
    }
}
