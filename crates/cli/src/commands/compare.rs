//! `morecores compare`: two studies side by side, and the gate for CI.

use anyhow::Result;
use morecores_report as report;
use morecores_study::Study;
use morecores_view::View;
use morecores_view::compare::{Condition, Side, compare as compare_views, judge};

use super::loaded_study::{LoadedStudy, Purpose};
use crate::args::CompareArgs;
use crate::options::percent;
use crate::{exit, terminal};

pub(crate) fn compare(args: &CompareArgs) -> Result<u8> {
    let conditions: Vec<Condition> =
        args.fail_if.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
    let at_least = args.at_least.as_deref().map_or(Ok(0.0), |text| percent("--at-least", text))?;
    let (base, new) = (Study::read(&args.base)?, Study::read(&args.new)?);
    let measured: Vec<u32> = new.header.plan.points.iter().map(|point| point.cpus).collect();
    let predicted = conditions.iter().any(|condition| condition.is_beyond(&measured));
    let [base, new] = [(base, &args.base), (new, &args.new)].map(|(study, path)| {
        let mut loaded = LoadedStudy::new(study, path, Purpose::Figures);
        if predicted {
            loaded.predict();
        } else {
            loaded.predict_as_planned();
        }
        loaded
    });
    let names = [&args.base, &args.new].map(|path| path.display().to_string());
    let mut comparison = compare_views(
        Side { name: &names[0], study: &base.study, view: &base.view },
        Side { name: &names[1], study: &new.study, view: &new.view },
        at_least,
    )?;
    let json = |view: &View| serde_json::to_value(view);
    let (base_json, new_json) = (json(&base.view)?, json(&new.view)?);
    for condition in &conditions {
        comparison.conditions.push(judge(condition, (&names[0], &base_json), (&names[1], &new_json))?);
    }
    let text = if args.format.json {
        report::comparison_json(&comparison)?
    } else if args.format.markdown {
        let mut text = String::new();
        report::comparison_markdown(&comparison, &mut text)?;
        text
    } else {
        report::comparison_report(&comparison, &terminal::style())
    };
    terminal::print(&text)?;
    terminal::notes(base.unread.iter().chain(&new.unread));
    let fails = |holds: Option<bool>| holds.unwrap_or(args.strict);
    let failed = comparison.conditions.iter().any(|condition| fails(condition.holds));
    Ok(if failed { exit::CONDITION_HOLDS } else { exit::SUCCESS })
}
