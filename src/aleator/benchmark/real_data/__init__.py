"""Real data as they lie on disk, to measure on: functions that load them."""
