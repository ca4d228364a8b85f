//! The description of the tables in `docs/events.md` is that of the program.

use morecores_export::Table;

#[test]
fn the_document_describes_each_column() {
    let document = include_str!("../../../docs/events.md");
    let mut rest = document;
    for table in Table::ALL {
        let (_, after) = rest.split_once(&format!("### `{}`\n", table.name())).expect("a section");
        rest = after;
        let section = after.split("\n#").next().unwrap_or_default();
        let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
        let expected =
            table.columns().iter().map(|column| format!("| `{}` | {} |", column.name, column.meaning));
        assert_eq!(rows, expected.collect::<Vec<String>>(), "{}", table.name());
    }
}
