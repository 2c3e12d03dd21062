//! The medium: pages, blocks and their wear.
