//! Conditions that select rows: `cause=disk`, `from_ns<1000000`.

use std::cmp::Ordering;

use thiserror::Error;

use crate::{Table, Value};

/// Condition on one column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Index of the column.
    column: usize,
    sign: Sign,
    /// Compared value, as the user wrote it.
    text: String,
    /// The compared value as a number, if it is one.
    number: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Signs, those of two characters first: each begins with another one.
const SIGNS: [(&str, Sign); 6] = [
    ("!=", Sign::Unequal),
    ("<=", Sign::LessOrEqual),
    (">=", Sign::GreaterOrEqual),
    ("=", Sign::Equal),
    ("<", Sign::Less),
    (">", Sign::Greater),
];

/// Fault of a condition.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConditionError {
    /// The text has no sign, or no column before it.
    #[error("condition {0:?} is not COLUMN SIGN VALUE with one of = != < <= > >=, such as cause=disk")]
    Shape(String),
    /// The table has no such column.
    #[error("table {table} has no column {column:?}; its columns are {columns}")]
    Column {
        /// Name of the table.
        table: &'static str,
        /// Name that the user wrote.
        column: String,
        /// Names of all columns.
        columns: String,
    },
    /// An order of numbers was requested with a text.
    #[error("condition {condition:?} compares with {value:?}, which is no number; use = or !=")]
    NoNumber {
        /// Condition as the user wrote it.
        condition: String,
        /// Compared value.
        value: String,
    },
}

impl Condition {
    /// Reads a condition on a column of `table`.
    ///
    /// # Errors
    ///
    /// [`ConditionError`] says which part of the text is wrong.
    pub fn parse(text: &str, table: Table) -> Result<Self, ConditionError> {
        let position = text.find(['!', '<', '>', '=']);
        let parts = position.and_then(|position| {
            let (column, rest) = text.split_at(position);
            let (sign_text, sign) = SIGNS.into_iter().find(|(sign_text, _)| rest.starts_with(sign_text))?;
            Some((column.trim(), sign, rest[sign_text.len()..].trim()))
        });
        let (name, sign, value) = parts
            .filter(|(name, ..)| !name.is_empty())
            .ok_or_else(|| ConditionError::Shape(text.to_owned()))?;
        let column = table.columns().iter().position(|column| column.name == name);
        let column = column.ok_or_else(|| ConditionError::Column {
            table: table.name(),
            column: name.to_owned(),
            columns: table.columns().iter().map(|column| column.name).collect::<Vec<_>>().join(", "),
        })?;
        let number = value.parse().ok();
        if number.is_none() && !matches!(sign, Sign::Equal | Sign::Unequal) {
            return Err(ConditionError::NoNumber { condition: text.to_owned(), value: value.to_owned() });
        }
        Ok(Self { column, sign, text: value.to_owned(), number })
    }

    /// Whether a row meets the condition. A missing value equals the empty text and has no order.
    pub fn holds(&self, row: &[Value<'_>]) -> bool {
        let value = &row[self.column];
        let number = match value {
            Value::Integer(number) => Some(*number as f64),
            Value::Missing | Value::Text(_) => None,
        };
        let order = number.zip(self.number).and_then(|(number, bound)| number.partial_cmp(&bound));
        let is_equal = || match value {
            Value::Missing => self.text.is_empty(),
            Value::Text(text) => *text == self.text,
            Value::Integer(_) => order == Some(Ordering::Equal),
        };
        match self.sign {
            Sign::Equal => is_equal(),
            Sign::Unequal => !is_equal(),
            Sign::Less => order == Some(Ordering::Less),
            Sign::LessOrEqual => order.is_some_and(Ordering::is_le),
            Sign::Greater => order == Some(Ordering::Greater),
            Sign::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cause: &'static str, from: i64) -> Vec<Value<'static>> {
        let mut row = vec![Value::Missing; Table::Waits.columns().len()];
        (row[3], row[6]) = (Value::Integer(from), cause.into());
        row
    }

    fn holds(text: &str, cause: &'static str, from: i64) -> bool {
        Condition::parse(text, Table::Waits).expect("a condition").holds(&row(cause, from))
    }

    #[test]
    fn texts_are_equal_and_numbers_are_ordered() {
        assert!(holds("cause=disk", "disk", 5));
        assert!(holds("cause != disk", "timer", 5));
        assert!(holds("from_ns>=5", "disk", 5));
        assert!(!holds("from_ns<5", "disk", 5));
        assert!(holds("from_ns <= 5e0", "disk", 5));
        assert!(holds("waker=", "disk", 5));
        assert!(!holds("waker<3", "disk", 5));
    }

    #[test]
    fn a_wrong_condition_says_what_is_wrong() {
        let error = |text| Condition::parse(text, Table::Waits).expect_err("a fault").to_string();
        assert!(error("disk").contains("COLUMN SIGN VALUE"));
        assert!(error("=disk").contains("COLUMN SIGN VALUE"));
        assert!(error("reason=disk").contains("its columns are wait, thread"));
        assert!(error("cause<disk").contains("no number"));
    }
}
