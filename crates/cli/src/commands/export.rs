//! `morecores export`: a traced run in the formats of other programs.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use morecores_explain::{CallStack, DecodedTrace, call_stacks, sampled_stacks, trace_view};
use morecores_export::{
    ExportedRun, ProfiledRun, TalpRun, write_chrome_trace, write_firefox, write_folded, write_perfetto,
    write_pprof, write_talp,
};
use morecores_report as report;
use morecores_study::Study;
use morecores_study::trace::trace_name;

use super::chosen_trace::{find_trace, note_lost_events};
use super::loaded_study::{decode, study_name};
use crate::args::{ExportArgs, ExportFormat};
use crate::{exit, terminal};

pub(crate) fn export(args: &ExportArgs) -> Result<u8> {
    let study = Study::read(&args.study)?;
    let header = find_trace(&study, &args.study, args.trace.as_deref())?;
    let path = args.out.clone().unwrap_or_else(|| {
        let name = study_name(&args.study);
        let name = name.strip_suffix(".study").unwrap_or(&name);
        PathBuf::from(format!("{name}-{}.{}", trace_name(header), ending(args.to)))
    });
    let to_output = path == Path::new("-");
    ensure!(
        to_output || args.force || !path.is_file(),
        "{} exists: choose another -o, or --force to replace it",
        path.display()
    );
    let decoded = decode(&args.study, header)?;
    if to_output {
        match write(args.to, &study, &decoded, io::stdout().lock()) {
            Err(error) if is_closed_pipe(&error) => {}
            written => written?,
        }
    } else {
        let write = |output: &File| write(args.to, &study, &decoded, output);
        write_file(&path, write).with_context(|| format!("cannot write {}", path.display()))?;
        terminal::note(&format!("wrote {}", path.display()));
    }
    note_lost_events(&decoded);
    Ok(exit::SUCCESS)
}

/// Writes a file whole or not at all. Devices and pipes are written as they are.
fn write_file(path: &Path, write: impl FnOnce(&File) -> Result<()>) -> Result<()> {
    if path.exists() && !path.is_file() {
        return write(&File::create(path)?);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The user's mask applies, as to any new file.
    let permissions = Permissions::from_mode(0o666);
    let new = tempfile::Builder::new().permissions(permissions).tempfile_in(folder)?;
    write(new.as_file())?;
    new.persist(path)?;
    Ok(())
}

const fn ending(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::ChromeTrace => "trace.json",
        ExportFormat::Perfetto => "perfetto-trace",
        ExportFormat::Firefox => "profile.json",
        ExportFormat::Folded => "folded",
        ExportFormat::Pprof => "pb.gz",
        ExportFormat::Talp => "talp.json",
    }
}

fn write(format: ExportFormat, study: &Study, trace: &DecodedTrace<'_>, output: impl Write) -> Result<()> {
    let lost = trace.lost_events();
    let run = || ExportedRun::new(trace, &study.header.host.arch);
    match format {
        ExportFormat::ChromeTrace => write_chrome_trace(&run(), lost, output)?,
        ExportFormat::Perfetto => write_perfetto(&run(), lost, output)?,
        ExportFormat::Firefox => {
            let samples = sampled_stacks(trace);
            write_firefox(&run(), &samples, &profiled_run(study, trace), lost, output)?;
        }
        ExportFormat::Folded => write_folded(&stacks(trace, "folded")?, lost, output)?,
        ExportFormat::Pprof => write_pprof(&stacks(trace, "pprof")?, &profiled_run(study, trace), output)?,
        ExportFormat::Talp => {
            let view = trace_view(trace, &study.header.host.arch);
            ensure!(
                write_talp(&view, &talp_run(study, trace), output)?,
                "the trace has no efficiencies: `morecores run --trace on` records them (as root, or with what \
                 `morecores doctor` says)"
            );
        }
    }
    Ok(())
}

/// Call stacks of a trace, for a format of profiles.
fn stacks(trace: &DecodedTrace<'_>, format: &str) -> Result<Vec<CallStack>> {
    let stacks = call_stacks(trace);
    ensure!(
        !stacks.is_empty(),
        "the trace has no functions, which {format} describes: `morecores run --trace on` records them (as root, or \
         with what `morecores doctor` says)"
    );
    Ok(stacks)
}

fn profiled_run(study: &Study, trace: &DecodedTrace<'_>) -> ProfiledRun {
    let command =
        report::display_command_with_variables(&study.header.subject.words(), &study.header.plan.env);
    let lost = trace.lost_events();
    let lossy = (lost > 0).then(|| format!("the trace lost {lost} events: times are wrong"));
    ProfiledRun {
        began_ns: study.header.created_at_ns.0,
        elapsed_ns: trace.timeline.elapsed().0,
        comments: std::iter::once(command).chain(lossy).collect(),
    }
}

fn talp_run(study: &Study, trace: &DecodedTrace<'_>) -> TalpRun {
    let host = &study.header.host;
    let created = Timestamp::from_nanosecond(i128::from(study.header.created_at_ns.0)).unwrap_or_default();
    TalpRun {
        version: study.header.tool.clone(),
        timestamp: created.to_string(),
        hostname: host.hostname.clone(),
        pid: trace.header.facts.root.0,
        machine_cpus: host.topology.online.len() as u32,
        lost_events: trace.lost_events(),
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
