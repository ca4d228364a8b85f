//! The reader-writer lock: a writer is alone, readers see whole writes, and the last reader wakes the writer.
