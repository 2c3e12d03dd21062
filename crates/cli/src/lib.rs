//! The wane command.
