"""Texts: a list or a column of strings becomes weights of hashed n-grams and counts of bytes."""
