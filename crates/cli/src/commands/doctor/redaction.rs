//! Removal of the names of hosts, users and homes from a text that others will read.
//!
//! It replaces names that this process can learn. A name that only the measured command knows
//! stays.

use std::env;
use std::fs;

use morecores_study::Host;

/// Names that say nothing about a person or a machine.
const PLAIN: [&str; 6] = ["", "root", "nobody", "localhost", "localdomain", "(none)"];

/// Names to replace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Redaction {
    homes: Vec<String>,
    hosts: Vec<String>,
    users: Vec<String>,
}

impl Redaction {
    /// Names of this machine, of this process's user, and of the user who called `sudo`.
    pub(super) fn from_this_process(host: &Host) -> Self {
        let variable = |name: &str| env::var(name).unwrap_or_default();
        let uid = rustix::process::getuid().as_raw().to_string();
        let callers = ["USER", "LOGNAME", "SUDO_USER"].map(variable);
        let passwords = fs::read_to_string("/etc/passwd").unwrap_or_default();
        // passwd(5): name, password, user, group, comment, home, shell.
        let entries = passwords.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let is_own = |entry: &Vec<&str>| {
            entry.len() > 5 && (entry[2] == uid || callers.iter().any(|caller| caller == entry[0]))
        };
        let (mut users, mut homes) = (callers.to_vec(), vec![variable("HOME")]);
        for entry in entries.filter(is_own) {
            users.push(entry[0].to_owned());
            homes.push(entry[5].to_owned());
        }
        let hosts = vec![
            host.hostname.clone(),
            variable("HOSTNAME"),
            fs::read_to_string("/etc/hostname").unwrap_or_default(),
        ];
        Self::new(homes, hosts, users)
    }

    fn new(homes: Vec<String>, hosts: Vec<String>, users: Vec<String>) -> Self {
        let homes = homes.into_iter().map(|home| home.trim_end_matches('/').to_owned());
        // A host also appears without its domain.
        let short = |host: &str| host.split('.').next().unwrap_or_default().to_owned();
        let hosts = hosts.into_iter().map(|host| host.trim().to_owned());
        let hosts = hosts.flat_map(|host| [short(&host), host]);
        Self {
            homes: longest_first(homes.filter(|home| home.starts_with('/')).collect()),
            hosts: longest_first(hosts.collect()),
            users: longest_first(users),
        }
    }

    /// The text with HOST, USER and `~` in place of the names.
    pub(super) fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (names, with) in [(&self.homes, "~"), (&self.hosts, "HOST"), (&self.users, "USER")] {
            for name in names {
                text = replace_name(&text, name, with);
            }
        }
        replace_other_homes(&text)
    }
}

/// The names without doubles and plain ones. A name comes before its own beginnings.
fn longest_first(mut names: Vec<String>) -> Vec<String> {
    names.retain(|name| !PLAIN.contains(&name.as_str()));
    names.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    names.dedup();
    names
}

/// Replaces a name wherever it stands between characters that are neither letters nor digits.
/// Upper and lower case do not differ, because they do not in names of hosts.
fn replace_name(text: &str, name: &str, with: &str) -> String {
    // Only ASCII letters change their case here, so that offsets are those of the text.
    let (lower, name) = (text.to_ascii_lowercase(), name.to_ascii_lowercase());
    let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut result = String::with_capacity(text.len());
    let mut copied = 0;
    for (start, _) in lower.match_indices(&name) {
        let end = start + name.len();
        let is_inside = is_part(lower[..start].chars().next_back()) || is_part(lower[end..].chars().next());
        if !is_inside {
            result.push_str(&text[copied..start]);
            result.push_str(with);
            copied = end;
        }
    }
    result + &text[copied..]
}

/// Replaces the names of users in the paths of their homes.
fn replace_other_homes(text: &str) -> String {
    let mut parts = text.split("/home/");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_whitespace() || "/:;,'\"`()".contains(c)).unwrap_or(part.len());
        let name = if end == 0 { "" } else { "USER" };
        result.push_str("/home/");
        result.push_str(name);
        result.push_str(&part[end..]);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redaction() -> Redaction {
        let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Redaction::new(
            strings(&["/home/ann", "/srv/ann/", "/", "/root"]),
            strings(&["box7.example.org\n", "localhost"]),
            strings(&["ann", "root", ""]),
        )
    }

    #[test]
    fn names_are_replaced_but_not_words_that_contain_them() {
        for (text, expected) in [
            ("BOX7.example.org · Box7: ready", "HOST · HOST: ready"),
            ("box7-lan box70", "HOST-lan box70"),
            ("user ann of planned annexes; ann_2 Ann's", "user USER of planned annexes; USER_2 USER's"),
            ("cannot read /home/ann/x and /srv/ann: /home/annex", "cannot read ~/x and ~: /home/USER"),
            ("/mnt/home/bob/y, /home/eve:/root/z /proot", "/mnt/home/USER/y, /home/USER:~/z /proot"),
            ("run as root on localhost", "run as root on localhost"),
            ("ännä ann.", "ännä USER."),
        ] {
            assert_eq!(redaction().apply(text), expected);
        }
    }

    #[test]
    fn nothing_is_replaced_without_names() {
        assert_eq!(Redaction::default().apply("a /home/ b"), "a /home/ b");
    }
}
