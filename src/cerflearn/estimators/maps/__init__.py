"""Feature maps that are drawn at random."""
