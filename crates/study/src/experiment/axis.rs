//! Axes: the properties in which the cells of an experiment differ, and the cells that they span.
//!
//! An axis is data. Nothing here knows the meaning of an axis or applies a value to a run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Cell;
use crate::Nanos;

/// Key of the axis of the number of allotted CPUs.
pub const CPUS_AXIS: &str = "cpus";
/// Key of the axis of the number that replaces `{n}`.
pub const N_AXIS: &str = "n";

/// Value on an axis, in the unit of the axis. All values of an axis have one type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AxisValue {
    /// One of two conditions.
    Flag(bool),
    /// Count, or quantity in the unit of the axis.
    Number(u64),
    /// Name, such as that of a lock or of a variant of the command.
    Text(String),
}

impl AxisValue {
    /// Number, unless this is a condition or a name.
    pub const fn number(&self) -> Option<u64> {
        match self {
            Self::Number(value) => Some(*value),
            Self::Flag(_) | Self::Text(_) => None,
        }
    }
}

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Text(value) => f.write_str(value),
        }
    }
}

impl From<bool> for AxisValue {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<u32> for AxisValue {
    fn from(value: u32) -> Self {
        Self::Number(value.into())
    }
}

impl From<u64> for AxisValue {
    fn from(value: u64) -> Self {
        Self::Number(value)
    }
}

impl From<Nanos> for AxisValue {
    fn from(value: Nanos) -> Self {
        Self::Number(value.0)
    }
}

impl From<&str> for AxisValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

/// Values on axes, by the key of the axis.
pub type Coordinates = BTreeMap<String, AxisValue>;

/// Setting of an axis in a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AxisSetting {
    /// The same value in every cell.
    Value(AxisValue),
    /// The value of the cell on another axis, as `{n}` follows the number of CPUs.
    SameAs {
        /// Key of the other axis, which stands before this one in the plan.
        same_as: String,
    },
}

impl AxisSetting {
    /// Creates the setting that takes the value of the cell on the axis with this key.
    pub fn same_as(key: &str) -> Self {
        Self::SameAs { same_as: key.to_owned() }
    }
}

impl<V: Into<AxisValue>> From<V> for AxisSetting {
    fn from(value: V) -> Self {
        Self::Value(value.into())
    }
}

/// Property in which the cells of an experiment differ, with its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Name of the property, without the unit.
    pub name: String,
    /// Unit of the values, such as `ns`; absent for counts, names and conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Settings, in the order of the plan.
    pub values: Vec<AxisSetting>,
}

impl Axis {
    /// Creates an axis without a unit.
    pub fn new<V: Into<AxisSetting>>(name: &str, values: impl IntoIterator<Item = V>) -> Self {
        Self { name: name.to_owned(), unit: None, values: values.into_iter().map(Into::into).collect() }
    }

    /// The same axis with this unit.
    #[must_use]
    pub fn in_unit(self, unit: &str) -> Self {
        Self { unit: Some(unit.to_owned()), ..self }
    }

    /// Key of the axis in coordinates: the name, followed by the unit if there is one
    /// (`quota_percent`).
    pub fn key(&self) -> String {
        self.unit.iter().fold(self.name.clone(), |name, unit| format!("{name}_{unit}"))
    }
}

/// Cells that the axes span, one for each combination of settings; the last axis varies fastest. A
/// combination that gives the values of an earlier one is not repeated.
pub(crate) fn cross_product(axes: &[Axis]) -> Vec<Cell> {
    let mut cells = vec![Cell::default()];
    for axis in axes {
        let key = axis.key();
        let with_setting = |cell: &Cell, setting: &AxisSetting| match setting {
            AxisSetting::Value(value) => Some(cell.clone().with(&key, value.clone())),
            AxisSetting::SameAs { same_as } => Some(cell.clone().with(&key, cell.get(same_as)?.clone())),
        };
        let extended =
            |cell: Cell| axis.values.iter().filter_map(move |setting| with_setting(&cell, setting));
        cells = cells.into_iter().flat_map(extended).collect();
    }
    let mut earlier = BTreeSet::new();
    cells.retain(|cell| earlier.insert(cell.clone()));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_axis_varies_fastest_and_no_cell_is_repeated() {
        let hold = Axis::new("hold", [Nanos(0), Nanos(7)]).in_unit("ns");
        let think = Axis::new("think", [Nanos(0).into(), AxisSetting::same_as("hold_ns")]).in_unit("ns");
        let cells = cross_product(&[hold, think]);
        let cells: Vec<String> = cells.iter().map(ToString::to_string).collect();
        assert_eq!(
            cells,
            ["hold_ns = 0, think_ns = 0", "hold_ns = 7, think_ns = 0", "hold_ns = 7, think_ns = 7"]
        );
        assert_eq!(cross_product(&[]), [Cell::default()]);
        assert_eq!(cross_product(&[Axis::new("cpus", Vec::<u32>::new())]), []);
    }

    #[test]
    fn an_axis_is_kept_with_its_unit_and_settings() {
        let axis = Axis::new("quota", [50_u64, 100]).in_unit("percent");
        let text =
            serde_json::to_string(&[axis.clone(), Axis::new("n", [AxisSetting::same_as("cpus")])]).unwrap();
        assert_eq!(
            text,
            r#"[{"name":"quota","unit":"percent","values":[50,100]},{"name":"n","values":[{"same_as":"cpus"}]}]"#
        );
        assert_eq!(serde_json::from_str::<Vec<Axis>>(&text).unwrap()[0], axis);
        assert_eq!(axis.key(), "quota_percent");
    }
}
