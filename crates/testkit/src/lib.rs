//! Oracles and strict media for tests.
