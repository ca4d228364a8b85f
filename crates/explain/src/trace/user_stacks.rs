//! User stacks of a trace: the frames that they share, and the stacks at waits and wake-ups. This
//! module names no function.

use morecores_study::trace::{CodeAddress, Event, EventKind, StackEnd, StackFrame, UserStack};

use super::timeline::WaitId;

/// User stacks of the tree's threads.
#[derive(Clone, Debug, Default)]
pub struct UserStacks {
    /// Frames by their number; none for a number that the trace does not define.
    frames: Vec<Option<StackFrame>>,
    /// Stacks of threads that began a wait, in the order of the waits.
    pub at_waits: Vec<(WaitId, RecordedStack)>,
    /// Stacks of threads that ended another thread's wait, in the order of the wake-ups.
    pub at_wakes: Vec<(WaitId, RecordedStack)>,
}

/// User stack, and the number of moments that it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedStack {
    /// Number of the innermost frame.
    pub frame: u32,
    /// Reason for which the stack has no further frame.
    pub end: StackEnd,
    /// Inverse of the probability with which the stack of this moment was recorded.
    pub weight: f64,
}

impl RecordedStack {
    /// Stack of an event; `None` if no frame of it is known.
    pub(super) fn new(stack: &UserStack) -> Option<Self> {
        let weight = 2_f64.powi(i32::from(stack.weight_log2));
        Some(Self { frame: stack.frame?, end: stack.end, weight })
    }
}

/// Largest number of frames of a stack that is followed: damaged frames can call each other.
const MOST_FRAMES: usize = 1024;

/// Largest number of a frame: beyond those of any tracer.
const LARGEST_NUMBER: u32 = 1 << 24;

impl UserStacks {
    /// Frames of all events, without stacks.
    pub(super) fn from_frames(events: &[Event]) -> Self {
        let mut frames: Vec<Option<StackFrame>> = Vec::new();
        for event in events {
            if let EventKind::Frame(frame) = &event.kind
                && frame.number < LARGEST_NUMBER
            {
                let index = frame.number as usize;
                frames.resize(frames.len().max(index + 1), None);
                frames[index] = Some(*frame);
            }
        }
        Self { frames, at_waits: Vec::new(), at_wakes: Vec::new() }
    }

    /// Code of the frames of a stack, the innermost first.
    pub fn code(&self, stack: &RecordedStack) -> impl Iterator<Item = CodeAddress> + '_ {
        let frame = |number: u32| self.frames.get(number as usize).copied().flatten();
        let frames = std::iter::successors(frame(stack.frame), move |inner| inner.caller.and_then(frame));
        frames.take(MOST_FRAMES).map(|frame| frame.code)
    }
}
