//! The order in which a band's rows are computed: several passes in one sweep over the band.
//!
//! A sweep goes over the band in pieces that fit a core's own cache. It takes each piece through
//! all the passes of a stretch before the next piece. Pass p of a piece lies p rows behind pass 0,
//! so that every row finds its three input rows: time skewing (Wonnacott, "Achieving scalable
//! locality with time skewing", 2002). Two buffers are enough, as without time skewing: pass p
//! overwrites rows of pass p-2 exactly where pass p-1 no longer needs them. The memory of the
//! bitmap is read and written once per stretch instead of once per pass, so that CPUs do not wait
//! for a shared cache.
//!
//! Rows are counted from the start of the sweep, which may be the bottom of the band. This module
//! is pure arithmetic.

use std::ops::Range;

/// A band from the view of a sweep. "Near" is the side where the sweep starts, "far" the other one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sweep {
    /// Ghost rows on the near side; 0 at the edge of the bitmap.
    pub(super) near: usize,
    /// The band's own rows.
    pub(super) own: usize,
    /// Ghost rows on the far side; 0 at the edge of the bitmap.
    pub(super) far: usize,
    /// Passes of the stretch; at most the ghost rows of a side that has any.
    pub(super) passes: usize,
    /// Rows of a piece.
    pub(super) piece: usize,
    /// Whether the sweep starts at the bottom of the band.
    pub(super) upward: bool,
}

impl Sweep {
    /// Number of pieces until the last pass has covered the last row.
    pub(super) const fn pieces(&self) -> usize {
        (self.near + self.own + self.passes - 1).div_ceil(self.piece)
    }

    /// Rows of the buffer that pass `pass` computes in piece `piece`; may be empty.
    pub(super) fn rows(&self, piece: usize, pass: usize) -> Range<usize> {
        // One fewer ghost row is valid in each pass.
        let margin = self.passes - 1 - pass;
        let first = if self.near > 0 { self.near - margin } else { 0 };
        let last = self.near + self.own + if self.far > 0 { margin } else { 0 };
        let start = (piece * self.piece).saturating_sub(pass).clamp(first, last);
        let end = ((piece + 1) * self.piece).saturating_sub(pass).clamp(start, last);
        self.in_buffer(start..end)
    }

    /// First piece that reads far ghost rows: pass 0 reads one row beyond its computed rows.
    pub(super) const fn first_to_read_far(&self) -> usize {
        let own_end = self.near + self.own;
        (own_end.div_ceil(self.piece)).saturating_sub(1)
    }

    /// Piece after which the `count` own rows nearest to the start have completed all passes.
    pub(super) fn near_rows_done(&self, count: usize) -> usize {
        ((self.near + count + self.passes - 1).div_ceil(self.piece)).min(self.pieces()) - 1
    }

    /// Ghost rows of the near side, in the buffer.
    pub(super) fn near_ghosts(&self) -> Range<usize> {
        self.in_buffer(0..self.near)
    }

    /// Ghost rows of the far side, in the buffer.
    pub(super) fn far_ghosts(&self) -> Range<usize> {
        let own_end = self.near + self.own;
        self.in_buffer(own_end..own_end + self.far)
    }

    /// The `count` own rows nearest to the near side, in the buffer.
    pub(super) fn near_own(&self, count: usize) -> Range<usize> {
        self.in_buffer(self.near..self.near + count)
    }

    /// The `count` own rows nearest to the far side, in the buffer.
    pub(super) fn far_own(&self, count: usize) -> Range<usize> {
        let own_end = self.near + self.own;
        self.in_buffer(own_end - count..own_end)
    }

    /// All own rows, in the buffer.
    pub(super) fn all_own(&self) -> Range<usize> {
        self.near_own(self.own)
    }

    /// Rows of the buffer.
    pub(super) const fn height(&self) -> usize {
        self.near + self.own + self.far
    }

    /// Converts rows counted from the start of the sweep to rows counted from the top of the
    /// buffer.
    fn in_buffer(&self, rows: Range<usize>) -> Range<usize> {
        if self.upward { self.height() - rows.end..self.height() - rows.start } else { rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pass of each row in each buffer; `None` if the row is not valid.
    type Passes = [Vec<Option<usize>>; 2];

    /// Simulates a sweep on pass numbers instead of pixels. Pass 0 of the numbers is the initial
    /// state.
    fn simulate(sweep: &Sweep, ghosts: usize) -> Passes {
        let mut buffers: Passes = [vec![None; sweep.height()], vec![None; sweep.height()]];
        buffers[0][sweep.all_own()].fill(Some(0));
        buffers[0][sweep.near_ghosts()].fill(Some(0));
        for piece in 0..sweep.pieces() {
            if piece == sweep.first_to_read_far() {
                buffers[0][sweep.far_ghosts()].fill(Some(0));
            }
            for pass in 0..sweep.passes {
                let (before, after) = if pass % 2 == 0 { (0, 1) } else { (1, 0) };
                sweep.rows(piece, pass).for_each(|y| {
                    let needed = &buffers[before][y.saturating_sub(1)..(y + 2).min(sweep.height())];
                    assert!(
                        needed.iter().all(|p| *p == Some(pass)),
                        "pass {pass} of {sweep:?}, row {y}: {needed:?}"
                    );
                    buffers[after][y] = Some(pass + 1);
                });
            }
            if piece == sweep.near_rows_done(ghosts) {
                let near = &buffers[sweep.passes % 2][sweep.near_own(ghosts)];
                assert!(near.iter().all(|pass| *pass == Some(sweep.passes)), "{sweep:?} sends early");
            }
        }
        buffers
    }

    proptest! {
        #[test]
        fn every_pass_finds_the_rows_it_needs(
            own in 1usize..80, ghosts in 1usize..9, passes in 1usize..9, piece in 1usize..100,
            near: bool, far: bool, upward: bool,
        ) {
            let own = own.max(ghosts);
            let passes = passes.min(ghosts);
            let side = |there: bool| if there { ghosts } else { 0 };
            let sweep = Sweep { near: side(near), own, far: side(far), passes, piece, upward };
            let buffers = simulate(&sweep, ghosts);
            let whole = |buffer: &[Option<usize>], pass| buffer[sweep.all_own()].iter().all(|p| *p == Some(pass));
            prop_assert!(whole(&buffers[passes % 2], passes));
            // The check of the last pass needs the previous pass.
            prop_assert!(whole(&buffers[(passes + 1) % 2], passes - 1));
        }
    }
}
