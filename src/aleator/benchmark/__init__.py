"""Benchmarks of the LFR paper: data sets, recipes, studies, result tables and speed."""
