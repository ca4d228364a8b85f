//! Lock laboratory: the study of locks from its cells to its advice.
//!
//! - `laboratory` measures a cell in a process of its own.
//! - `figures` computes the view of a study of locks: figures, cost model, advice.
//! - `spin_tuning` measures for how long a lock should spin on this machine.
//!
//! The types of the study are in `morecores-study`, those of the view in `morecores-view`. This
//! crate must not choose the cells, keep a study or print.

pub mod figures;
mod laboratory;
mod spin_tuning;

pub use figures::locks_view;
pub use laboratory::{CELL_PROGRAM, LockCellError, ProcessLaboratory};
pub use spin_tuning::measure_spin_tuning;
