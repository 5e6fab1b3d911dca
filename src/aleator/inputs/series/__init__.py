"""Series of different lengths, with gaps, or observed at irregular times."""
