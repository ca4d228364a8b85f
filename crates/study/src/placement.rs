//! In which order a sweep adds CPUs, and what kind of CPU each step adds.
//!
//! The names only; the order itself is worked out from a topology elsewhere.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::CpuId;

/// A policy for the order in which CPUs are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// A thread of every core before a second thread of any.
    #[default]
    CoresFirst,
    /// All threads of a core before the next core, near cores before far ones.
    Compact,
    /// Each CPU as far as possible from those already there; cores before siblings.
    Spread,
}

impl fmt::Display for Placement {
    /// As written on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CoresFirst => "cores-first",
            Self::Compact => "compact",
            Self::Spread => "spread",
        })
    }
}

/// What a CPU is to the CPUs added before it.
///
/// Where a CPU is several of these, the last in the order of declaration counts, except that a second thread
/// of a core is always an [`SmtSibling`](Self::SmtSibling): sharing a core weighs more than where it is.
/// All but `SmtSibling` compare with the *first* CPU of the order, so that all cores of a second node are of
/// one kind and a curve can be fitted, or not, to each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum CpuKind {
    /// The first CPU.
    First,
    /// A further core, of the same package, node and type as the first.
    Core,
    /// A further thread of a core that is already in.
    SmtSibling,
    /// A core of another NUMA node in the same package.
    OtherNode,
    /// A core of another package.
    OtherPackage,
    /// A core of another type, such as an efficiency core.
    OtherCoreType,
}

impl fmt::Display for CpuKind {
    /// As in JSON: `smt-sibling`.
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

/// One step of an order: the CPU added and what it is to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PlacedCpu {
    /// The CPU.
    pub cpu: CpuId,
    /// What it is.
    pub kind: CpuKind,
}
