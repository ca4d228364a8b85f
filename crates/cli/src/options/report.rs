//! Turns the texts of `morecores report` into the files to write.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use morecores_view::page::{Picture, PictureOrder};

use super::texts::worth;
use crate::args::ReportArgs;

/// Default path of the page.
const PAGE: &str = "report.html";

/// Options of `morecores report`.
#[derive(Debug)]
pub(crate) struct ReportOptions {
    /// Path of the page; none if no page is requested.
    pub(crate) page: Option<PathBuf>,
    /// Single pictures.
    pub(crate) plots: Vec<Plot>,
    /// Share of a CPU that an added CPU must bring; none for that of each study.
    pub(crate) worth: Option<f64>,
}

/// Picture and its file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plot {
    pub(crate) path: PathBuf,
    pub(crate) format: PlotFormat,
    pub(crate) order: PictureOrder,
}

/// File format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlotFormat {
    Svg,
    Png,
}

impl ReportOptions {
    /// Reads the arguments.
    pub(crate) fn new(args: &ReportArgs) -> Result<Self> {
        let plots: Vec<Plot> = args.plot.iter().map(|path| plot(args, path)).collect::<Result<_>>()?;
        let page = args.out.clone().or_else(|| plots.is_empty().then(|| PAGE.into()));
        Ok(Self { page, plots, worth: worth(&args.worth)? })
    }
}

fn plot(args: &ReportArgs, path: &Path) -> Result<Plot> {
    let named = path.display();
    let format = match path.extension().map(|end| end.to_ascii_lowercase()) {
        Some(end) if end == "svg" => PlotFormat::Svg,
        Some(end) if end == "png" => PlotFormat::Png,
        _ => bail!("{named}: a picture is an SVG or PNG file: give it a name that ends in .svg or .png"),
    };
    let order = PictureOrder {
        picture: args.picture.map_or_else(|| picture_from_name(path), Ok)?,
        width: args.width,
        axes: args.axes,
        dark: args.dark,
    };
    Ok(Plot { path: path.to_owned(), format, order })
}

/// The picture whose name is a word of the file's.
fn picture_from_name(path: &Path) -> Result<Picture> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let mut words = stem.split(|c: char| !c.is_alphanumeric());
    words.find_map(|word| Picture::from_str(word, true).ok()).ok_or_else(|| {
        let names: Vec<_> = Picture::value_variants()
            .iter()
            .filter_map(|picture| Some(picture.to_possible_value()?.get_name().to_owned()))
            .collect();
        let (path, names) = (path.display(), names.join(", "));
        anyhow!("{path}: the picture is not named: use --picture, or name the file after it: {names}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_selects_its_picture() {
        let picture = |path: &str| picture_from_name(Path::new(path)).ok();
        assert_eq!(picture("speedup.svg"), Some(Picture::Speedup));
        assert_eq!(picture("docs/make-j64_stack.png"), Some(Picture::Stack));
        assert_eq!(picture("Timeline.PNG"), Some(Picture::Timeline));
        assert_eq!(picture("speedups.svg"), None);
        assert_eq!(picture("stack/picture.svg"), None);
    }
}
