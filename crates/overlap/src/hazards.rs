//! Orders of recipe lines that the serial build keeps and `make -j` need not: missing dependencies,
//! and files with two writers.
//!
//! Pure. A hazard is a pair of recipe lines that use one file, of which at least one changes it,
//! while neither target depends on the other.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use serde::Serialize;

use crate::history::{FileId, History, Line, LineId, MakeId, MakeRun};
use crate::rules::{Dependency, RecipeLine, Rules};

/// A recipe by its target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(crate) struct Recipe {
    /// Target, as the makefile names it.
    pub(crate) target: String,
    /// File and line of the recipe.
    pub(crate) place: String,
}

/// Kind of a hazard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HazardKind {
    /// The file is used after its making, without a dependency.
    MissingDependency,
    /// Two recipes write one file.
    TwoWriters,
    /// The file is changed after its use.
    ChangedAfterUse,
}

/// A file whose users `make -j` may start in another order than `make`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Hazard {
    pub(crate) file: PathBuf,
    pub(crate) kind: HazardKind,
    /// The recipe that comes first in series.
    pub(crate) first: Recipe,
    /// The recipes that come later.
    pub(crate) others: Vec<Recipe>,
}

/// The hazards of a build, with the number of what was judged.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Hazards {
    pub(crate) found: Vec<Hazard>,
    /// Runs of make with known rules.
    pub(crate) makes: usize,
    /// Recipe lines that ran.
    pub(crate) lines: usize,
    /// Pairs of recipe lines that share a file that one of them changes.
    pub(crate) pairs: usize,
    /// Such pairs of which a rule is not known.
    pub(crate) unmatched: usize,
}

/// Order of two recipe lines under `make -j`.
#[derive(Debug, PartialEq, Eq)]
enum Order {
    /// As in series, or within one recipe.
    Serial,
    /// Any; the recipes at the level where they part.
    Free(Recipe, Recipe),
    /// A rule is not known.
    Unknown,
}

/// Finds the hazards of a build.
pub(crate) fn find_hazards(history: &History) -> Hazards {
    let order = RecipeOrder::new(history);
    let mut hazards = Hazards {
        makes: history.makes.iter().filter(|run| run.rules.is_some()).count(),
        lines: history.lines.len(),
        ..Hazards::default()
    };
    let mut found: BTreeMap<(FileId, HazardKind, Recipe), Vec<Recipe>> = BTreeMap::new();
    for (file, users) in order.shared_files() {
        for (kind, first, second) in pairs(&users) {
            hazards.pairs += 1;
            match order.of_lines(first, second) {
                Order::Serial => {}
                Order::Unknown => hazards.unmatched += 1,
                Order::Free(first, second) => {
                    let others = found.entry((file, kind, first)).or_default();
                    if !others.contains(&second) {
                        others.push(second);
                    }
                }
            }
        }
    }
    hazards.found = found
        .into_iter()
        .map(|((file, kind, first), others)| Hazard {
            file: history.name(file).to_owned(),
            kind,
            first,
            others,
        })
        .collect();
    hazards
}

/// A recipe line that uses a file.
#[derive(Debug, Clone, Copy)]
struct User {
    line: LineId,
    writes: bool,
    reads: bool,
}

/// Pairs of users of one file whose order matters, each with what comes first in series: a use and
/// the write before it, a write and the uses since the one before it.
fn pairs(users: &[User]) -> Vec<(HazardKind, LineId, LineId)> {
    let mut pairs = Vec::new();
    let mut writer: Option<LineId> = None;
    let mut readers: Vec<LineId> = Vec::new();
    for user in users {
        if user.reads {
            pairs.extend(writer.map(|writer| (HazardKind::MissingDependency, writer, user.line)));
        }
        if user.writes {
            pairs.extend(readers.iter().map(|reader| (HazardKind::ChangedAfterUse, *reader, user.line)));
            if !user.reads {
                pairs.extend(writer.map(|writer| (HazardKind::TwoWriters, writer, user.line)));
            }
            writer = Some(user.line);
            readers.clear();
        } else {
            readers.push(user.line);
        }
    }
    pairs
}

/// The recipes of a history, and the order that `make -j` keeps among them.
struct RecipeOrder<'a> {
    history: &'a History,
    /// The recipe of each line.
    recipes: Vec<Option<RecipeLine>>,
    /// Targets that each recipe makes: its own, those of the same rule, and whatever its lines
    /// write, also by the makes that they call.
    made: HashMap<(MakeId, String), HashSet<String>>,
    /// Directories that each recipe makes if they are missing.
    directories: HashMap<(MakeId, String), HashSet<FileId>>,
}

impl<'a> RecipeOrder<'a> {
    fn new(history: &'a History) -> Self {
        let recipe = |line: &Line| {
            let rules = history.makes[line.make.0].rules.as_ref()?;
            rules.recipe(&line.command, line.writes.iter().map(|file| history.name(*file)))
        };
        let recipes = history.lines.iter().map(recipe).collect();
        let mut order = Self { history, recipes, made: HashMap::new(), directories: HashMap::new() };
        for (index, line) in history.lines.iter().enumerate() {
            for above in order.chain(LineId(index)) {
                let Some((key, rules)) = order.key(above).zip(order.rules(above)) else { continue };
                let written = line.writes.iter().filter_map(|file| rules.target(history.name(*file)));
                let made: Vec<String> =
                    rules.siblings(&key.1).cloned().chain([key.1.clone()]).chain(written).collect();
                order.made.entry(key.clone()).or_default().extend(made);
                order.directories.entry(key).or_default().extend(&line.directories);
            }
        }
        order
    }

    /// The recipe of a line within its make.
    fn key(&self, line: LineId) -> Option<(MakeId, String)> {
        let recipe = &self.recipes[line.0].as_ref()?.recipe;
        Some((self.make(line), recipe.target.clone()))
    }

    fn rules(&self, line: LineId) -> Option<&'a Rules> {
        self.history.makes[self.make(line).0].rules.as_ref()
    }

    /// The users of each file that some line writes, in the serial order.
    fn shared_files(&self) -> BTreeMap<FileId, Vec<User>> {
        let lines = &self.history.lines;
        let written = lines.iter().flat_map(|line| &line.writes);
        let mut users: BTreeMap<FileId, Vec<User>> =
            written.filter(|file| self.is_of_build(**file)).map(|file| (*file, Vec::new())).collect();
        for (index, line) in lines.iter().enumerate() {
            let mut uses: BTreeMap<FileId, User> = BTreeMap::new();
            let mut add = |file: FileId, writes: bool| {
                let user =
                    uses.entry(file).or_insert(User { line: LineId(index), writes: false, reads: false });
                user.writes |= writes;
                user.reads |= !writes;
            };
            line.writes.iter().for_each(|file| add(*file, true));
            line.reads.iter().for_each(|file| add(*file, false));
            for folder in self.folders(LineId(index)) {
                add(folder, false);
            }
            for (file, user) in uses {
                if let Some(users) = users.get_mut(&file) {
                    users.push(user);
                }
            }
        }
        users
    }

    /// Whether a file belongs to the build: it lies in its directory, or a rule makes it. Caches
    /// and logs elsewhere, and those of Python, have writers in any order by design.
    fn is_of_build(&self, file: FileId) -> bool {
        let path = self.history.name(file);
        let is_target = || {
            let mut rules = self.history.makes.iter().filter_map(|run| run.rules.as_ref());
            rules.any(|rules| rules.target(path).is_some())
        };
        let is_cache = path.components().any(|part| part.as_os_str() == "__pycache__");
        !is_cache && (path.starts_with(&self.history.directory) || is_target())
    }

    /// Folders of the written files that are targets of rules, and so must be made before. Those
    /// that the recipe makes itself are not needed from others. Without a rule, a recipe usually
    /// looks for the folder and makes it only if it is missing.
    fn folders(&self, line: LineId) -> HashSet<FileId> {
        let own = self.key(line).and_then(|key| self.directories.get(&key));
        let chain = self.chain(line);
        let is_target = |folder: &FileId| {
            let path = self.history.name(*folder);
            chain.iter().filter_map(|line| self.rules(*line)).any(|rules| rules.target(path).is_some())
        };
        let writes = self.history.lines[line.0].writes.iter();
        writes
            .filter_map(|file| self.history.file(self.history.name(*file).parent()?))
            .filter(|folder| !own.is_some_and(|own| own.contains(folder)) && is_target(folder))
            .collect()
    }

    /// The lines from the first make down to this line.
    fn chain(&self, line: LineId) -> Vec<LineId> {
        let mut chain = vec![line];
        while let Some(caller) = chain.last().and_then(|line| self.run(self.make(*line)).caller) {
            chain.push(caller);
        }
        chain.reverse();
        chain
    }

    fn make(&self, line: LineId) -> MakeId {
        self.history.lines[line.0].make
    }

    fn run(&self, make: MakeId) -> &MakeRun {
        &self.history.makes[make.0]
    }

    fn of_lines(&self, first: LineId, second: LineId) -> Order {
        for (first, second) in self.chain(first).into_iter().zip(self.chain(second)) {
            // Two runs of make by one recipe line or by a script run one after the other.
            if self.make(first) != self.make(second) {
                return Order::Serial;
            }
            if first != second {
                return self.within_make(first, second);
            }
        }
        Order::Serial
    }

    /// Whether a make below `make -j` gets no jobs: a recipe above started it without `$(MAKE)`.
    fn is_serial(&self, line: LineId) -> bool {
        self.chain(line).into_iter().filter(|above| *above != line).any(|caller| {
            let shares = self.rules(caller).is_some_and(Rules::shares_jobs_by_name);
            let calls_make = self.recipes[caller.0].as_ref().is_none_or(|line| line.calls_make);
            !shares && !calls_make
        })
    }

    /// Order of two lines of one make.
    fn within_make(&self, first: LineId, second: LineId) -> Order {
        let Some(rules) = self.rules(first) else { return Order::Unknown };
        if rules.is_serial() || self.is_serial(first) {
            return Order::Serial;
        }
        let (Some(RecipeLine { recipe: before, .. }), Some(RecipeLine { recipe: after, .. })) =
            (&self.recipes[first.0], &self.recipes[second.0])
        else {
            return Order::Unknown;
        };
        let none = HashSet::new();
        let made = self.key(first).and_then(|key| self.made.get(&key)).unwrap_or(&none);
        if made.contains(&after.target) {
            return Order::Serial;
        }
        match rules.dependency(&after.target, made) {
            Dependency::Found => Order::Serial,
            Dependency::Missing => Order::Free(before.clone(), after.clone()),
            Dependency::Unknown => Order::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::history::Use;
    use crate::rules::{RecipeCommand, Rules};

    /// A makefile's rules, as pairs of target and prerequisites. The recipe of `t` is `make t`.
    fn rules(directory: &str, list: &[(&str, &str)]) -> Rules {
        let recipes: String = list
            .iter()
            .enumerate()
            .map(|(index, (target, _))| {
                format!("Makefile:{index}: target '{target}' does not exist\nmake {target}\n: sub {target}\n")
            })
            .collect();
        let files: String = list
            .iter()
            .map(|(target, prerequisites)| format!("{target}: {prerequisites}\n#  recipe to execute\n\n"))
            .collect();
        let text = format!(
            "{recipes}\n# Make data base\nCURDIR := {directory}\nMAKE_VERSION := 4.3\n# Files\n{files}"
        );
        Rules::parse(&text, "sub").expect("rules")
    }

    fn run(caller: Option<LineId>, rules: Rules) -> MakeRun {
        MakeRun { caller, rules: Some(rules) }
    }

    fn line(history: &mut History, make: MakeId, text: &str, uses: &[(&str, Use)]) -> LineId {
        let line = history.add_line(make, RecipeCommand::Text(text.to_owned()));
        for (path, usage) in uses {
            history.add_use(line, Path::new(path), *usage);
        }
        line
    }

    fn found(history: &History) -> Vec<(HazardKind, String, String, String)> {
        let hazards = find_hazards(history).found;
        hazards
            .into_iter()
            .flat_map(|hazard| {
                let file = hazard.file.display().to_string();
                let first = hazard.first.target;
                hazard
                    .others
                    .into_iter()
                    .map(move |other| (hazard.kind, file.clone(), first.clone(), other.target))
            })
            .collect()
    }

    #[test]
    fn a_header_without_a_dependency_is_found_and_one_with_it_is_not() {
        for (prerequisites, expected) in [("a.c", 1), ("a.c stamp", 0)] {
            let mut history = History::new("/b".into());
            let list = [("gen.h", "gen.in"), ("stamp", "gen.h"), ("a.o", prerequisites)];
            let make = history.add_make(run(None, rules("/b", &list)));
            line(&mut history, make, "make gen.h", &[("/b/gen.h", Use::Write)]);
            line(&mut history, make, "make a.o", &[("/b/gen.h", Use::Read), ("/b/a.o", Use::Write)]);
            let hazards = found(&history);
            assert_eq!(hazards.len(), expected, "{hazards:?}");
            if let [hazard] = &hazards[..] {
                let of_header = ("/b/gen.h".to_owned(), "gen.h".to_owned(), "a.o".to_owned());
                assert_eq!(
                    (hazard.1.clone(), hazard.2.clone(), hazard.3.clone()),
                    of_header,
                    "missing dependency"
                );
                assert_eq!(hazard.0, HazardKind::MissingDependency);
            }
        }
    }

    #[test]
    fn two_writers_and_a_later_change_are_found() {
        let mut history = History::new("/b".into());
        let make = history.add_make(run(None, rules("/b", &[("a", ""), ("b", ""), ("c", "")])));
        line(&mut history, make, "make a", &[("/b/y.tab.c", Use::Write)]);
        line(&mut history, make, "make b", &[("/b/y.tab.c", Use::Write), ("/b/s.c", Use::Read)]);
        line(&mut history, make, "make c", &[("/b/s.c", Use::Write)]);
        let kinds: Vec<_> =
            found(&history).into_iter().map(|(kind, _, first, other)| (kind, first, other)).collect();
        let of = |kind, first: &str, other: &str| (kind, first.to_owned(), other.to_owned());
        assert_eq!(kinds, [of(HazardKind::TwoWriters, "a", "b"), of(HazardKind::ChangedAfterUse, "b", "c")]);
    }

    #[test]
    fn a_folder_is_needed_from_another_recipe_unless_the_line_makes_it_itself() {
        for (usage, expected) in [(None, 1), (Some(("/b/out", Use::EnsureDirectory)), 0)] {
            let mut history = History::new("/b".into());
            let make = history.add_make(run(None, rules("/b", &[("out", ""), ("out/a.o", "a.c")])));
            line(&mut history, make, "make out", &[("/b/out", Use::Write)]);
            let uses: Vec<_> = usage.into_iter().chain([("/b/out/a.o", Use::Write)]).collect();
            line(&mut history, make, "make out/a.o", &uses);
            assert_eq!(found(&history).len(), expected);
        }
    }

    #[test]
    fn lines_of_two_makes_are_judged_where_their_callers_part() {
        for (prerequisites, expected) in [("", 1), ("lib", 0)] {
            let mut history = History::new("/b".into());
            let top = history.add_make(run(None, rules("/b", &[("lib", ""), ("bin", prerequisites)])));
            let lib = line(&mut history, top, "sub lib", &[]);
            let inner = history.add_make(run(Some(lib), rules("/b/lib", &[("l.a", "")])));
            line(&mut history, inner, "make l.a", &[("/b/lib/l.a", Use::Write)]);
            let bin = line(&mut history, top, "sub bin", &[]);
            let inner = history.add_make(run(Some(bin), rules("/b/bin", &[("p", "")])));
            line(&mut history, inner, "make p", &[("/b/lib/l.a", Use::Read)]);
            let hazards = found(&history);
            assert_eq!(hazards.len(), expected, "{hazards:?}");
            assert!(hazards.iter().all(|(_, _, first, other)| first == "lib" && other == "bin"));
        }
    }

    #[test]
    fn a_make_that_was_called_by_its_name_runs_in_series() {
        let mut history = History::new("/b".into());
        let top = history.add_make(run(None, rules("/b", &[("all", "")])));
        // Without the marker of `$(MAKE)`.
        let caller = line(&mut history, top, "make all", &[]);
        let inner = history.add_make(run(Some(caller), rules("/b", &[("a", ""), ("b", "")])));
        line(&mut history, inner, "make a", &[("/b/x", Use::Write)]);
        line(&mut history, inner, "make b", &[("/b/x", Use::Read)]);
        assert_eq!(found(&history), []);
    }
}
