//! Calls in which the threads of the tree wait at an instant.

use morecores_study::trace::Call;

/// Number of threads that wait in each call.
#[derive(Default)]
pub(super) struct CallCounts(Vec<(Call, u32)>);

impl CallCounts {
    pub(super) fn add(&mut self, call: Call) {
        match self.0.iter_mut().find(|(known, _)| *known == call) {
            Some((_, count)) => *count += 1,
            None => self.0.push((call, 1)),
        }
    }

    pub(super) fn remove(&mut self, call: Call) {
        if let Some((_, count)) = self.0.iter_mut().find(|(known, _)| *known == call) {
            *count -= 1;
        }
    }

    /// Call with the most waiting threads; in a tie, the call that was counted first.
    pub(super) fn most_frequent(&self) -> Option<Call> {
        let mut most = None;
        for &(call, count) in &self.0 {
            if count > most.map_or(0, |(_, most)| most) {
                most = Some((call, count));
            }
        }
        most.map(|(call, _)| call)
    }
}
