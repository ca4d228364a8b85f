//! Order in which a sweep adds CPUs, and the kind of CPU that each step adds.
//!
//! This module has the names only; other code computes the order from a topology.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::CpuId;

/// Policy for the order in which CPUs are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// One hardware thread of every core before a second thread of any core.
    #[default]
    CoresFirst,
    /// All hardware threads of a core before the next core, near cores before far ones.
    Compact,
    /// Each CPU as far as possible from the CPUs already added; cores before siblings.
    Spread,
}

impl fmt::Display for Placement {
    /// Writes the name that the command line uses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CoresFirst => "cores-first",
            Self::Compact => "compact",
            Self::Spread => "spread",
        })
    }
}

/// Relation of a CPU to the CPUs added before it.
///
/// If several kinds apply to a CPU, the last one in the order of declaration counts. The exception
/// is a second hardware thread of a core, which is always an [`SmtSibling`](Self::SmtSibling):
/// sharing a core matters more than its location. All kinds except `SmtSibling` compare with the
/// *first* CPU of the order. All cores of a second node are therefore of one kind, and a curve can
/// be fitted, or not, to each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum CpuKind {
    /// First CPU.
    First,
    /// Further core, of the same package, node and type as the first.
    Core,
    /// Further hardware thread of a core that is already in use.
    SmtSibling,
    /// Core of another NUMA node in the same package.
    OtherNode,
    /// Core of another package.
    OtherPackage,
    /// Core of another type, such as an efficiency core.
    OtherCoreType,
}

impl fmt::Display for CpuKind {
    /// Writes the name that JSON uses, such as `smt-sibling`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "first",
            Self::Core => "core",
            Self::SmtSibling => "smt-sibling",
            Self::OtherNode => "other-node",
            Self::OtherPackage => "other-package",
            Self::OtherCoreType => "other-core-type",
        })
    }
}

/// One step of an order: the added CPU and its relation to the previous CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PlacedCpu {
    /// Added CPU.
    pub cpu: CpuId,
    /// Relation of the CPU to the previous CPUs.
    pub kind: CpuKind,
}
