//! JavaScript engine that evaluates the viewer's drawing code. This code is part of the project and
//! needs no input or output; the engine gives it neither files nor a network.

use morecores_view::page::{Page, PictureOrder};
use rquickjs::{CatchResultExt, CaughtError, Context, Error, Function, Runtime, TypedArray};

use crate::PictureError;

/// Bundled drawing code, from `viewer/src/sheet`.
const SHEET: &str = include_str!("../../../viewer/dist/sheet.js");

/// Name of the function that the drawing code defines.
const FUNCTION: &str = "sheetOf";

/// Stack limit in bytes for the calls of the drawing code; serialising a picture is recursive.
const STACK: usize = 1 << 20;

pub(crate) fn draw(
    page: &Page,
    order: PictureOrder,
    stretches: Option<Vec<u8>>,
) -> Result<String, PictureError> {
    let json_error = |error: serde_json::Error| PictureError::Drawing(error.to_string());
    let page = serde_json::to_string(page).map_err(json_error)?;
    let order = serde_json::to_string(&order).map_err(json_error)?;
    let drawing_error = |error: Error| PictureError::Drawing(error.to_string());
    let runtime = Runtime::new().map_err(drawing_error)?;
    runtime.set_max_stack_size(STACK);
    let context = Context::full(&runtime).map_err(drawing_error)?;
    context.with(|ctx| {
        let exception = |error: CaughtError<'_>| PictureError::Drawing(error.to_string());
        ctx.eval::<(), _>(SHEET).catch(&ctx).map_err(exception)?;
        let draw: Function<'_> = ctx.globals().get(FUNCTION).catch(&ctx).map_err(exception)?;
        let stretches = stretches.map(|bytes| TypedArray::new(ctx.clone(), bytes)).transpose();
        let stretches = stretches.catch(&ctx).map_err(exception)?;
        draw.call((page, order, stretches)).catch(&ctx).map_err(exception)
    })
}
