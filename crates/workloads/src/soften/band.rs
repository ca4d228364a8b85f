//! The threads' part: bands of rows, each in its own memory, that send their edges to each other.
//!
//! A band keeps *ghost rows* in addition to its own rows: copies of the nearest rows of its
//! neighbours. With g ghost rows it computes a stretch of g passes on its own, and each pass has
//! one fewer valid ghost row. Then it exchanges g rows with each neighbour. No threads share a row,
//! so a pass needs no lock. Each thread makes its own rows, so that they lie on its own NUMA node.
//!
//! Bands sweep alternately downwards and upwards. Two neighbours always sweep both towards or both
//! away from their boundary. Rows that a band sends late in a stretch are therefore needed late in
//! the next one, and early rows early. A message has a whole stretch of time, and a thread with a
//! shorter delay does not delay the others.

use std::iter;
use std::mem;
use std::ops::Range;
use std::time::Instant;

use morecores_study::{Bytes, Nanos};

use super::adjacent_band::AdjacentBand;
use super::bitmap::{self, Size};
use super::reference::{self, Pixel};
use super::sweep::Sweep;
use super::{MEMORY_ARGUMENTS, Order, kernel};
use crate::{Checksum, WorkloadError, memory};

/// Maximum number of ghost rows, and of passes in a stretch. Eight passes over half of the default
/// bitmap take 0.8 ms. Waking a thread that had to wait takes about 10 to 50 µs, which is small in
/// comparison.
const MAX_GHOSTS: usize = 8;

/// Minimum number of own rows per ghost row. On each side with a neighbour, g ghost rows cost
/// (g-1)/2 additional rows per pass: with this limit, less than 1% of the band.
const ROWS_PER_GHOST: usize = 64;

/// Memory for the piece of a sweep: half the second-level cache of the smallest cores of the last
/// ten years.
const PIECE_MEMORY: Bytes = Bytes::from_kib(128);

/// Copies of a band: a pass reads one and writes the other.
const COPIES: usize = 2;

/// Common parameters of all bands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) size: Size,
    pub(super) passes: u32,
    pub(super) order: Order,
    pub(super) seed: u64,
}

impl Plan {
    /// Memory of all the bands of `threads` threads: the bitmap twice, ghost rows, and rows in
    /// transit.
    pub(super) fn memory(&self, threads: usize) -> Bytes {
        let exchanged = self.ghosts(threads) * self.size.stride();
        // A boundary has ghost rows on both sides, in each copy, and one buffer in transit per
        // direction.
        let boundary = exchanged * (2 * COPIES + 2);
        Bytes((COPIES * self.size.bytes() + (threads - 1) * boundary) as u64)
    }

    /// Cuts the bitmap into `threads` bands of nearly equal height and connects the neighbours.
    /// Reserves the memory of all bands. `threads` must not exceed the rows.
    pub(super) fn bands(&self, threads: usize) -> Result<Vec<Band>, WorkloadError> {
        let mut above = None;
        (0..threads)
            .map(|index| {
                let (below, next) =
                    if index + 1 < threads { Some(AdjacentBand::pair()).unzip() } else { (None, None) };
                Band::new(*self, index, threads, mem::replace(&mut above, next), below)
            })
            .collect()
    }

    /// Ghost rows on each side with a neighbour; at most the rows of the smallest band.
    fn ghosts(&self, threads: usize) -> usize {
        (self.size.height / threads / ROWS_PER_GHOST).clamp(1, MAX_GHOSTS)
    }

    /// Rows in the piece of a sweep. In column order the piece is the whole band, because its
    /// columns must be long.
    fn piece(&self, band_rows: usize) -> usize {
        match self.order {
            Order::Row => (PIECE_MEMORY.0 as usize / COPIES / self.size.stride()).max(MAX_GHOSTS),
            Order::Column => band_rows + MAX_GHOSTS,
        }
    }
}

/// Rows of one thread.
pub(super) struct Band {
    plan: Plan,
    /// First row of the band in the bitmap.
    top: usize,
    ghosts: usize,
    /// Sweep of a whole stretch.
    sweep: Sweep,
    /// Adjacent bands at the start of the sweep and at its end.
    near: Option<AdjacentBand>,
    far: Option<AdjacentBand>,
    /// Ghost rows around own rows, before a stretch.
    source: Vec<u8>,
    /// Ghost rows around own rows, after an odd number of passes.
    target: Vec<u8>,
}

/// A pixel that the last pass computed wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WrongPixel {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) expected: Pixel,
    pub(super) got: Pixel,
}

/// Result of a band.
pub(super) struct BandResult {
    /// CRC-32 of the own rows, to be combined with those of the other bands.
    crc: crc32fast::Hasher,
    /// First pixel of the last pass at which the published algorithm gives another value.
    pub(super) wrong_pixel: Option<WrongPixel>,
    start: Instant,
    end: Instant,
}

impl Band {
    fn new(
        plan: Plan,
        index: usize,
        threads: usize,
        above: Option<AdjacentBand>,
        below: Option<AdjacentBand>,
    ) -> Result<Self, WorkloadError> {
        let first_row = |band: usize| band * plan.size.height / threads;
        let ghosts = plan.ghosts(threads);
        let upward = index % 2 == 1;
        let (near, far) = if upward { (below, above) } else { (above, below) };
        let side = |neighbour: &Option<AdjacentBand>| if neighbour.is_some() { ghosts } else { 0 };
        let mut sweep = Sweep {
            near: side(&near),
            own: first_row(index + 1) - first_row(index),
            far: side(&far),
            passes: ghosts,
            piece: 1,
            upward,
        };
        sweep.piece = plan.piece(sweep.height());
        let bytes = sweep.height() * plan.size.stride();
        let (source, target) =
            (memory::reserve(bytes, MEMORY_ARGUMENTS)?, memory::reserve(bytes, MEMORY_ARGUMENTS)?);
        Ok(Self { plan, top: first_row(index), ghosts, sweep, near, far, source, target })
    }

    /// Makes the rows, softens them and checks the last pass. `None` if a neighbour is gone.
    pub(super) fn run(mut self) -> Option<BandResult> {
        self.fill_rows();
        let mut sums = kernel::sums(self.plan.size.stride());
        let start = Instant::now();
        self.send_near(0)?;
        self.send_far()?;
        let mut left = self.plan.passes;
        while left > 0 {
            self.sweep.passes = self.ghosts.min(left as usize);
            self.run_stretch(self.plan.passes - left, &mut sums)?;
            left -= self.sweep.passes as u32;
        }
        let end = Instant::now();
        let mut crc = crc32fast::Hasher::new();
        crc.update(&self.source[self.bytes(self.sweep.all_own())]);
        Some(BandResult { crc, wrong_pixel: self.check(), start, end })
    }

    /// Fills the own rows, and zeroes the ghost rows until the first exchange.
    fn fill_rows(&mut self) {
        let own = self.sweep.all_own();
        let (before, all) = (self.bytes(0..own.start).len(), self.bytes(0..self.sweep.height()).len());
        self.source.resize(before, 0);
        let rows = self.top..self.top + own.len();
        bitmap::append(&mut self.source, rows, self.plan.size.width, self.plan.seed);
        self.source.resize(all, 0);
        self.target.resize(all, 0);
    }

    /// Runs one sweep, from pass `done`. No band waits for the edges of the last sweep.
    fn run_stretch(&mut self, done: u32, sums: &mut [u16]) -> Option<()> {
        let Plan { size, order, passes, .. } = self.plan;
        let sweep = self.sweep;
        let last = done + sweep.passes as u32 == passes;
        self.receive_near()?;
        for piece in 0..sweep.pieces() {
            if piece == sweep.first_to_read_far() {
                self.receive_far()?;
            }
            for pass in 0..sweep.passes {
                let (from, to) = if pass % 2 == 0 {
                    (&self.source, &mut self.target)
                } else {
                    (&self.target, &mut self.source)
                };
                let (rows, rounding) = (sweep.rows(piece, pass), super::rounding(done + pass as u32));
                kernel::pass(order, rounding, from, to, size.stride(), rows, sums);
            }
            if piece == sweep.near_rows_done(self.ghosts) && !last {
                self.send_near(sweep.passes)?;
            }
        }
        if !sweep.passes.is_multiple_of(2) {
            mem::swap(&mut self.source, &mut self.target);
        }
        if last { Some(()) } else { self.send_far() }
    }

    /// Sends the rows in their state after `passes` passes of a stretch.
    fn send_near(&mut self, passes: usize) -> Option<()> {
        let rows = self.bytes(self.sweep.near_own(self.ghosts));
        let after = if passes.is_multiple_of(2) { &self.source } else { &self.target };
        self.near.as_mut().map_or(Some(()), |near| near.send(&after[rows]))
    }

    fn send_far(&mut self) -> Option<()> {
        let rows = self.bytes(self.sweep.far_own(self.ghosts));
        self.far.as_mut().map_or(Some(()), |far| far.send(&self.source[rows]))
    }

    fn receive_near(&mut self) -> Option<()> {
        let rows = self.bytes(self.sweep.near_ghosts());
        self.near.as_mut().map_or(Some(()), |near| near.receive(&mut self.source[rows]))
    }

    fn receive_far(&mut self) -> Option<()> {
        let rows = self.bytes(self.sweep.far_ghosts());
        self.far.as_mut().map_or(Some(()), |far| far.receive(&mut self.source[rows]))
    }

    /// Repeats the last pass by the published algorithm, from the bitmap before it, which still
    /// exists.
    fn check(&self) -> Option<WrongPixel> {
        let size = Size { width: self.plan.size.width, height: self.sweep.height() };
        let rounding = super::rounding(self.plan.passes - 1);
        let own = self.sweep.all_own();
        let first = own.start;
        own.flat_map(|y| iter::repeat(y).zip(0..size.width)).find_map(|(y, x)| {
            let expected = reference::soften_pixel(&self.target, size, rounding, x, y);
            let got = reference::pixel(&self.source, size, x, y);
            (expected != got).then_some(WrongPixel { x, y: y - first + self.top, expected, got })
        })
    }

    /// Byte range of rows in the buffers.
    const fn bytes(&self, rows: Range<usize>) -> Range<usize> {
        let stride = self.plan.size.stride();
        rows.start * stride..rows.end * stride
    }
}

/// Checksum of the whole bitmap from its bands, in order.
pub(super) fn checksum(bands: &[BandResult]) -> Checksum {
    let mut whole = crc32fast::Hasher::new();
    bands.iter().for_each(|band| whole.combine(&band.crc));
    Checksum(whole.finalize())
}

/// Time from the first band's start to the last band's end.
pub(super) fn parallel_time(bands: &[BandResult]) -> Nanos {
    let start = bands.iter().map(|band| band.start).min();
    let end = bands.iter().map(|band| band.end).max();
    start.zip(end).map_or(Nanos::ZERO, |(start, end)| end.duration_since(start).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team;
    use proptest::prelude::*;

    fn soften(plan: Plan, threads: usize) -> Vec<BandResult> {
        let work = plan.bands(threads).unwrap().into_iter().map(|band| || band.run()).collect();
        team::run("soften", work).unwrap().into_iter().map(Option::unwrap).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn any_number_of_threads_agrees_with_the_published_algorithm(
            width in 1usize..40, height in 1usize..260, passes in 1u32..20, threads in 1usize..9,
            seed: u64, column: bool,
        ) {
            let order = if column { Order::Column } else { Order::Row };
            let plan = Plan { size: Size { width, height }, passes, order, seed };
            let bands = soften(plan, threads.min(height));
            prop_assert_eq!(checksum(&bands), reference::checksum(plan.size, passes, seed));
            prop_assert!(bands.iter().all(|band| band.wrong_pixel.is_none()));
        }
    }

    #[test]
    fn a_wrong_pixel_is_found_and_named_as_in_the_whole_bitmap() {
        let plan = Plan { size: Size { width: 9, height: 300 }, passes: 5, order: Order::Row, seed: 3 };
        let mut band = plan.bands(3).unwrap().remove(1);
        // The state is that after a last pass, without neighbours: the buffers hold noise and its
        // softened image.
        band.fill_rows();
        let size = Size { width: 9, height: band.sweep.height() };
        band.target = mem::take(&mut band.source);
        band.source = reference::soften_bitmap(&band.target, size, crate::soften::rounding(4));
        assert_eq!(band.check(), None);
        let row = band.sweep.all_own().start + 7;
        band.source[row * size.stride() + 4 * 3] ^= 1;
        let wrong_pixel = band.check().unwrap();
        assert_eq!((wrong_pixel.x, wrong_pixel.y), (4, 107));
        assert_ne!(wrong_pixel.expected, wrong_pixel.got);
    }

    #[test]
    fn a_band_ends_when_its_neighbour_is_gone() {
        let plan = Plan { size: Size { width: 9, height: 300 }, passes: 50, order: Order::Row, seed: 3 };
        let mut bands = plan.bands(2).unwrap();
        drop(bands.remove(0));
        assert!(bands.remove(0).run().is_none());
    }
}
