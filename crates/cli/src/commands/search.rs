//! A search of `morecores shake`, for `show`, `report` and `serve`. `morecores-shake` makes
//! searches; this module reads one.

use std::path::Path;

use anyhow::{Result, bail};
use morecores_findings::{self as findings, DirectoryError, Findings, Search};
use morecores_report::{display_command, page_search};
use morecores_view::page::{ListedStudy, Page};

use super::loaded_study::study_name;
use super::show::listed_state;
use crate::args::ShowArgs;
use crate::{exit, terminal};

/// Prints a search as text or JSON.
pub(crate) fn show_search(args: &ShowArgs) -> Result<u8> {
    let path = &args.study;
    if let Some(option) = args.of_studies_only() {
        bail!(
            "{option} is for studies, but {} is a search of `morecores shake`: use --json, or no option",
            path.display()
        );
    }
    let findings = read(path)?.1;
    let text = if args.format.json {
        serde_json::to_string_pretty(&findings)? + "\n"
    } else {
        findings::text(&findings)
    };
    terminal::print(&text)?;
    Ok(exit::SUCCESS)
}

/// Adds a search to a page.
pub(super) fn add_search(page: &mut Page, path: &Path) -> Result<()> {
    let (search, findings) = read(path)?;
    page.searches.push(page_search(&study_name(path), &search.header, &findings));
    Ok(())
}

/// Entry of a search in a list of studies.
pub(super) fn list_entry(path: &Path) -> Result<ListedStudy, DirectoryError> {
    let header = Search::read(path)?.header;
    Ok(ListedStudy {
        name: study_name(path),
        command: format!("morecores shake -- {}", display_command(&header.command)),
        host: header.host,
        created_at_s: header.created_at_s,
        cpus: u32::try_from(header.cpus.len()).into_iter().collect(),
        state: listed_state(findings::search_state(path)),
        benchmark: None,
        comparable: false,
    })
}

fn read(path: &Path) -> Result<(Search, Findings)> {
    Ok((Search::read(path)?, findings::read_findings(path)?))
}
