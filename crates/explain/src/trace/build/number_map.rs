//! A map from small numbers, such as thread and CPU numbers, stored as a table because each event
//! needs several look-ups.

use std::collections::HashMap;

/// Size of the table. Numbers above the range of Linux threads and CPUs (`PID_MAX_LIMIT` in
/// `include/linux/threads.h`) go to a map, so that a damaged trace does not use up the memory.
const TABLE_SIZE: usize = 4 * 1024 * 1024;

/// No entry: an index larger than any count of threads or CPUs.
const NO_ENTRY: u32 = u32::MAX;

#[derive(Default)]
pub(super) struct NumberMap {
    table: Vec<u32>,
    large: HashMap<u32, u32>,
}

impl NumberMap {
    pub(super) fn get(&self, number: u32) -> Option<u32> {
        let found = match self.table.get(number as usize) {
            Some(entry) => Some(*entry),
            None => self.large.get(&number).copied(),
        };
        found.filter(|entry| *entry != NO_ENTRY)
    }

    /// Stores an entry and returns the previous one, if there was one.
    pub(super) fn insert(&mut self, number: u32, entry: u32) -> Option<u32> {
        let index = number as usize;
        if index >= TABLE_SIZE {
            return self.large.insert(number, entry);
        }
        if index >= self.table.len() {
            self.table.resize(index + 1, NO_ENTRY);
        }
        Some(std::mem::replace(&mut self.table[index], entry)).filter(|before| *before != NO_ENTRY)
    }

    pub(super) fn remove(&mut self, number: u32) {
        if let Some(entry) = self.table.get_mut(number as usize) {
            *entry = NO_ENTRY;
        }
        self.large.remove(&number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_numbers_are_found() {
        let mut map = NumberMap::default();
        for (number, entry) in [(5, 1), (u32::MAX, 2), (0, 3)] {
            assert_eq!(map.get(number), None);
            assert_eq!(map.insert(number, entry), None);
            assert_eq!(map.get(number), Some(entry));
        }
        assert_eq!(map.get(3), None);
        assert_eq!(map.insert(5, 9), Some(1));
        assert_eq!(map.insert(u32::MAX, 8), Some(2));
        for number in [5, u32::MAX, 77] {
            map.remove(number);
            assert_eq!(map.get(number), None);
        }
        assert_eq!(map.get(0), Some(3));
    }
}
