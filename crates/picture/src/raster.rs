//! Conversion of SVG to pixels.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::PictureError;

/// Pixels of the file per pixel of the drawing, enough for a sharp picture on a high-resolution
/// screen.
const SCALE: f32 = 2.0;

/// Renders the picture as a PNG file, twice as many pixels wide as the drawing says.
///
/// The text is set in DejaVu Sans, which the program includes, so the picture is the same on every
/// machine.
///
/// # Errors
///
/// [`PictureError::Drawing`], if `svg` is not an SVG file or is too large for memory.
pub fn png(svg: &str) -> Result<Vec<u8>, PictureError> {
    let drawing_error = |error: String| PictureError::Drawing(error);
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let options =
        Options { fontdb: Arc::new(fonts), font_family: "DejaVu Sans".to_owned(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| drawing_error(error.to_string()))?;
    let size = tree
        .size()
        .to_int_size()
        .scale_by(SCALE)
        .ok_or_else(|| drawing_error("it has no size".to_owned()))?;
    let mut pixels = Pixmap::new(size.width(), size.height())
        .ok_or_else(|| drawing_error(format!("{} by {} pixels are too many", size.width(), size.height())))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| drawing_error(error.to_string()))
}
