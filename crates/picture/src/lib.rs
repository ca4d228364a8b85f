//! One picture of the report page as an SVG or PNG file, drawn without a browser.
//!
//! The page's own drawing code draws the picture in a small JavaScript engine, so that both look
//! the same. This crate knows nothing of the content of a picture. It takes data and returns text
//! or bytes; the command line writes the files.

mod engine;
mod raster;

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use morecores_view::page::{Page, PageStudy, PageTimeline, Picture, PictureOrder};
use thiserror::Error;

pub use raster::png;

/// Reason why there is no picture.
#[derive(Debug, Error)]
pub enum PictureError {
    /// Study without the data that the picture needs.
    #[error("{study} has no {what}")]
    MissingData {
        /// Name of the study.
        study: String,
        /// Data that the study lacks.
        what: &'static str,
    },
    /// Studies that are not a suite's.
    #[error("a picture of the suite is of a directory that `morecores suite` made")]
    NoSuite,
    /// Several studies for a picture that shows one study.
    #[error("a picture of the {0} is of one study: name one")]
    OneStudy(&'static str),
    /// Damaged data of a timeline.
    #[error("the timeline cannot be read: {0}")]
    Timeline(String),
    /// Failure of the drawing code, which is a defect of morecores.
    #[error("the picture cannot be drawn: {0}")]
    Drawing(String),
}

/// Draws the picture that `order` requests from the studies of `page` as an SVG file. Pictures of
/// speedup, elapsed time, efficiency and metric may show several studies.
///
/// # Errors
///
/// [`PictureError`], if the studies have no such picture or it cannot be drawn.
pub fn svg(page: &Page, order: PictureOrder) -> Result<String, PictureError> {
    if order.picture == Picture::Suite {
        let suite = page.suite.clone().ok_or(PictureError::NoSuite)?;
        return engine::draw(&Page { suite: Some(suite), ..Page::new(&page.tool) }, order, None);
    }
    let timeline = find_timeline(&page.studies, order.picture)?;
    let stretches = timeline.map(unpack_stretches).transpose()?;
    let studies = page.studies.iter().map(|study| keep_one_timeline(study, timeline)).collect();
    let page = Page { studies, ..Page::new(&page.tool) };
    engine::draw(&page, order, stretches)
}

/// Returns the timeline to draw, if the picture shows one: the traced run on the most CPUs.
fn find_timeline(studies: &[PageStudy], picture: Picture) -> Result<Option<&PageTimeline>, PictureError> {
    let missing_data =
        |study: &PageStudy, what: &'static str| PictureError::MissingData { study: study.name.clone(), what };
    let find_without = |test: &dyn Fn(&PageStudy) -> bool| studies.iter().find(|study| !test(study));
    if let Some(study) = find_without(&|study| {
        !study.view.points.is_empty() || matches!(picture, Picture::Timeline | Picture::Bottles)
    }) {
        return Err(missing_data(study, "measured CPU count"));
    }
    match (picture, studies) {
        (Picture::Stack, [study]) if study.parts.is_empty() => Err(missing_data(
            study,
            "speedup stack: it takes a trace of every CPU count, which `morecores run` makes as root",
        )),
        (Picture::Timeline, [study]) => {
            let timeline = study.timelines.iter().max_by_key(|timeline| (timeline.cpus, timeline.n));
            let what = "traced run, which `morecores run` makes as root";
            timeline.ok_or_else(|| missing_data(study, what)).map(Some)
        }
        (Picture::Bottles, [study]) if study.view.traces.iter().all(|trace| trace.threads.is_empty()) => {
            Err(missing_data(study, "traced run, which `morecores run` makes as root"))
        }
        (Picture::Stack | Picture::Bottles, [_]) => Ok(None),
        (Picture::Bottles, _) => Err(PictureError::OneStudy("bottles")),
        (Picture::Stack, _) => Err(PictureError::OneStudy("stack")),
        (Picture::Timeline, _) => Err(PictureError::OneStudy("timeline")),
        (Picture::Metric, _) => match find_without(&|study| study.view.plan.metric.is_some()) {
            Some(study) => {
                Err(missing_data(study, "metric: it is of elapsed times; `morecores run --metric` takes one"))
            }
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// Returns the study with the drawn timeline only, without its stretches. The engine gets the
/// stretches separately.
fn keep_one_timeline(study: &PageStudy, timeline: Option<&PageTimeline>) -> PageStudy {
    let without_data = |timeline: &PageTimeline| PageTimeline { data: String::new(), ..timeline.clone() };
    PageStudy { timelines: timeline.map(without_data).into_iter().collect(), ..study.clone() }
}

fn unpack_stretches(timeline: &PageTimeline) -> Result<Vec<u8>, PictureError> {
    let compressed =
        STANDARD.decode(&timeline.data).map_err(|error| PictureError::Timeline(error.to_string()))?;
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(compressed.as_slice())
        .read_to_end(&mut bytes)
        .map_err(|error| PictureError::Timeline(error.to_string()))?;
    Ok(bytes)
}
