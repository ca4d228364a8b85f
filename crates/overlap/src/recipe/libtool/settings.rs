//! Settings of a libtool script, which its `configure` writes at the beginning.

/// Settings with the values that the names of outputs depend on, without quotes, braces and
/// backslashes. Each language has its own, which are the same or absent.
const EXPECTED: &[(&str, &str)] = &[
    ("version_type", "linux"),
    ("libext", "a"),
    ("objext", "o"),
    ("objdir", ".libs"),
    ("shrext_cmds", ".so"),
    ("need_lib_prefix", "no"),
    ("need_version", "no"),
    ("libname_spec", "lib$name"),
    (
        "library_names_spec",
        "$libname$release$shared_ext$versuffix $libname$release$shared_ext$major $libname$shared_ext",
    ),
    ("soname_spec", "$libname$release$shared_ext$major"),
    ("deplibs_check_method", "pass_all"),
    ("LN_S", "ln -s"),
    ("always_export_symbols", "no"),
    ("include_expsyms", ""),
    ("old_archive_cmds", "$AR $AR_FLAGS $oldlib$oldobjs~$RANLIB $tool_oldlib"),
    ("old_archive_from_new_cmds", ""),
    ("allow_undefined_flag", ""),
    ("module_cmds", ""),
    ("module_expsym_cmds", ""),
    ("prelink_cmds", ""),
    ("postlink_cmds", ""),
];

/// Settings of one script.
pub(super) struct Settings {
    /// Name and value of each line that sets a variable, in their order.
    lines: Vec<(String, String)>,
}

impl Settings {
    /// Settings of a script; `None` if they are not those expected.
    pub(super) fn read(script: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(script);
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        };
        let lines = text
            .lines()
            .filter_map(|line| line.split_once('='))
            .filter(|(name, _)| is_name(name))
            .map(|(name, value)| (name.to_owned(), value.replace(['"', '\'', '\\', '{', '}'], "")))
            .collect();
        let settings = Self { lines };
        let is_as_expected = |(name, value): &(&str, &str)| {
            let mut others = settings.values(name);
            others.next() == Some(value) && others.all(|found| found.is_empty() || found == *value)
        };
        // One command, which writes one file.
        let links_at_once = settings
            .values("archive_cmds")
            .all(|command| command.is_empty() || (!command.contains('~') && command.ends_with(" -o $lib")));
        (EXPECTED.iter().all(is_as_expected) && links_at_once).then_some(settings)
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Value of the setting outside the sections of single languages.
    fn value(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    fn is_on(&self, name: &str) -> Option<bool> {
        match self.value(name)? {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        }
    }

    /// Whether links make shared libraries.
    pub(super) fn builds_shared(&self) -> Option<bool> {
        self.is_on("build_libtool_libs")
    }

    /// Whether links make archives.
    pub(super) fn builds_archives(&self) -> Option<bool> {
        self.is_on("build_old_libs")
    }

    /// Longest command that the script executes in one step, in bytes.
    pub(super) fn longest_command(&self) -> Option<usize> {
        self.value("max_cmd_len")?.parse().ok()
    }

    /// Whether a list of symbols becomes a script for the linker, as for C.
    pub(super) fn lists_symbols(&self) -> bool {
        self.value("archive_expsym_cmds")
            .is_some_and(|command| command.ends_with("> $output_objdir/$libname.ver~"))
    }

    /// Whether a shared library can take up an archive as it is.
    pub(super) fn embeds_archives(&self) -> bool {
        self.values("compiler_needs_object").all(|value| value.is_empty() || value == "no")
            && self.value("whole_archive_flag_spec").is_some_and(|flag| flag.contains("whole-archive"))
    }
}
