"""Tables of columns of any kind: what is made of every column, learned once and stored as data.

The work is divided between libraries and this package:

- Which text is a date, and in which format, which is a number, and which is a category, is decided
  by skrub's `TableVectorizer` in `fit`. Its decision is stored, not its objects, so that
  `transform` treats every value by itself: the result depends neither on the other rows of a chunk
  nor on the version of skrub.
- A fitted scikit-learn or skrub object can only be saved with pickle, which a model folder must not
  hold. What has been learned of a column is therefore kept in a small class of its own, in
  `encoders.py` and `ngrams.py`, as JSON values and arrays: medians, categories, formats of dates,
  weights of hashed n-grams and their principal directions. Hashing itself is scikit-learn's
  `HashingVectorizer`, which has no state, and the directions are those of its `TruncatedSVD`.
- pandas, polars and pyarrow parse, sort and round in their own ways. Their columns are read as the
  same NumPy values first (`aleator.inputs.frames`), so that equal tables have equal embeddings.
"""

from aleator.inputs.tables.adapter import TableAdapter

__all__ = ["TableAdapter"]
