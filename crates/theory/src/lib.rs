//! Closed forms for garbage collection.
