//! Storage of a study of locks: `study.json`, and one line of `cells.jsonl` for each measured cell.

use std::path::Path;

use super::{LOCK_STUDY_SCHEMA, LockClosing, LockHeader, LockRun, LockStudy};
use crate::kept::{self, Studied, StudyError};

/// Writer of a study of locks.
pub type LockStudyWriter = kept::StudyWriter<LockStudy>;

impl Studied for LockStudy {
    type Header = LockHeader;
    type Line = LockRun;
    type Closing = LockClosing;
    const SCHEMA: &'static str = LOCK_STUDY_SCHEMA;
    const LINES: &'static str = "cells.jsonl";
    const APPEND: &'static str = "append a measurement to";

    fn of(header: LockHeader, runs: Vec<LockRun>, damaged_lines: usize) -> Self {
        Self { header, runs, damaged_lines }
    }

    fn header(&mut self) -> &mut LockHeader {
        &mut self.header
    }

    fn close(header: &mut LockHeader, closing: Option<LockClosing>) {
        header.closing = closing;
    }
}

impl LockStudy {
    /// Reads a study of locks, finished or not. Lines that cannot be read are counted, not fatal.
    ///
    /// # Errors
    /// [`StudyError::NotAStudy`], [`StudyError::OfCommand`], [`StudyError::NewerSchema`],
    /// [`StudyError::DamagedHeader`], [`StudyError::Io`].
    pub fn read(path: &Path) -> Result<Self, StudyError> {
        kept::read(path)
    }
}
