"""Generated data for tests of evaluation."""

import numpy as np


def overlapping_classes(random, n_classes, n_samples=300, n_features=5):
    """Overlapping classes of unequal sizes; features of unequal scales, far from zero."""
    codes = np.minimum(random.integers(n_classes + 1, size=n_samples), n_classes - 1)
    centers = random.normal(size=(n_classes, n_features))
    scales = 10.0 ** np.linspace(-1, 1, n_features)
    return (centers[codes] + random.normal(size=(n_samples, n_features))) * scales + 3, codes
