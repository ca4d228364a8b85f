//! Traced run after decoding: the one object from which the tables, the lanes and the demands are
//! computed, so that no reader of a trace decodes it a second time.

use morecores_study::trace::{Decoded, EventKind, TraceHeader};

use crate::operational_laws::EventCounts;
use crate::trace::Timeline;

/// Traced run after decoding. It does not keep the events: the timeline has their content.
#[derive(Clone, Debug)]
pub struct DecodedTrace<'h> {
    /// Header of the trace.
    pub header: &'h TraceHeader,
    /// Activity of all threads and CPUs during the run.
    pub timeline: Timeline,
    /// Events counted without the timeline, for checks of the trace against itself.
    pub counts: EventCounts,
    /// Number of events that were written and are now missing, because the stream was cut off or is
    /// damaged. For a trace that lost events while it was recorded, the number includes the `Lost`
    /// records.
    pub missing_events: u64,
}

impl<'h> DecodedTrace<'h> {
    /// Builds the timeline from the events, which are released.
    pub fn new(header: &'h TraceHeader, decoded: Decoded) -> Self {
        let is_recorded = |kind: &EventKind| !matches!(kind, EventKind::Lost { .. });
        let recorded = decoded.events.iter().filter(|event| is_recorded(&event.kind)).count() as u64;
        let timeline = Timeline::new(header, &decoded.events);
        Self {
            header,
            counts: EventCounts::new(&timeline, &decoded.events),
            timeline,
            missing_events: header.facts.events.saturating_sub(recorded + decoded.unknown_events),
        }
    }

    /// Number of events that the trace lost, while it was recorded or since: above zero, what is
    /// around them is missing or wrong.
    pub fn lost_events(&self) -> u64 {
        let facts = &self.header.facts;
        let dropped: u64 = facts.lost.iter().map(|loss| loss.dropped).sum();
        (dropped + facts.missed + self.missing_events).max(self.timeline.lost_events)
    }
}
