//! Names, signs and colours of the components of a traced run.
//!
//! This module holds facts only. The modules that show components decide which to show
//! and how.

use anstyle::AnsiColor;
use morecores_view::{Component, HolderWaits, TraceView};

/// Smallest CPU time of other programs, relative to the idle time that may contain it, for the
/// report to mention it. A choice: less is within the disagreement of the CPUs' counters and the
/// trace.
const LEAST_OTHERS_SHARE: f64 = 0.1;

/// Whether idle time with ready threads may be other programs' time: the trace does not see them,
/// and they used these CPUs.
pub(crate) fn idle_includes_others(trace: &TraceView) -> bool {
    let idle = trace.components.idle_scheduling_s;
    trace.untold_others_s.is_some_and(|others| others > 0.0 && others >= LEAST_OTHERS_SHARE * idle)
}

/// CPU-seconds lost to the command's own locks while the holder waited, by the object of the
/// holder's wait.
pub(crate) fn holder_waits(trace: &TraceView) -> [(Component, f64); 3] {
    let HolderWaits { disk_s, peer_s, timer_s } = trace.behind_user_lock;
    [(Component::IdleDisk, disk_s), (Component::IdlePeer, peer_s), (Component::IdleTimer, timer_s)]
}

/// Name of the object of a wait, if the component is such a wait.
pub(crate) fn awaited_name(component: Component) -> &'static str {
    match component {
        Component::IdleDisk => "a disk",
        Component::IdlePeer => "a process that is not part of the command",
        Component::IdleTimer => "a timer",
        other => component_name(other),
    }
}

/// Name of idle time with ready threads that may be other programs' time.
pub(crate) const IDLE_OR_OTHERS: &str = "idle or other processes";

/// Names, signs and colours of a part of a bar, equal in every report.
///
/// The signs of CPUs at work are dense and those of idle CPUs are light, so that a bar shows its
/// idle share at a glance. On a terminal green is for gains, blue for work, red for waits for
/// locks, yellow for time taken by others. The colours of the page can be told apart with any kind
/// of colour vision, on a light and on a dark background (after Okabe & Ito 2008, and Tol's muted
/// scheme).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartLook {
    /// Key on the page; of a component, its key in the record without the unit.
    pub(crate) key: &'static str,
    /// Name as a part of a run.
    pub(crate) name: &'static str,
    /// Signs on a terminal with Unicode and with ASCII alone, each one column wide. No sign equals
    /// the zero mark or the axis.
    pub(crate) signs: [char; 2],
    /// Colour on a terminal.
    pub(crate) ansi: AnsiColor,
    /// Colour on the page.
    pub(crate) colour: &'static str,
}

const fn look(
    key: &'static str,
    name: &'static str,
    signs: [char; 2],
    ansi: AnsiColor,
    colour: &'static str,
) -> PartLook {
    PartLook { key, name, signs, ansi, colour }
}

/// Look of the speedup.
pub(crate) const SPEEDUP: PartLook = look("speedup", "speedup", ['█', '#'], AnsiColor::Green, "#0072b2");

/// Look of the components too small to be shown one by one.
pub(crate) const FOLDED: PartLook = look("other", "other", ['·', '+'], AnsiColor::BrightBlack, "#888888");

/// Name, signs and colours of a component.
pub(crate) const fn component_look(component: Component) -> PartLook {
    use AnsiColor::*;
    let (name, signs, ansi, colour) = match component {
        Component::UserWork => ("work in user mode", ['▓', 'u'], BrightBlue, "#56b4e9"),
        Component::KernelWork => ("work in the kernel", ['▒', 'k'], Cyan, "#88ccee"),
        Component::Interrupt => ("interrupts", ['╫', 'i'], Cyan, "#44aa99"),
        Component::KernelLockSpin => ("spinning for kernel locks", ['╳', 'X'], Red, "#882255"),
        Component::OtherProcesses => ("other processes", ['╱', 'o'], Yellow, "#999933"),
        Component::Tracer => ("the tracer", ['┼', 't'], Yellow, "#aaaaaa"),
        Component::Steal => ("stolen by the hypervisor", ['╲', 's'], Yellow, "#117733"),
        Component::IdleScheduling => ("idle: scheduling", ['┄', 'r'], BrightMagenta, "#ddcc77"),
        Component::IdleHeld => ("idle: held back", ['┬', 'h'], BrightMagenta, "#332288"),
        Component::IdlePinned => ("idle: pinned", ['┴', 'p'], BrightMagenta, "#b8860b"),
        Component::IdleKernelLock => ("idle: kernel lock", ['║', 'L'], Red, "#aa4499"),
        Component::IdleUserLock => ("idle: user lock", ['┆', 'l'], Magenta, "#cc79a7"),
        Component::IdleDisk => ("idle: disk", ['═', 'd'], BrightCyan, "#009e73"),
        Component::IdlePeer => ("idle: peer", ['~', 'e'], BrightCyan, "#6699cc"),
        Component::IdleDevice => ("idle: other device", ['╤', 'D'], BrightCyan, "#5a7d2a"),
        Component::IdleRcu => ("idle: RCU grace period", ['╥', 'R'], BrightCyan, "#cc6677"),
        Component::IdleUninterruptible => ("idle: uninterruptible wait", ['╪', 'U'], BrightCyan, "#661100"),
        Component::IdleTimer => ("idle: timer", [':', ':'], BrightCyan, "#c0a0e0"),
        Component::IdleTooLittleWork => ("idle: too little parallel work", ['░', '.'], White, "#e69f00"),
        Component::Unexplained => ("unexplained", ['?', '?'], BrightBlack, "#d55e00"),
    };
    look(component.key(), name, signs, ansi, colour)
}

/// Name of a component as a part of a run.
pub const fn component_name(component: Component) -> &'static str {
    component_look(component).name
}

/// Name of a component as a part of `trace`, which may be unable to distinguish it from another.
pub(crate) fn component_name_in(trace: &TraceView, component: Component) -> &'static str {
    match component {
        Component::IdleScheduling if idle_includes_others(trace) => IDLE_OR_OTHERS,
        other => component_name(other),
    }
}

/// Name of a component as a loss. Of work, only the excess over the baseline is a loss.
pub(crate) const fn loss_name(component: Component) -> &'static str {
    match component {
        Component::UserWork => "extra time in user mode",
        Component::KernelWork => "extra time in the kernel",
        other => component_name(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_parts_look_different() {
        let looks: Vec<PartLook> =
            Component::ALL.map(component_look).into_iter().chain([SPEEDUP, FOLDED]).collect();
        let distinct = |of: fn(&PartLook) -> String| looks.iter().map(of).collect::<BTreeSet<_>>().len();
        assert_eq!(distinct(|look| look.key.to_owned()), looks.len());
        assert_eq!(distinct(|look| look.name.to_owned()), looks.len());
        assert_eq!(distinct(|look| look.colour.to_owned()), looks.len());
        for (index, ascii) in [(0, false), (1, true)] {
            let signs: BTreeSet<char> = looks.iter().map(|look| look.signs[index]).collect();
            assert_eq!(signs.len(), looks.len());
            let wide = |c: &char| textwrap::core::display_width(&c.to_string()) != 1;
            assert!(!signs.contains(&'│') && !signs.contains(&'|'), "the zero mark is nothing else");
            assert!(!signs.iter().any(wide) && (!ascii || signs.iter().all(char::is_ascii)));
        }
    }
}
