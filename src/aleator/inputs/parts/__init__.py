"""Several kinds of data at once: a dict of parts, of which a row has one sample each."""
