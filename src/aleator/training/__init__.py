"""Plan and trainer: one loop trains every method."""
