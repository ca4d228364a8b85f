//! Drawing of each component: a sign that identifies it without colour, and a colour.
//!
//! The signs of CPUs at work are dense and those of idle CPUs are light, so that a bar shows its
//! idle share at a glance.

use anstyle::AnsiColor;

use super::Style;
use crate::Component;
use crate::stack::Part;

impl Part {
    /// Sign of the part in the style's characters; no sign equals the zero mark or the axis. Shades
    /// and box drawing are one column wide on every terminal.
    pub(super) fn sign(self, style: &Style) -> char {
        let (unicode, ascii) = match self {
            Self::Speedup => ('█', '#'),
            Self::Folded => ('·', '+'),
            Self::Component(component) => match component {
                Component::UserWork => ('▓', 'u'),
                Component::KernelWork => ('▒', 'k'),
                Component::Interrupt => ('╫', 'i'),
                Component::KernelLockSpin => ('╳', 'X'),
                Component::OtherProcesses => ('╱', 'o'),
                Component::Tracer => ('┼', 't'),
                Component::Steal => ('╲', 's'),
                Component::IdleScheduling => ('┄', 'r'),
                Component::IdleHeld => ('┬', 'h'),
                Component::IdlePinned => ('┴', 'p'),
                Component::IdleKernelLock => ('║', 'L'),
                Component::IdleUserLock => ('┆', 'l'),
                Component::IdleDisk => ('═', 'd'),
                Component::IdlePeer => ('~', 'e'),
                Component::IdleDevice => ('╤', 'D'),
                Component::IdleRcu => ('╥', 'R'),
                Component::IdleUninterruptible => ('╪', 'U'),
                Component::IdleTimer => (':', ':'),
                Component::IdleTooLittleWork => ('░', '.'),
                Component::Unexplained => ('?', '?'),
            },
        };
        if style.unicode { unicode } else { ascii }
    }

    /// Colour of the part: green for gains, blue for work, red for waits for locks, yellow for time
    /// taken by others.
    pub(super) fn colour(self) -> AnsiColor {
        match self {
            Self::Speedup => AnsiColor::Green,
            Self::Folded => AnsiColor::BrightBlack,
            Self::Component(component) => match component {
                Component::UserWork => AnsiColor::BrightBlue,
                Component::KernelWork | Component::Interrupt => AnsiColor::Cyan,
                Component::KernelLockSpin | Component::IdleKernelLock => AnsiColor::Red,
                Component::IdleUserLock => AnsiColor::Magenta,
                Component::OtherProcesses | Component::Tracer | Component::Steal => AnsiColor::Yellow,
                Component::IdleScheduling | Component::IdleHeld | Component::IdlePinned => {
                    AnsiColor::BrightMagenta
                }
                Component::IdleDisk
                | Component::IdlePeer
                | Component::IdleDevice
                | Component::IdleRcu
                | Component::IdleUninterruptible
                | Component::IdleTimer => AnsiColor::BrightCyan,
                Component::IdleTooLittleWork => AnsiColor::White,
                Component::Unexplained => AnsiColor::BrightBlack,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_parts_look_alike_without_colour() {
        for unicode in [true, false] {
            let style = Style { width: 80, colour: false, unicode, wide: false };
            let parts = [Part::Speedup, Part::Folded];
            let parts = parts.into_iter().chain(Component::ALL.map(Part::Component));
            let signs: Vec<char> = parts.map(|p| p.sign(&style)).collect();
            assert_eq!(signs.iter().collect::<BTreeSet<_>>().len(), 22);
            let wide = |c: &char| textwrap::core::display_width(&c.to_string()) != 1;
            assert!(!signs.contains(&'│') && !signs.contains(&'|'), "the zero mark is nothing else");
            assert!(!signs.iter().any(wide) && (unicode || signs.iter().all(char::is_ascii)));
        }
    }
}
