//! Variables of a plan, from `--env` and this process's environment, and the notes for the user
//! about them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use anyhow::{Result, anyhow, ensure};
use morecores_measure::environment::{Environment, belongs_to_outer_make};
use morecores_study::{Plan, Variable, holds_n};

/// Variables that hold a command line, among them that of morecores. A `{n}` in them is not meant
/// for replacement (sudo(8), sshd(8)).
const COMMAND_LINES: [&str; 2] = ["SUDO_COMMAND", "SSH_ORIGINAL_COMMAND"];

/// Variables of a new plan: those of `--env`, and those of this process's environment that hold
/// `{n}`.
pub(super) fn variables(texts: &[OsString]) -> Result<Vec<Variable>> {
    variables_in(texts, &env::vars_os().collect::<Vec<_>>())
}

fn variables_in(texts: &[OsString], inherited: &[(OsString, OsString)]) -> Result<Vec<Variable>> {
    let mut variables: Vec<Variable> = Vec::new();
    for text in texts {
        let variable = variable(text)?;
        let name = variable.name.display();
        ensure!(
            variable.value.is_some() || inherited.iter().any(|(own, _)| *own == variable.name),
            "--env {name}: the variable is not set; write {name}=VALUE to set it"
        );
        ensure!(variables.iter().all(|other| other.name != variable.name), "--env {name} is given twice");
        variables.push(variable);
    }
    for name in with_n(inherited) {
        if variables.iter().all(|variable| variable.name != *name) {
            let value = inherited.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
            variables.push(Variable { name: name.clone(), value });
        }
    }
    Ok(variables)
}

/// Parses `NAME=VALUE`, or `NAME` for a variable that is passed on unchanged.
fn variable(text: &OsStr) -> Result<Variable> {
    let mut parts =
        text.as_bytes().splitn(2, |byte| *byte == b'=').map(|part| OsStr::from_bytes(part).to_owned());
    let name = parts.next().filter(|name| !name.is_empty()).ok_or_else(|| {
        anyhow!("--env `{}` has no name: write NAME=VALUE, or NAME to pass a variable on", text.display())
    })?;
    Ok(Variable { name, value: parts.next() })
}

/// Names of the variables in which `{n}` is meant for morecores.
fn with_n(inherited: &[(OsString, OsString)]) -> impl Iterator<Item = &OsString> {
    // `make` passes its command line to its children in variables of its own.
    let is_below_make = inherited.iter().any(|(name, _)| name == "MAKELEVEL");
    let is_meant = move |name: &OsStr| {
        !(COMMAND_LINES.iter().any(|line| *line == name) || is_below_make && belongs_to_outer_make(name))
    };
    inherited.iter().filter(move |(name, value)| holds_n(value) && is_meant(name)).map(|(name, _)| name)
}

/// Notes on the environment of a new study: the changes that `--env` did not request.
pub(super) fn notes(texts: &[OsString], plan: &Plan) -> Vec<String> {
    let is_given =
        |own: &&Variable| texts.iter().any(|text| variable(text).is_ok_and(|given| given.name == own.name));
    let replaced = plan.env.iter().filter(|variable| !is_given(variable)).map(|variable| &variable.name);
    let replaced = names(replaced).map(|names| {
        format!(
            "{{n}} becomes the CPU count also in the environment variables {names}; --env NAME passes a variable on unchanged"
        )
    });
    replaced.into_iter().chain(withheld_note(plan)).collect()
}

/// Notes on the environment of a resumed study, which keeps the variables of its plan.
pub(crate) fn notes_of_resumed(plan: &Plan) -> Vec<String> {
    let inherited: Vec<_> = env::vars_os().collect();
    let new = with_n(&inherited).filter(|name| plan.env.iter().all(|variable| variable.name != **name));
    let left = names(new).map(|names| {
        format!("{{n}} stays unchanged in the environment variables {names}: the study began without them")
    });
    left.into_iter().chain(withheld_note(plan)).collect()
}

fn withheld_note(plan: &Plan) -> Option<String> {
    let withheld = Environment::from_this_process(plan).withheld_variables();
    let first = withheld.first()?;
    Some(format!(
        "the command does not get {} of the make that runs morecores, which would limit its jobs; \
         --env {first} passes it on",
        withheld.join(", ")
    ))
}

fn names<'a>(names: impl Iterator<Item = &'a OsString>) -> Option<String> {
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variables of a plan as `NAME=VALUE`.
    fn planned_variables(texts: &[&str], inherited: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let texts: Vec<OsString> = texts.iter().map(OsString::from).collect();
        let inherited: Vec<_> = inherited.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let variables = variables_in(&texts, &inherited).map_err(|error| error.to_string())?;
        let text = |variable: Variable| {
            let value = variable.value.map(|value| format!("={}", value.display())).unwrap_or_default();
            format!("{}{value}", variable.name.display())
        };
        Ok(variables.into_iter().map(text).collect())
    }

    #[test]
    fn variables_are_set_or_passed_on_by_name() {
        let inherited = [("PS1", "{n}>"), ("HOME", "/h")];
        assert_eq!(
            planned_variables(&["A=1", "B=", "C=x=y", "PS1"], &inherited).unwrap(),
            ["A=1", "B=", "C=x=y", "PS1"]
        );
        for (texts, part) in [
            (vec!["=8"], "--env `=8` has no name"),
            (vec![""], "--env `` has no name"),
            (vec!["ABSENT"], "the variable is not set; write ABSENT=VALUE"),
            (vec!["A=1", "A=2"], "--env A is given twice"),
        ] {
            let error = planned_variables(&texts, &inherited).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn n_in_the_environment_is_replaced_unless_it_is_part_of_a_command_line() {
        let inherited = [
            ("OMP_NUM_THREADS", "{n}"),
            ("TEMPLATE", "{{n}}"),
            ("SUDO_COMMAND", "/usr/bin/morecores run -- make -j{n}"),
            ("HOME", "/h"),
        ];
        assert_eq!(planned_variables(&[], &inherited).unwrap(), ["OMP_NUM_THREADS={n}"]);
        assert_eq!(planned_variables(&["OMP_NUM_THREADS=2"], &inherited).unwrap(), ["OMP_NUM_THREADS=2"]);
    }

    #[test]
    fn without_an_outer_make_the_variables_of_make_are_the_users() {
        assert_eq!(planned_variables(&[], &[("MAKEFLAGS", "-j{n}")]).unwrap(), ["MAKEFLAGS=-j{n}"]);
        assert_eq!(
            planned_variables(&[], &[("MAKEFLAGS", " -- ARGS=-j{n}"), ("MAKELEVEL", "1")]).unwrap(),
            [""; 0]
        );
    }
}
