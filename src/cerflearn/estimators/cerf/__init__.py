"""Feature maps that are learned from a teacher: the paper."""
