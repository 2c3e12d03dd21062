//! Flash translation layer: map, garbage collection, wear leveling, capacity.
