//! `morecores serve`: the report page over a directory of studies and searches, for a browser on
//! this machine.
//!
//! `routes` decides which requests are allowed, from texts alone. This module reads, derives and
//! answers.

mod cache;
mod routes;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result, anyhow, ensure};
use morecores_findings::is_search;
use morecores_report as words;
use morecores_study::{Study, StudyState};
use morecores_view::compare::{Side, compare};
use morecores_view::page::{ListedState, ListedStudy, Page};
use tiny_http::{Header, Request, Response, Server};

use super::benchmarks::{PublishedComparison, SuiteStudies};
use super::loaded_study::study_name;
use super::page::{Depth, new_page, page_study};
use super::search;
use super::show::ShownStudy;
use crate::args::ServeArgs;
use crate::{exit, terminal};
use cache::Cache;
use routes::{Route, parse_route};

/// Seconds until the browser reloads the page of a study that is being measured.
const LOOK_AGAIN: &str = "5";

pub(crate) fn serve(args: &ServeArgs) -> Result<u8> {
    let named = args.directory.display();
    let directory = args.directory.canonicalize().with_context(|| format!("cannot read {named}"))?;
    ensure!(directory.is_dir(), "{named} is not a directory: name one with studies");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let server = Server::http(address).map_err(|error| {
        anyhow!("cannot listen on {address} ({error}): choose another port with --port, or 0 for any")
    })?;
    let port = server.server_addr().to_ip().map_or(args.port, |address| address.port());
    let where_ = directory.display();
    terminal::print(&format!("http://localhost:{port}/ shows the studies in {where_}; Ctrl-C ends it\n"))?;
    let mut cache = Cache::default();
    for request in server.incoming_requests() {
        let reply = reply_to(&directory, port, &request, &mut cache);
        // The client may have disconnected.
        let _ = respond(request, reply);
    }
    Ok(exit::SUCCESS)
}

/// Reply to a request: a status, a text, whether the text is a page, and whether the page changes.
#[derive(Clone)]
struct Reply {
    status: u16,
    text: String,
    is_page: bool,
    changes: bool,
}

impl Reply {
    fn plain(status: u16, text: String) -> Self {
        Self { status, text, is_page: false, changes: false }
    }

    fn page(page: &Page, changes: bool) -> Result<Self> {
        Ok(Self { status: 200, text: words::page_html(page)?, is_page: true, changes })
    }
}

fn reply_to(directory: &Path, port: u16, request: &Request, cache: &mut Cache) -> Reply {
    let hosts: Vec<&str> =
        request.headers().iter().filter(|h| h.field.equiv("Host")).map(|h| h.value.as_str()).collect();
    let reply = match parse_route(request.method().as_str(), &hosts, port, request.url()) {
        Err(refusal) => return Reply::plain(refusal.status(), refusal.to_string()),
        Ok(Route::List) => list(directory),
        Ok(Route::Suite) => suite(directory),
        Ok(Route::Study(name)) => study(directory, &name, cache),
        Ok(Route::Compare { base, new }) => comparison_page(directory, &base, &new),
    };
    reply.unwrap_or_else(|error| Reply::plain(404, format!("{error:#}\n")))
}

fn respond(request: Request, reply: Reply) -> io::Result<()> {
    let kind = if reply.is_page { "text/html; charset=utf-8" } else { "text/plain; charset=utf-8" };
    let mut headers = vec![
        ("Content-Type", kind),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("X-Frame-Options", "DENY"),
        ("Cache-Control", "no-store"),
    ];
    if reply.changes {
        headers.push(("Refresh", LOOK_AGAIN));
    }
    let mut response = Response::from_string(reply.text).with_status_code(reply.status);
    // All names and values are plain ASCII, so each is a valid header.
    for header in headers.iter().filter_map(|(name, value)| Header::from_bytes(*name, *value).ok()) {
        response.add_header(header);
    }
    request.respond(response)
}

/// Subdirectories of `directory` that hold a study or a search, by name. The target of a link that
/// leads out of `directory` is not served.
fn studies(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok()?.path().canonicalize().ok())
        .filter(|path| path.parent() == Some(directory) && is_study(path))
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// Whether a directory holds a study or a search without files that link to another place.
fn is_study(path: &Path) -> bool {
    let is_inside = |name: &str| path.join(name).canonicalize().is_ok_and(|full| full.starts_with(path));
    let is_absent = |name: &str| path.join(name).symlink_metadata().is_err();
    let holds = |head: &str, others: &[&str]| {
        is_inside(head) && others.iter().all(|name| is_absent(name) || is_inside(name))
    };
    holds("study.json", &["search.json", "runs.jsonl", "cells.jsonl", "traces"])
        || holds("search.json", &["study.json", "runs.jsonl", "findings.json", "stdout"])
}

/// Path of the study with this name. Only names in the list are known, so no name can lead
/// elsewhere.
fn study_path(directory: &Path, name: &str) -> Result<PathBuf> {
    let found = studies(directory)?.into_iter().find(|path| study_name(path) == name);
    found.ok_or_else(|| anyhow!("there is no study {name} here"))
}

fn list(directory: &Path) -> Result<Reply> {
    let listed: Vec<ListedStudy> = studies(directory)?.iter().map(|path| read_list_entry(path)).collect();
    let changes = listed.iter().any(|study| study.state == ListedState::Measuring);
    Reply::page(&Page { listed, ..new_page() }, changes)
}

/// Page of the classic benchmarks among the studies, beside the published results. Only listed
/// studies are read.
fn suite(directory: &Path) -> Result<Reply> {
    let known = studies(directory)?;
    let read = |path: &Path| {
        ensure!(known.iter().any(|study| study == path), "there is no such study here");
        Ok(Study::read(path)?)
    };
    let suite = SuiteStudies::read(directory, read);
    let PublishedComparison { benchmarks, suite, .. } = suite.compare_figures_with_published()?;
    ensure!(!benchmarks.is_empty(), "there is no study of a classic benchmark here");
    Reply::page(&Page { benchmarks, suite: Some(suite), ..new_page() }, false)
}

fn read_list_entry(path: &Path) -> ListedStudy {
    let entry = if is_search(path) {
        search::list_entry(path).map_err(anyhow::Error::from)
    } else {
        ShownStudy::read(path).map(|study| study.list_entry()).map_err(anyhow::Error::from)
    };
    entry.unwrap_or_else(|error| ListedStudy {
        name: study_name(path),
        command: error.to_string(),
        host: String::new(),
        created_at_s: 0.0,
        cpus: Vec::new(),
        state: ListedState::Unreadable,
        benchmark: None,
        comparable: false,
    })
}

/// Page of one study or search. While the study is measured, the page reloads and contains no
/// prediction or replay: these would use the CPUs being measured.
fn study(directory: &Path, name: &str, cache: &mut Cache) -> Result<Reply> {
    let path = study_path(directory, name)?;
    cache.cached_reply(&path, || {
        if is_search(&path) {
            let mut page = new_page();
            search::add_search(&mut page, &path)?;
            return Reply::page(&page, false);
        }
        let study = ShownStudy::read(&path)?;
        let changes = study.state() == StudyState::Measuring;
        let depth = if changes { Depth::Measured } else { Depth::WhatIf };
        let mut page = new_page();
        study.add_to_page(&mut page, depth)?;
        Reply::page(&page, changes)
    })
}

fn comparison_page(directory: &Path, base: &str, new: &str) -> Result<Reply> {
    let (base_path, new_path) = (study_path(directory, base)?, study_path(directory, new)?);
    let (base_study, new_study) = (Study::read(&base_path)?, Study::read(&new_path)?);
    let base_shown = page_study(base_study, &base_path, Depth::WhatIf)?;
    let new_shown = page_study(new_study, &new_path, Depth::WhatIf)?;
    let comparison = compare(
        Side { name: base, study: &base_shown.study, view: &base_shown.page.view },
        Side { name: new, study: &new_shown.study, view: &new_shown.page.view },
        0.0,
    )?;
    let comparison = Some(words::comparison_text(&comparison));
    Reply::page(&Page { studies: vec![base_shown.page, new_shown.page], comparison, ..new_page() }, false)
}
