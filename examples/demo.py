"""Does learning from randomness help? Three small examples with data included in scikit-learn.

Handwritten digits as images (1 × 8 × 8) and as series (every row of pixels is a channel, every
column a time step), and the breast cancer data set as a table. LFR is fitted on the training set
without labels. Then the same logistic regression is fitted on three kinds of features: the raw
values, the output of an untrained encoder, and the output of the encoder that LFR trained.
"""

import json
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from aleator import LFR, RandomEncoder

OUT = Path("demo-output")


def data_sets():
    """Yield the modality, a description, the data, the labels and parameters of LFR."""
    digits = load_digits()
    cancer = load_breast_cancer()
    images = {"encoder": small_cnn, "embedding_dim": 256, "epochs": 40, "predictor_epochs": 3}
    yield "image", "digits, 1 × 8 × 8", digits.images[:, None], digits.target, images
    table = {"embedding_dim": 128, "epochs": 100}
    yield "table", "breast cancer, 30 columns", cancer.data, cancer.target, table
    series = {"embedding_dim": 256, "epochs": 30, "predictor_epochs": 2}
    yield "series", "digits, 8 channels × 8 steps", digits.images, digits.target, series


def small_cnn(input_shape, embedding_dim):
    """A custom encoder: ResNet-18, the default for images, is too deep for 8 × 8 pixels."""
    channels, height, width = input_shape
    return nn.Sequential(
        nn.Conv2d(channels, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * (height // 2) * (width // 2), embedding_dim),
    )


def probe_accuracy(Z_train, y_train, Z_test, y_test):
    """Test accuracy of a logistic regression on standardized features."""
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return probe.fit(Z_train, y_train).score(Z_test, y_test)


def compare(X, y, parameters):
    """Return the fitted LFR, the seconds of its fit, and the accuracy on each kind of features."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

    def accuracy(features):
        return probe_accuracy(features(X_train), y_train, features(X_test), y_test)

    network = {key: parameters[key] for key in ("encoder", "embedding_dim") if key in parameters}
    untrained = RandomEncoder(**network, random_state=0).fit(X_train)
    start = time.perf_counter()
    lfr = LFR(**parameters, random_state=0).fit(X_train)
    seconds = time.perf_counter() - start
    scores = {
        "raw": accuracy(lambda data: data.reshape(len(data), -1)),
        "random": accuracy(untrained.transform),
        "lfr": accuracy(lfr.transform),
    }
    return lfr, seconds, scores


def main():
    console = Console()
    console.print("Training LFR on three data sets; this takes one to two minutes on a CPU.")
    table = Table(title="Test accuracy (%) of logistic regression on three kinds of features")
    for column in ("modality", "data"):
        table.add_column(column, no_wrap=True)
    for column in ("raw\nvalues", "random\nencoder", "LFR", "LFR fit,\nseconds"):
        table.add_column(column, justify="right", no_wrap=True)
    results = []
    for modality, description, X, y, parameters in data_sets():
        lfr, seconds, scores = compare(X, y, parameters)
        lfr.save(OUT / modality)
        best = max(scores.values())
        cells = [
            f"[bold]{100 * score:.1f}[/bold]" if score == best else f"{100 * score:.1f}"
            for score in scores.values()
        ]
        table.add_row(modality, description, *cells, f"{seconds:.1f}")
        results.append(
            {"kind": modality, "data": description, "accuracy": scores, "seconds": seconds}
        )
    (OUT / "results.json").write_text(json.dumps(results, indent=1))
    console.print(table)
    console.print("The best result of each row is bold. The random encoder is the network of LFR")
    console.print("before training. The test sets are small (540, 171 and 540 samples), so that")
    console.print("differences of about one point are within their sampling error.")
    console.print(f"\nResults: {OUT}/results.json\nModels:")
    for name in ("table", "series"):
        console.print(f'  aleator.load("{OUT}/{name}")', highlight=False)
    console.print(
        f'  aleator.load("{OUT}/image", encoder=small_cnn((1, 8, 8), 256))', highlight=False
    )
    console.print("A custom encoder must be passed again, because its code is not saved.")


if __name__ == "__main__":
    main()
