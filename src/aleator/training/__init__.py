"""Plan and engine: one loop trains every method."""
