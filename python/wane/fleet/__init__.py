"""Many drives: what the records of a fleet tell."""
