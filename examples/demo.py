"""Does learning from randomness help? Three small examples with data included in scikit-learn.

Handwritten digits as images (1 × 8 × 8) and as series (every row of pixels is a channel, every
column a time step), and the breast cancer data set as a table. LFR is fitted on the training set
without labels, with its default settings. Then the same logistic regression learns from the labels
of five samples per class, and from all labels, on three kinds of features: the raw values, the
output of a random network, and the embedding of LFR.
"""

import json
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from aleator import LFR, RandomEncoder
from aleator.evaluation import label_curve

OUT = Path("demo-output")
DRAWS = 10


def data_sets():
    """Yield the modality, a description, the data and the labels."""
    digits = load_digits()
    cancer = load_breast_cancer()
    yield "image", "digits as images", digits.images[:, None], digits.target
    yield "table", "breast cancer, a table", cancer.data, cancer.target
    yield "series", "digits as series", digits.images, digits.target


def compare(X, y):
    """Return the fitted LFR, the seconds of its fit, and accuracies on each kind of features."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    start = time.perf_counter()
    lfr = LFR(random_state=0).fit(X_train)
    seconds = time.perf_counter() - start
    # ResNet-18, the standard network for images, is too deep for 8 × 8 pixels.
    network = "mlp" if X.ndim == 4 else "auto"
    models = {
        "raw values": None,
        "random network": RandomEncoder(encoder=network, random_state=0).fit(X_train),
        "LFR": lfr,
    }
    counts = [5 * len(np.unique(y)), "all"]
    curve = label_curve(
        X_train, y_train, X_test, y_test, models=models, n_labels=counts, draws=DRAWS
    )
    return lfr, seconds, {name: curve.mean(name).tolist() for name in models}


def add_rows(table, description, scores, seconds):
    """Add a row for five labels per class, and one for all labels."""
    for k, labels in enumerate(("5 per class", "all")):
        accuracies = [100 * score[k] for score in scores.values()]
        best = max(accuracies)
        cells = [f"[bold]{a:.1f}[/bold]" if a == best else f"{a:.1f}" for a in accuracies]
        first = (description, f"{seconds:.1f}") if k == 0 else ("", "")
        table.add_row(first[0], labels, *cells, first[1], end_section=k == 1)


def main():
    console = Console()
    console.print("Fitting LFR on three data sets; this takes about a minute on a CPU.")
    table = Table(title="Test accuracy (%) of logistic regression on three kinds of features")
    table.add_column("data", no_wrap=True)
    table.add_column("labels", no_wrap=True)
    for column in ("raw\nvalues", "random\nnetwork", "LFR", "fit,\nseconds"):
        table.add_column(column, justify="right", no_wrap=True)
    results = []
    for modality, description, X, y in data_sets():
        lfr, seconds, scores = compare(X, y)
        lfr.save(OUT / modality)
        add_rows(table, description, scores, seconds)
        results.append(
            {"kind": modality, "data": description, "accuracy": scores, "seconds": seconds}
        )
    (OUT / "results.json").write_text(json.dumps(results, indent=1))
    console.print(table)
    console.print(
        f"The best result of each row is bold. Five labels per class are drawn {DRAWS} times. The "
        "test sets are small (540, 171 and 540 samples): differences of about a point are noise."
    )
    console.print(f"\nResults: {OUT}/results.json\nModels:")
    for modality in ("image", "table", "series"):
        console.print(f'  aleator.load("{OUT}/{modality}")', highlight=False)


if __name__ == "__main__":
    main()
